import { SpockError } from '@spock/protocol';
import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';
import { A, B, createSource, instance, query, recorder, refused } from '../test/fake-backend-source.ts';
import type { BackendObserver } from './foundation/backend.ts';

/** A source that has served A for this long without another word of the registry. */
async function quietFor(ms: number, options: Parameters<typeof createSource>[0] = {}) {
	const created = createSource(options);
	created.source.watch(query, recorder());
	created.last().answered(A);
	await created.clock.advance(ms);
	return created;
}

describe('maxAgeMs', () => {
	it('an answer that the registry confirmed lately enough is given as it is, with the time of that', async () => {
		const { source, last, clock, watching } = await quietFor(40_000);
		last().answered([instance('a')]);
		const verifiedAt = clock.wallNow();
		await clock.advance(5000);
		const answer = await source.get(query, { maxAgeMs: 5000 });
		expect(answer).toMatchObject({ source: 'live', ageMs: 0, verifiedAt });
		expect(answer.instances).toBe(A);
		expect(source.peek(query)?.verifiedAt).toBe(verifiedAt - 40_000);
		expect(watching).toHaveLength(1);
	});

	it('an older one is verified first: the watch starts anew, once for all who ask', async () => {
		const { source, last, clock, watching } = await quietFor(5001);
		const asked = [source.get(query, { maxAgeMs: 5000 }), source.get(query, { maxAgeMs: 0 })];
		expect(watching.map(({ stopped }) => stopped)).toEqual([true, false]);
		await clock.advance(20);
		last().answered([instance('a')]);
		for (const answer of await Promise.all(asked)) {
			expect(answer).toMatchObject({ source: 'live', instances: A, revision: 1, verifiedAt: clock.wallNow() });
		}
	});

	it('what the registry says instead is the answer', async () => {
		const { source, last } = await quietFor(5001);
		const asked = source.get(query, { maxAgeMs: 5000 });
		last().answered(B);
		expect((await asked).instances).toBe(B);
	});

	it.each([
		['fails', (last) => last().failed(refused), { cause: refused }],
		['answers nothing in time', () => undefined, {}],
	] as const satisfies readonly (readonly [string, (last: () => BackendObserver) => void, object])[])(
		'a registry that %s: UNAVAILABLE at the deadline with the age and the limit',
		async (_how, act, more) => {
			const { source, last, clock } = await quietFor(5001);
			let error: SpockError | undefined;
			source.get(query, { maxAgeMs: 5000, timeoutMs: 300 }).catch((reason: SpockError) => {
				error = reason;
			});
			act(last);
			await clock.advance(299);
			expect(error).toBeUndefined();
			await clock.advance(1);
			const details = { service: 'barista', ageMs: 5301, maxAgeMs: 5000 };
			expect(error).toMatchObject({ code: 'UNAVAILABLE', retryable: true, details, ...more });
		},
	);

	it('a registry that fails and answers before the deadline is waited for', async () => {
		const { source, last, clock } = await quietFor(5001);
		const verified = source.get(query, { maxAgeMs: 5000 });
		last().failed(refused);
		const later = source.get(query, { maxAgeMs: 5000 });
		await clock.advance(1000);
		last().failed(refused);
		await clock.advance(1000);
		last().answered(B);
		for (const answer of [await verified, await later]) {
			expect(answer).toMatchObject({ source: 'live', instances: B, verifiedAt: clock.wallNow() });
		}
	});

	it('an answer to a query that was sent before an outage ended is verified for a caller that wants a younger one', async () => {
		const { source, last, clock, watching } = await quietFor(5001);
		last().failed(refused);
		const asked = source.get(query, { maxAgeMs: 1000 });
		await clock.advance(100);
		last().answered(A, { ageMs: 3000 });
		await clock.advance(0);
		expect(watching).toHaveLength(2);
		last().answered(B);
		expect(await asked).toMatchObject({ instances: B, verifiedAt: clock.wallNow() });
	});

	it('a registry that refuses is not waited for', async () => {
		const { source, last } = await quietFor(5001);
		const asked = source.get(query, { maxAgeMs: 5000 });
		const denied = new SpockError('ACL_DENIED', 'no');
		last().failed(denied);
		await expect(asked).rejects.toMatchObject({ code: 'UNAVAILABLE', cause: denied });
		await expect(source.get(query, { maxAgeMs: 5000 })).rejects.toMatchObject({ cause: denied });
	});

	it('in an outage what is young enough is served; what is not is refused at the deadline, and the registry is left in peace', async () => {
		const { source, last, clock, watching } = await quietFor(1000);
		last().failed(refused);
		expect(await source.get(query, { maxAgeMs: 5000 })).toMatchObject({ source: 'last-known-good', ageMs: 1000 });
		await clock.advance(4001);
		const late = expect(source.get(query, { maxAgeMs: 5000, timeoutMs: 100 })).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			details: { ageMs: 5101, maxAgeMs: 5000 },
			cause: refused,
		});
		expect(await source.get(query)).toMatchObject({ source: 'last-known-good', ageMs: 5001 });
		await clock.advance(100);
		await late;
		expect(watching).toHaveLength(1);
	});

	it('the registry is asked out of turn at most once a second for one question', async () => {
		const { source, last, clock, watching } = await quietFor(1000);
		const first = source.get(query, { maxAgeMs: 0 });
		expect(watching).toHaveLength(2);
		last().answered([instance('a')]);
		await first;
		await clock.advance(1);
		const second = source.get(query, { maxAgeMs: 0 });
		await clock.advance(998);
		expect(watching).toHaveLength(2);
		await clock.advance(1);
		expect(watching).toHaveLength(3);
		last().answered([instance('a')]);
		await second;
		await clock.advance(1);
		const early = source.get(query, { maxAgeMs: 0 });
		await clock.advance(100);
		// An answer that comes by itself is as good.
		last().answered([instance('a')]);
		await early;
		await clock.advance(5000);
		expect(watching).toHaveLength(3);
	});

	it('a registry that is silent is not asked once more while it is asked', async () => {
		const { source, clock, watching } = await quietFor(5000);
		source.get(query, { maxAgeMs: 0, timeoutMs: 60_000 }).catch(() => undefined);
		await clock.advance(1500);
		source.get(query, { maxAgeMs: 0, timeoutMs: 60_000 }).catch(() => undefined);
		await clock.advance(5000);
		expect(watching).toHaveLength(2);
		await source.close();
	});

	it('a first question waits for its first answer as ever', async () => {
		const { source, last, watching } = createSource();
		const asked = source.get(query, { maxAgeMs: 0 });
		last().answered(A);
		expect(await asked).toMatchObject({ source: 'live' });
		expect(watching).toHaveLength(1);
	});

	it('an aborted verification is ABORTED, and a closed source CLOSED; neither leaves a timer', async () => {
		const { source, clock } = await quietFor(5001);
		const abort = new AbortController();
		const aborted = source.get(query, { maxAgeMs: 0, signal: abort.signal });
		const closed = source.get(query, { maxAgeMs: 0 });
		abort.abort();
		await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
		await source.close();
		await expect(closed).rejects.toMatchObject({ code: 'CLOSED' });
		await settle();
		expect(clock.pendingTimers).toBe(0);
	});

	it('a held answer is as old as its last confirmation', async () => {
		const { source, last, clock } = await quietFor(1000);
		last().answered([]);
		expect(await source.get(query, { maxAgeMs: 1000 })).toMatchObject({ held: true, ageMs: 1000 });
		await clock.advance(1);
		const late = expect(source.get(query, { maxAgeMs: 1000, timeoutMs: 100 })).rejects.toMatchObject({
			code: 'UNAVAILABLE',
		});
		await clock.advance(100);
		await late;
	});

	it.each([-1, 1.5, 2 ** 31])('a maxAgeMs of %s is refused by name', async (maxAgeMs) => {
		const { source } = createSource();
		await expect(source.get(query, { maxAgeMs })).rejects.toThrow(/maxAgeMs/);
	});
});

describe('the wall clock', () => {
	it('set back or forward changes no age, and what is told next has the new time', async () => {
		const { source, last, clock } = await quietFor(1000);
		clock.wallOffsetMs = -3_600_000;
		last().failed(refused);
		expect(source.peek(query)).toMatchObject({ ageMs: 1000, verifiedAt: clock.wallNow() - 1000 });
		await clock.advance(500);
		expect(source.peek(query)).toMatchObject({ ageMs: 1500, verifiedAt: clock.wallNow() - 1500 });
	});
});

describe('an outage', () => {
	it('evicts nothing that is known, however long nobody asks, unless there is no room', async () => {
		const { source, last, clock, watching } = createSource({ idleTtlMs: 1000, entriesMax: 2 });
		for (const service of ['one', 'two']) {
			const read = source.get({ service });
			last().answered(A);
			await read;
			last().failed(refused);
		}
		await clock.advance(600_000);
		expect(source.peek({ service: 'one' })).toMatchObject({ instances: A, source: 'last-known-good' });
		expect(source.peek({ service: 'two' })).toMatchObject({ instances: A, source: 'last-known-good' });
		await clock.advance(600_000);
		source.get({ service: 'three' }).catch(() => undefined);
		expect(watching.map(({ stopped }) => stopped)).toEqual([true, false, false]);
		await source.close();
	});
});

describe('an answer that came too late', () => {
	it('is served as the last that is known, with its age, and is live again with one that is in time', async () => {
		const { source, last, clock } = await quietFor(1000);
		last().answered([instance('a')], { ageMs: 12_000, isUnconfirmed: true });
		expect(source.peek(query)).toMatchObject({ source: 'last-known-good', ageMs: 12_000, instances: A });
		await clock.advance(3000);
		expect(source.peek(query)).toMatchObject({ source: 'last-known-good', ageMs: 15_000 });
		expect((await source.inspect(query)).error).toBeNull();
		last().answered(B, { ageMs: 11_000, isUnconfirmed: true });
		expect(source.peek(query)).toMatchObject({ source: 'last-known-good', ageMs: 11_000, instances: B });
		last().answered(B);
		expect(source.peek(query)).toMatchObject({ source: 'live', ageMs: 0, instances: B });
	});

	it('is told once, however often it is late', async () => {
		const { source, last } = await quietFor(1000);
		const seen: unknown[] = [];
		source.watch(query, { next: (snapshot) => seen.push(snapshot.source) });
		for (const ageMs of [11_000, 12_000, 13_000]) last().answered([instance('a')], { ageMs, isUnconfirmed: true });
		expect(seen).toEqual(['live', 'last-known-good']);
	});

	it('is the first answer too, where there is no other', async () => {
		const { source, last } = createSource();
		const asked = source.get(query);
		last().answered(A, { ageMs: 12_000, isUnconfirmed: true });
		expect(await asked).toMatchObject({ source: 'last-known-good', ageMs: 12_000 });
	});
});
