import { anyQuery, anySignal } from './chances.ts';
import { mayFail } from './expected-error.ts';
import { LookupWork } from './lookup-work.ts';
import { RegistrationWork } from './registration-work.ts';
import type { SimClient } from './sim-client.ts';

/** A ping may carry this many characters: several of them fill a buffer. */
const PAYLOAD_MAX = 6000;

/** How much more often apps speak of themselves in some worlds. */
const WORDY = 10;

/** The things an app does with its client, by chance. One call of `step` is one of them. */
export class Workload {
	readonly #client: SimClient;
	readonly #lookups: LookupWork;
	readonly #actions: readonly (readonly [weight: number, act: () => void])[];
	readonly #weights: number;
	#pings = 0;

	constructor(client: SimClient) {
		this.#client = client;
		this.#lookups = new LookupWork(client);
		const registrations = new RegistrationWork(client);
		const words = client.world.isWordy ? WORDY : 1;
		this.#actions = [
			[30, () => this.#lookups.getService()],
			[12, () => this.#lookups.getServiceWith()],
			[10, () => this.#lookups.getInstances()],
			[10, () => this.#lookups.pick()],
			[12, () => this.#ping()],
			[4, () => this.#burst()],
			[8, () => this.#lookups.getKey()],
			[2, () => this.#list()],
			[1, () => this.#status()],
			[2, () => this.#lookups.explain()],
			[6, () => this.#lookups.lease()],
			[2, () => this.#lookups.hostile()],
			[3, () => this.#watch()],
			[3 * words, () => registrations.register()],
			[3 * words, () => registrations.report()],
			[2 * words, () => registrations.reports()],
			[words, () => registrations.deregister()],
			[words, () => registrations.bounce()],
		];
		this.#weights = this.#actions.reduce((sum, [weight]) => sum + weight, 0);
	}

	/** Does one thing. */
	step(): void {
		if (this.#client.isEnding) return;
		let left = this.#client.random.unit() * this.#weights;
		for (const [weight, act] of this.#actions) {
			left -= weight;
			if (left >= 0) continue;
			act();
			return;
		}
	}

	/** Looks every known service and key up once, as at the end of a calm time. */
	lookUpAll(): void {
		this.#lookups.lookUpAll();
	}

	/** Says who asks: another's answer is seen at once. */
	#ping(): void {
		const { random, book, diplomat, process, world, options } = this.#client;
		const length = random.chance(0.1) ? random.between(1, PAYLOAD_MAX) : 0;
		const payload = `${process.name} ping ${++this.#pings} ${'·'.repeat(length)}`;
		const timeoutMs = random.pick([5, 200, 1000, options.timeoutMs]);
		const { signal, isAborted } = anySignal(this.#client, timeoutMs);
		book.call(
			{
				what: `ping ${this.#pings}`,
				timeoutMs,
				answered: (reply) => {
					world.counts.checked++;
					if (reply === payload) return;
					const text = `${payload.slice(0, 60)} was answered with ${JSON.stringify(reply).slice(0, 200)}`;
					world.fail('answers reach their caller', text);
				},
				mayFail: (code) => mayFail(this.#client, code, isAborted),
			},
			() => diplomat.request('ping', payload, { timeoutMs, signal }),
		);
	}

	/** Many at once, as under load: slots are used up and taken again. */
	#burst(): void {
		const count = this.#client.random.between(2, 40);
		for (let number = 0; number < count; number++) this.#ping();
	}

	#list(): void {
		const { book, diplomat, options } = this.#client;
		const call = { what: 'listServices', timeoutMs: options.timeoutMs, answered: () => undefined };
		book.call({ ...call, mayFail: (code) => mayFail(this.#client, code) }, () => diplomat.listServices());
	}

	#status(): void {
		const { book, diplomat, options } = this.#client;
		const call = { what: 'status', timeoutMs: options.timeoutMs, answered: () => undefined };
		book.call({ ...call, mayFail: (code) => mayFail(this.#client, code) }, () => diplomat.request('status', null));
	}

	#watch(): void {
		const { random, watchers } = this.#client;
		const [first] = watchers;
		if (first !== undefined && (watchers.size > 5 || random.chance(0.4))) first.stop();
		else this.#client.watch(anyQuery(this.#client));
	}
}
