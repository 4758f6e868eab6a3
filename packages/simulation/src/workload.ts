import type { GetServiceOptions, LookupOptions } from '@spock/client';
import { type ErrorCode, queryKey, type ServiceQuery } from '@spock/protocol';

import type { AnswerContext } from './answer-checks.ts';
import { mayFail } from './expected-error.ts';
import { RegistrationWork } from './registration-work.ts';
import type { SimClient } from './sim-client.ts';

/** A ping may carry this many characters: several of them fill a buffer. */
const PAYLOAD_MAX = 6000;

/** The things an app does with its client, by chance. One call of `step` is one of them. */
export class Workload {
	readonly #client: SimClient;
	readonly #actions: readonly (readonly [weight: number, act: () => void])[];
	readonly #weights: number;
	#pings = 0;

	constructor(client: SimClient) {
		this.#client = client;
		const registrations = new RegistrationWork(client);
		this.#actions = [
			[30, () => this.#getService()],
			[12, () => this.#getServiceWith()],
			[10, () => this.#getInstances()],
			[10, () => this.#pick()],
			[12, () => this.#ping()],
			[4, () => this.#burst()],
			[8, () => this.#getKey()],
			[2, () => this.#list()],
			[1, () => this.#status()],
			[2, () => this.#explain()],
			[3, () => this.#watch()],
			[3, () => registrations.register()],
			[3, () => registrations.report()],
			[1, () => registrations.deregister()],
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
		for (const service of this.#client.world.registry.serviceNames) this.#lookUp({ service });
		for (const key of this.#client.world.registry.keyNames) this.#readKey(key, {});
	}

	#query(): ServiceQuery {
		const { random, world } = this.#client;
		const service = random.pick(world.registry.serviceNames);
		return random.chance(0.15) ? { service, tags: ['blue'] } : { service };
	}

	#getService(): void {
		this.#lookUp(this.#query());
	}

	/** A plain lookup: the one that goes on whatever happens. */
	#lookUp(query: ServiceQuery): void {
		const client = this.#client;
		const { timeoutMs } = client.options;
		const isKnown = client.known.has(queryKey(query));
		client.book.call(
			{
				what: `getService ${queryKey(query)}`,
				timeoutMs,
				answered: (address) => {
					client.checks.address(query, address, this.#here());
					if (client.options.lookups === 'local') client.knows(query);
				},
				mayFail: (code) => {
					if (code === 'NO_SUCH_SERVICE' || code === 'NO_HEALTHY_INSTANCE') return this.#nobody(query);
					if (isKnown && code !== 'CLOSED') {
						client.world.fail('a known lookup goes on', `${queryKey(query)} had succeeded, and now it is ${code}`);
					}
					return this.#mayFail(code);
				},
			},
			() => client.diplomat.getService(query.tags === undefined ? query.service : query),
		);
	}

	#getServiceWith(): void {
		const { random, book, checks, diplomat, options } = this.#client;
		const query = this.#query();
		const timeoutMs = random.pick([1, 20, 200, 1000, options.timeoutMs]);
		const maxAgeMs = random.chance(0.4) ? random.pick([0, 50, 1000, 10_000]) : undefined;
		const { signal, isAborted } = this.#signal(timeoutMs);
		const asked: GetServiceOptions = {
			timeoutMs,
			signal,
			...(maxAgeMs !== undefined && { maxAgeMs }),
			...(random.chance(0.3) && { fresh: true }),
			...(random.chance(0.2) && { key: `user-${random.between(1, 5)}` }),
		};
		book.call(
			{
				what: `getService ${queryKey(query)} ${JSON.stringify({ ...asked, signal: undefined })}`,
				timeoutMs,
				answered: (address) => checks.address(query, address, this.#context(asked)),
				mayFail: (code) =>
					code === 'NO_SUCH_SERVICE' || code === 'NO_HEALTHY_INSTANCE'
						? this.#nobody(query)
						: this.#mayFail(code, isAborted),
			},
			() => diplomat.getService(query, asked),
		);
	}

	#getInstances(): void {
		const { random, book, checks, diplomat, options } = this.#client;
		const query = this.#query();
		const timeoutMs = random.pick([20, 1000, options.timeoutMs]);
		const maxAgeMs = random.chance(0.3) ? random.pick([0, 100, 2000]) : undefined;
		const { signal, isAborted } = this.#signal(timeoutMs);
		const asked: LookupOptions = {
			timeoutMs,
			signal,
			...(maxAgeMs !== undefined && { maxAgeMs }),
			...(random.chance(0.4) && { fresh: true }),
		};
		book.call(
			{
				what: `getInstances ${queryKey(query)} ${JSON.stringify({ ...asked, signal: undefined })}`,
				timeoutMs,
				answered: (snapshot) => checks.snapshot(query, snapshot, this.#context(asked)),
				mayFail: (code) => this.#mayFail(code, isAborted),
			},
			() => diplomat.getInstances(query, asked),
		);
	}

	#pick(): void {
		const { checks, diplomat, isConnected, world, known } = this.#client;
		const { lostForMs } = this.#here();
		const query = this.#query();
		world.counts.calls++;
		const address = diplomat.pick(query.tags === undefined ? query.service : query);
		world.counts.settled++;
		if (address !== undefined) checks.address(query, address, { isConnected, lostForMs });
		else if (known.has(queryKey(query)) && this.#client.options.lookups === 'local' && !this.#nobody(query)) {
			world.fail('a known lookup goes on', `${queryKey(query)} had succeeded, and now there is nothing to pick`);
		}
	}

	/** Says who asks: another's answer is seen at once. */
	#ping(): void {
		const { random, book, diplomat, process, world, options } = this.#client;
		const length = random.chance(0.1) ? random.between(1, PAYLOAD_MAX) : 0;
		const payload = `${process.name} ping ${++this.#pings} ${'·'.repeat(length)}`;
		const timeoutMs = random.pick([5, 200, 1000, options.timeoutMs]);
		const { signal, isAborted } = this.#signal(timeoutMs);
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
				mayFail: (code) => this.#mayFail(code, isAborted),
			},
			() => diplomat.request('ping', payload, { timeoutMs, signal }),
		);
	}

	/** Many at once, as under load: slots are used up and taken again. */
	#burst(): void {
		const count = this.#client.random.between(2, 40);
		for (let number = 0; number < count; number++) this.#ping();
	}

	#getKey(): void {
		const { random, world } = this.#client;
		const key = random.pick(world.registry.keyNames);
		this.#readKey(key, random.chance(0.3) ? { fresh: true } : {});
	}

	#readKey(key: string, asked: LookupOptions): void {
		const client = this.#client;
		const isKnown = client.knownKeys.has(key) && asked.fresh !== true;
		client.book.call(
			{
				what: `getKey ${key} ${JSON.stringify(asked)}`,
				timeoutMs: client.options.timeoutMs,
				answered: (snapshot) => {
					client.checks.key(key, snapshot, asked.fresh === true ? { isConnected: true } : this.#here());
					if (client.options.lookups === 'local' && asked.fresh !== true) client.knownKeys.add(key);
				},
				mayFail: (code) => {
					if (isKnown && code !== 'CLOSED')
						client.world.fail('a known lookup goes on', `the key ${key} was read, and now it is ${code}`);
					return this.#mayFail(code);
				},
			},
			() => client.diplomat.getKey(key, asked),
		);
	}

	#list(): void {
		const { book, diplomat, options } = this.#client;
		const call = { what: 'listServices', timeoutMs: options.timeoutMs, answered: () => undefined };
		book.call({ ...call, mayFail: (code) => this.#mayFail(code) }, () => diplomat.listServices());
	}

	#status(): void {
		const { book, diplomat, options } = this.#client;
		const call = { what: 'status', timeoutMs: options.timeoutMs, answered: () => undefined };
		book.call({ ...call, mayFail: (code) => this.#mayFail(code) }, () => diplomat.request('status', null));
	}

	#explain(): void {
		const { book, diplomat, options } = this.#client;
		const query = this.#query();
		const call = { what: `explain ${query.service}`, timeoutMs: options.timeoutMs, answered: () => undefined };
		book.call({ ...call, mayFail: (code) => this.#mayFail(code) }, () => diplomat.explain(query));
	}

	#watch(): void {
		const { random, watchers } = this.#client;
		const [first] = watchers;
		if (first !== undefined && (watchers.size > 5 || random.chance(0.4))) first.stop();
		else this.#client.watch(this.#query());
	}

	/** A signal that sometimes aborts before the deadline. */
	#signal(timeoutMs: number): { signal: AbortSignal | undefined; isAborted: () => boolean } {
		const { random, process } = this.#client;
		if (!random.chance(0.2)) return { signal: undefined, isAborted: () => false };
		const controller = new AbortController();
		process.schedule(random.unit() * timeoutMs * 1.2, 'caller aborts', () => controller.abort());
		return { signal: controller.signal, isAborted: () => controller.signal.aborted };
	}

	/** What is known of an answer from this process: over the wire it may have come as the connection ended. */
	#here(): AnswerContext & { readonly lostForMs: number } {
		const { isConnected, wire, options } = this.#client;
		return { isConnected: true, lostForMs: isConnected || options.lookups !== 'local' ? 0 : wire.lostForMs };
	}

	#context({ maxAgeMs, fresh = false }: LookupOptions): AnswerContext {
		if (fresh || maxAgeMs !== undefined) return { maxAgeMs, isConnected: true, isFresh: fresh };
		return this.#here();
	}

	#nobody(query: ServiceQuery): boolean {
		return this.#client.checks.mayFindNobody(query);
	}

	#mayFail(code: ErrorCode, isAborted: () => boolean = () => false): boolean {
		return mayFail(this.#client, code, isAborted);
	}
}
