import type { GetServiceOptions, LookupOptions } from '@spock/client';
import type { ServiceQuery } from '@spock/protocol';

import type { AnswerContext } from './answer-checks.ts';
import type { CallTerms } from './call-book.ts';
import { anyQuery, anySignal, hostileQuery, nameOrQuery } from './chances.ts';
import { mayFail } from './expected-error.ts';
import { questionName } from './question-name.ts';
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
				what: `getService ${questionName(query)} ${JSON.stringify({ ...asked, signal: undefined })}`,
				timeoutMs,
				answered: (address) => checks.address(query, address, this.#context(asked)),
				...this.#waits('getService', asked, timeoutMs),
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
				what: `getInstances ${questionName(query)} ${JSON.stringify({ ...asked, signal: undefined })}`,
				timeoutMs,
				answered: (snapshot) => checks.snapshot(query, snapshot, this.#context(asked)),
				...this.#waits('getInstances', asked, timeoutMs),
				mayFail: (code) => mayFail(this.#client, code, isAborted),
			},
			() => diplomat.getInstances(query, asked),
		);
	}

	/** One of what is known, at once. */
	pick(): void {
		const { checks, diplomat, isConnected, world, known } = this.#client;
		const query = anyQuery(this.#client);
		world.counts.calls++;
		const address = diplomat.pick(nameOrQuery(query));
		world.counts.settled++;
		if (address !== undefined) checks.address(query, address, { ...this.#here(), isConnected });
		else if (known.has(questionName(query)) && this.#client.options.lookups === 'local' && !this.#nobody(query)) {
			world.fail('a known lookup goes on', `${questionName(query)} had succeeded, and now there is nothing to pick`);
		}
	}

	/** What nobody has: refused, or there is no such service. Whoever asks for what there is does not notice. */
	hostile(): void {
		const { book, checks, diplomat, options } = this.#client;
		const query = hostileQuery(this.#client);
		book.call(
			{
				what: `getService ${questionName(query).slice(0, 200)}`,
				timeoutMs: options.timeoutMs,
				answered: (address) => checks.address(query, address, this.#here()),
				mayFail: (code) =>
					// It may happen to be the name of a service that there is.
					(code === 'NO_HEALTHY_INSTANCE' && this.#nobody(query)) ||
					code === 'BAD_REQUEST' ||
					code === 'NO_SUCH_SERVICE' ||
					mayFail(this.#client, code),
			},
			// A name that cannot be one is an error of the caller, and thrown at once.
			async () => diplomat.getService(query),
		);
	}

	/** As an app does that calls what it has looked up: some instances of one service fail it again and again. */
	lease(): void {
		const { diplomat, failing, random, world } = this.#client;
		const query = anyQuery(this.#client);
		world.counts.calls++;
		const lease = diplomat.tryAcquire(nameOrQuery(query));
		world.counts.settled++;
		if (lease === undefined) return;
		// The first service of a world has bad instances, the others have none.
		const isBad = world.registry.numberOf(query.service) === 0 && random.chance(0.7);
		if (isBad) failing.add(query.service);
		lease.release(isBad ? 'failure' : 'success', random.between(1, 50));
	}

	/** Where a service's instances stand: none of those that never failed this app is left out because others did. */
	explain(): void {
		const { book, diplomat, failing, options, world } = this.#client;
		const query = anyQuery(this.#client);
		book.call(
			{
				what: `explain ${questionName(query)}`,
				timeoutMs: options.timeoutMs,
				answered: ({ instances }) => {
					const out = instances.find(({ reason }) => reason.includes('ejected'));
					if (out === undefined || failing.has(query.service)) return;
					world.fail('failures stay with whom they are of', `${questionName(query)}: ${JSON.stringify(out)}`);
				},
				mayFail: (code) => mayFail(this.#client, code),
			},
			() => diplomat.explain(query),
		);
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
		const isKnown = client.known.has(questionName(query));
		client.book.call(
			{
				what: `getService ${questionName(query)}`,
				timeoutMs,
				answered: (address) => {
					client.checks.address(query, address, this.#here());
					if (client.options.lookups === 'local') client.knows(query);
				},
				...this.#waits('a plain getService', {}, timeoutMs),
				mayFail: (code) => {
					if (code === 'NO_SUCH_SERVICE' || code === 'NO_HEALTHY_INSTANCE') return this.#nobody(query);
					if (isKnown && code !== 'CLOSED') {
						client.world.fail('a known lookup goes on', `${questionName(query)} had succeeded, and now it is ${code}`);
					}
					return mayFail(this.#client, code);
				},
			},
			() => client.diplomat.getService(nameOrQuery(query)),
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
				...this.#waits('getKey', asked, client.options.timeoutMs),
				mayFail: (code) => {
					if (isKnown && code !== 'CLOSED')
						client.world.fail('a known lookup goes on', `the key ${key} was read, and now it is ${code}`);
					return mayFail(this.#client, code);
				},
			},
			() => client.diplomat.getKey(key, asked),
		);
	}

	/** Of a lookup that fails it is looked at whether it could have been answered. */
	#waits(
		what: string,
		{ maxAgeMs, signal }: LookupOptions,
		timeoutMs: number,
	): Partial<Pick<CallTerms<never>, 'failed'>> {
		const client = this.#client;
		// What is held back, or older than wanted, is well and refused.
		if (maxAgeMs !== undefined || signal !== undefined || client.options.whileDisconnected === 'fail') return {};
		return { failed: (error, startedMs) => client.waitedFor.failed(what, error, startedMs, timeoutMs) };
	}

	/** What is known of an answer from this process: over the wire it may have come as the connection ended. */
	#here(): AnswerContext & { readonly lostForMs: number } {
		const { isConnected, wire, options, host, process, world } = this.#client;
		const isLocal = options.lookups === 'local';
		return {
			isConnected: true,
			lostForMs: isConnected || !isLocal ? 0 : wire.lostForMs,
			resumedForMs: world.nowMs - process.resumedAtMs,
			quietForMs: isLocal ? Math.max(0, world.nowMs - Math.max(host.quietSinceMs, wire.tookAtMs)) : 0,
		};
	}

	#context({ maxAgeMs, fresh = false }: LookupOptions): AnswerContext {
		if (fresh || maxAgeMs !== undefined) return { maxAgeMs, isConnected: true, isFresh: fresh };
		return this.#here();
	}

	#nobody(query: ServiceQuery): boolean {
		return this.#client.checks.mayFindNobody(query);
	}
}
