import { AsyncLocalStorage } from 'node:async_hooks';

import { SpockError } from '@spock/protocol';
import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { A, B, createSource, instance, query, recorder, refused } from '../../test/fake-backend-source.ts';

describe('reading', () => {
	it('many readers of equal questions share one watch, and its first answer', async () => {
		const { source, watching, last, clock } = createSource();
		const reads = [
			source.get({ service: 'barista', tags: ['b', 'a'] }),
			source.get({ service: 'barista', tags: ['a', 'b', 'a'] }),
		];
		source.watch({ service: 'barista', tags: ['a', 'b'] }, recorder());
		expect(watching.map((one) => one.query)).toEqual([{ service: 'barista', tags: ['a', 'b'] }]);
		last().answered(A);
		const [first, second] = await Promise.all(reads);
		expect(first).toBe(second);
		expect(first).toEqual({
			service: 'barista',
			tags: ['a', 'b'],
			revision: 1,
			instances: A,
			source: 'live',
			ageMs: 0,
			verifiedAt: clock.wallNow(),
		});
	});

	it('the watch that a request begins is not of that request', async () => {
		const requests = new AsyncLocalStorage<string>();
		const { source, backend, last } = createSource();
		const { watch } = backend;
		const begunIn: unknown[] = [];
		backend.watch = (...given) => {
			begunIn.push(requests.getStore());
			return watch.apply(backend, given);
		};
		const read = requests.run('the first request', () => source.get(query));
		last().answered(A);
		await read;
		expect(begunIn).toEqual([undefined]);
	});

	it('a snapshot has tags and datacenter only if the question had them', async () => {
		const { source, last } = createSource();
		const read = source.get({ service: 'barista', tags: [] });
		last().answered([]);
		expect(Object.keys(await read).sort()).toEqual([
			'ageMs',
			'instances',
			'revision',
			'service',
			'source',
			'verifiedAt',
		]);
	});

	it('the same frozen object is given while it is live and unchanged', async () => {
		const { source, last } = createSource();
		const read = source.get(query);
		last().answered(A);
		const first = await read;
		last().answered([instance('a')]);
		expect(source.peek(query)).toBe(first);
		expect(await source.get(query)).toBe(first);
		expect(Object.isFrozen(first)).toBe(true);
		last().answered([instance('a', 81)]);
		expect(source.peek(query)).not.toBe(first);
		expect(source.peek(query)?.revision).toBe(2);
	});

	it('peek never starts a watch', () => {
		const { source, watching } = createSource();
		expect(source.peek(query)).toBeUndefined();
		expect(watching).toEqual([]);
	});

	it('without a first answer a read is NOT_READY after firstAnswerMs, or after its own time-out', async () => {
		const { source, clock } = createSource({ firstAnswerMs: 300 });
		const reads = [source.get(query), source.get(query, { timeoutMs: 100 }), source.get(query, { timeoutMs: 900 })];
		const codes: string[] = [];
		for (const read of reads) read.catch((error: SpockError) => codes.push(`${error.code} ${clock.now()}`));
		const startMs = clock.now();
		await clock.advance(1000);
		expect(codes).toEqual([100, 300, 900].map((ms) => `NOT_READY ${startMs + ms}`));
		await source.close();
		expect(clock.pendingTimers).toBe(0);
	});

	it('a time-out that no timer can keep is refused', async () => {
		const { source } = createSource();
		await expect(source.get(query, { timeoutMs: Number.POSITIVE_INFINITY })).rejects.toThrow(RangeError);
	});

	it('an aborted read rejects with ABORTED and its reason, and disturbs nobody', async () => {
		const { source, last, clock } = createSource();
		const abort = new AbortController();
		const read = source.get(query, { signal: abort.signal });
		const other = source.get(query);
		abort.abort('enough');
		await expect(read).rejects.toMatchObject({ code: 'ABORTED', cause: 'enough' });
		last().answered(A);
		expect((await other).instances).toBe(A);
		await expect(source.get(query, { signal: abort.signal })).rejects.toMatchObject({ code: 'ABORTED' });
		await source.close();
		expect(clock.pendingTimers).toBe(0);
	});

	it('a failure before any answer lets reads wait until their deadlines, and is then their reason', async () => {
		const { source, last, clock } = createSource({ firstAnswerMs: 300 });
		const read = source.get(query, { timeoutMs: 100 });
		const failure = expect(read).rejects.toBe(refused);
		last().failed(refused);
		const patient = source.get(query);
		await clock.advance(100);
		await failure;
		last().failed(refused);
		await clock.advance(100);
		last().answered(A);
		expect((await patient).instances).toBe(A);
		await source.close();
		expect(clock.pendingTimers).toBe(0);
	});

	it('while reads wait, a query that has failed is repeated each second, whatever its back-off', async () => {
		const { source, last, clock, watching } = createSource();
		const read = expect(source.get(query, { timeoutMs: 2500 })).rejects.toBe(refused);
		last().failed(refused);
		await clock.advance(2500);
		await read;
		expect(watching[0]?.retries).toBe(3);
		const second = source.get(query, { timeoutMs: 2500 });
		await clock.advance(500);
		expect(watching[0]?.retries).toBe(4);
		last().answered(A);
		await second;
		await clock.advance(5000);
		expect(watching[0]?.retries).toBe(4);
	});

	it.each([
		new SpockError('ACL_DENIED', 'no'),
		new SpockError('BAD_REQUEST', 'no such filter'),
		new SpockError('UNAVAILABLE', 'no such datacenter', { details: { isRefused: true } }),
	])('a final failure before any answer rejects reads at once: $message', async (denied) => {
		const { source, last } = createSource();
		const read = source.get(query);
		last().failed(denied);
		await expect(read).rejects.toBe(denied);
		await expect(source.get(query)).rejects.toBe(denied);
		last().answered(A);
		expect((await source.get(query)).instances).toBe(A);
	});
});

describe('watching', () => {
	it('tells what is known before it returns, then every change, and nothing after stop', () => {
		const { source, last } = createSource();
		const early = recorder();
		const watch = source.watch(query, early);
		expect(early.seen).toEqual([]);
		last().answered(A);
		const late = recorder();
		source.watch(query, late);
		expect(late.seen).toEqual(early.seen);
		last().answered([instance('a')]);
		expect(early.seen).toHaveLength(1);
		watch.stop();
		watch.stop();
		last().answered(B);
		expect(early.seen).toHaveLength(1);
		expect(late.seen.map(({ revision, instances }) => [revision, instances])).toEqual([
			[1, A],
			[2, B],
		]);
	});

	it('errors are told only until there is a first snapshot', () => {
		const { source, last } = createSource();
		const one = recorder();
		source.watch(query, one);
		last().failed(refused);
		const two = recorder();
		source.watch(query, two);
		expect([one.errors, two.errors]).toEqual([[refused], [refused]]);
		last().answered(A);
		last().failed(refused);
		last().failed(refused);
		expect(one.errors).toHaveLength(1);
		expect(one.seen.map(({ source: from }) => from)).toEqual(['live', 'last-known-good']);
	});

	it('an observer that throws costs no other observer its change', async () => {
		const { source, last } = createSource();
		source.watch(query, {
			next: () => {
				throw new Error('a fault of the observer');
			},
		});
		const other = recorder();
		source.watch(query, other);
		const before = process.listeners('uncaughtException');
		process.removeAllListeners('uncaughtException');
		const heard: unknown[] = [];
		process.on('uncaughtException', (fault) => heard.push(fault));
		try {
			last().answered(A);
			await settle();
		} finally {
			process.removeAllListeners('uncaughtException');
			for (const listener of before) process.on('uncaughtException', listener);
		}
		expect(other.seen).toHaveLength(1);
		expect(heard).toMatchObject([{ message: 'a fault of the observer' }]);
	});

	it('an observer that throws at the first word makes the call throw, and is no reader', () => {
		const { source, last } = createSource();
		source.watch(query, recorder()).stop();
		last().answered(A);
		const faulty = {
			next: () => {
				throw new Error('a fault of the observer');
			},
		};
		expect(() => source.watch(query, faulty)).toThrow('a fault of the observer');
		expect(source.watches()).toMatchObject([{ readers: 0 }]);
	});

	it('an observer that is stopped by another one while both are told is not told', () => {
		const { source, last } = createSource();
		const second = recorder();
		const watches: { stop(): void }[] = [];
		source.watch(query, { next: () => watches[0]?.stop() });
		watches.push(source.watch(query, second));
		last().answered(A);
		expect(second.seen).toEqual([]);
	});
});

describe('eviction and limits', () => {
	it('an entry that nobody reads ends after idleTtlMs; a mere read keeps it; an observer keeps it for ever', async () => {
		const { source, last, watching, clock } = createSource({ idleTtlMs: 1000 });
		const read = source.get(query);
		last().answered(A);
		await read;
		const kept = source.watch({ service: 'kept' }, recorder());
		for (let count = 0; count < 5; count++) {
			await clock.advance(900);
			await source.get(query);
		}
		expect(watching.map(({ stopped }) => stopped)).toEqual([false, false]);
		await clock.advance(2000);
		expect(watching.map(({ stopped }) => stopped)).toEqual([true, false]);
		kept.stop();
		await clock.advance(2000);
		expect(watching.map(({ stopped }) => stopped)).toEqual([true, true]);
		expect(source.watches()).toEqual([]);
		expect(clock.pendingTimers).toBe(0);
	});

	it('a question that was evicted and is asked again has a higher revision than before', async () => {
		const { source, last, clock } = createSource({ idleTtlMs: 1000 });
		const first = source.get(query);
		last().answered(A);
		const before = (await first).revision;
		await clock.advance(5000);
		const second = source.get(query);
		last().answered(A);
		expect((await second).revision).toBeGreaterThan(before);
	});

	it('a late answer of an evicted watch is told to nobody', async () => {
		const { source, last, clock } = createSource({ idleTtlMs: 1000 });
		const one = recorder();
		source.watch(query, one).stop();
		const late = last();
		await clock.advance(5000);
		late.answered(A);
		late.failed(refused);
		expect(source.peek(query)).toBeUndefined();
		expect(one.seen).toEqual([]);
	});

	it('more different questions than entriesMax are OVERLOADED while all have readers', async () => {
		const { source, watching } = createSource({ entriesMax: 2 });
		const kept = source.watch({ service: 'one' }, recorder());
		source.watch({ service: 'two' }, recorder());
		await expect(source.get({ service: 'three' })).rejects.toMatchObject({ code: 'OVERLOADED' });
		expect(watching).toHaveLength(2);
		kept.stop();
		source.watch({ service: 'three' }, recorder());
		expect(watching).toHaveLength(3);
	});

	it.each(['idleTtlMs', 'entriesMax', 'staleMaxMs', 'firstAnswerMs'])('a wrong %s is refused by name', (name) => {
		expect(() => createSource({ [name]: -1 })).toThrow(new RegExp(name));
	});
});
