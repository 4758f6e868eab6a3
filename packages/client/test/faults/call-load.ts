import type { Diplomat } from '@spock/client';
import { SpockError } from '@spock/protocol';

const EXAMPLES_MAX = 5;
/** Every fourth call is a lookup over the wire, which is repeated on the next connection; the others are rejected. */
const LOOKUP_EACH = 4;

/** What has become of the calls so far. */
export interface LoadCounts {
	calls: number;
	answered: number;
	rejected: number;
	timedOut: number;
	strange: number;
	misdelivered: number;
}

/** A number of calls that is always in flight: who is answered asks again, until told to stop; who is not, rests. */
export class CallLoad {
	readonly counts: LoadCounts = { calls: 0, answered: 0, rejected: 0, timedOut: 0, strange: 0, misdelivered: 0 };
	readonly examples: string[] = [];
	/** When the last call was rejected, by `performance.now()`. */
	lastRejectionMs: number | undefined = undefined;
	readonly #diplomat: Diplomat;
	readonly #services: readonly string[];
	readonly #timeoutMs: number;
	#stopped = false;
	#running: Promise<void>[] = [];

	constructor(diplomat: Diplomat, services: readonly string[], timeoutMs: number) {
		this.#diplomat = diplomat;
		this.#services = services;
		this.#timeoutMs = timeoutMs;
	}

	/** Calls that have not settled. */
	get open(): number {
		const { calls, answered, rejected, timedOut, strange } = this.counts;
		return calls - answered - rejected - timedOut - strange;
	}

	start(size: number): void {
		this.#running = Array.from({ length: size }, (_, index) => this.#run(index));
	}

	/** Asks no more, and resolves when every call has settled. */
	async stop(): Promise<void> {
		this.#stopped = true;
		await Promise.all(this.#running);
	}

	async #run(index: number): Promise<void> {
		const { counts } = this;
		do {
			counts.calls++;
			try {
				if (index % LOOKUP_EACH === 0) await this.#lookUp(index);
				else await this.#ping(index);
				counts.answered++;
			} catch (error) {
				this.#failed(error);
				return;
			}
		} while (!this.#stopped);
	}

	async #ping(index: number): Promise<void> {
		const asked = `${index}-${this.counts.calls}`;
		const answer = await this.#diplomat.request('ping', asked, { timeoutMs: this.#timeoutMs });
		if (answer !== asked) this.#misdelivered(asked, answer);
	}

	/** Services have ports of their own: an answer says whose it is. */
	async #lookUp(index: number): Promise<void> {
		const at = index % this.#services.length;
		const service = this.#services[at] as string;
		const address = await this.#diplomat.getService(service, { fresh: true, timeoutMs: this.#timeoutMs });
		if (address.port !== portOf(at)) this.#misdelivered(service, address);
	}

	#misdelivered(asked: string, answer: unknown): void {
		this.counts.misdelivered++;
		this.#note(`${asked} was answered ${JSON.stringify(answer)}`);
	}

	#failed(error: unknown): void {
		const { counts } = this;
		if (SpockError.is(error, 'DISCONNECTED')) {
			counts.rejected++;
			this.lastRejectionMs = performance.now();
		} else if (SpockError.is(error, 'TIMEOUT')) counts.timedOut++;
		else {
			counts.strange++;
			this.#note(String(error));
		}
	}

	#note(example: string): void {
		if (this.examples.length < EXAMPLES_MAX) this.examples.push(example);
	}
}

/** The port of the n-th service. */
export function portOf(index: number): number {
	return 10_000 + index;
}
