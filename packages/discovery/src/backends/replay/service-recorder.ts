import type { ServiceSnapshot, ServiceSource, SpockError } from '@spock/protocol';

import type { RecordWriter } from './record-writer.ts';

/** A sidecar allows one connection so many subscriptions by default. */
const SERVICES_MAX = 4096;
/** Asked for at once, each of which may make the sidecar ask its registry. */
const AT_ONCE = 64;

/** Where services come from; of a client that reconnects by itself. */
export interface RecordedSource extends Pick<ServiceSource, 'watch' | 'list'> {
	/** False while what it tells is from before: it is not recorded. */
	isConnected(): boolean;
}

/** Writes every change of services into a record. */
export class ServiceRecorder {
	readonly #source: RecordedSource;
	readonly #writer: RecordWriter;
	readonly #failed: (error: SpockError) => void;
	readonly #followed = new Set<string>();

	/** `failed` is told of a service that will never be answered, after it was followed without an answer. */
	constructor(source: RecordedSource, writer: RecordWriter, failed: (error: SpockError) => void) {
		this.#source = source;
		this.#writer = writer;
		this.#failed = failed;
	}

	/**
	 * Follows those that are not followed yet: the named ones, or all that there are. Gives how many have no answer yet, which are
	 * recorded once they have. Rejects with what does not pass.
	 */
	async look(named: readonly string[] | undefined): Promise<number> {
		const names = named ?? (await this.#source.list({})).services.map(({ name }) => name);
		const missing = names.filter((name) => !this.#followed.has(name));
		const room = Math.max(0, SERVICES_MAX - this.#followed.size);
		let without = Math.max(0, missing.length - room);
		for (let first = 0; first < Math.min(missing.length, room); first += AT_ONCE) {
			const some = missing.slice(first, Math.min(first + AT_ONCE, room));
			const outcomes = await Promise.all(some.map((name) => this.#follow(name)));
			without += outcomes.filter((isAnswered) => !isAnswered).length;
		}
		return without;
	}

	/** False if there is no answer yet. */
	#follow(service: string): Promise<boolean> {
		this.#followed.add(service);
		return new Promise((resolve, reject) => {
			let isSettled = false;
			const next = (snapshot: ServiceSnapshot): void => {
				isSettled = true;
				if (this.#source.isConnected()) this.#writer.snapshot(snapshot);
				resolve(true);
			};
			const error = (reason: SpockError): void => {
				if (reason.retryable) resolve(false);
				else if (isSettled) this.#failed(reason);
				else reject(reason);
				isSettled = true;
			};
			this.#source.watch({ service }, { next, error });
		});
	}
}
