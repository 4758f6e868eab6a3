import type { GetServiceOptions, LookupOptions } from '@spock/client';
import { queryKey, type ServiceQuery } from '@spock/protocol';

import type { AnswerContext } from './answer-checks.ts';
import { anyQuery, anySignal } from './chances.ts';
import { mayFail } from './expected-error.ts';
import type { SimClient } from './sim-client.ts';

/** The lookups of one app, each compared with what the registry had. */
export class LookupWork {
	readonly #client: SimClient;

	constructor(client: SimClient) {
		this.#client = client;
	}

	/** Looks every known service and key up once, as at the end of a calm time. */
	lookUpAll(): void {
		for (const service of this.#client.world.registry.serviceNames) this.#lookUp({ service });
		for (const key of this.#client.world.registry.keyNames) this.#readKey(key, {});
	}

	/** A plain lookup of any service. */
	getService(): void {
		this.#lookUp(anyQuery(this.#client));
	}

	/** One with options by chance. */
	getServiceWith(): void {
		const { random, book, checks, diplomat, options } = this.#client;
		const query = anyQuery(this.#client);
		const timeoutMs = random.pick([1, 20, 200, 1000, options.timeoutMs]);
		const maxAgeMs = random.chance(0.4) ? random.pick([0, 50, 1000, 10_000]) : undefined;
		const { signal, isAborted } = anySignal(this.#client, timeoutMs);
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
						: mayFail(this.#client, code, isAborted),
			},
			() => diplomat.getService(query, asked),
		);
	}

	/** All instances of any service. */
	getInstances(): void {
		const { random, book, checks, diplomat, options } = this.#client;
		const query = anyQuery(this.#client);
		const timeoutMs = random.pick([20, 1000, options.timeoutMs]);
		const maxAgeMs = random.chance(0.3) ? random.pick([0, 100, 2000]) : undefined;
		const { signal, isAborted } = anySignal(this.#client, timeoutMs);
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
				mayFail: (code) => mayFail(this.#client, code, isAborted),
			},
			() => diplomat.getInstances(query, asked),
		);
	}

	/** One of what is known, at once. */
	pick(): void {
		const { checks, diplomat, isConnected, world, known } = this.#client;
		const { lostForMs } = this.#here();
		const query = anyQuery(this.#client);
		world.counts.calls++;
		const address = diplomat.pick(query.tags === undefined ? query.service : query);
		world.counts.settled++;
		if (address !== undefined) checks.address(query, address, { isConnected, lostForMs });
		else if (known.has(queryKey(query)) && this.#client.options.lookups === 'local' && !this.#nobody(query)) {
			world.fail('a known lookup goes on', `${queryKey(query)} had succeeded, and now there is nothing to pick`);
		}
	}

	/** Any key. */
	getKey(): void {
		const { random, world } = this.#client;
		const key = random.pick(world.registry.keyNames);
		this.#readKey(key, random.chance(0.3) ? { fresh: true } : {});
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
					return mayFail(this.#client, code);
				},
			},
			() => client.diplomat.getService(query.tags === undefined ? query.service : query),
		);
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
					return mayFail(this.#client, code);
				},
			},
			() => client.diplomat.getKey(key, asked),
		);
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
}
