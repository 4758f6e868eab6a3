import { describe, expect, it } from 'vitest';

import { A, B, createSource, query, recorder, refused } from '../../test/fake-backend-source.ts';

/** A source that knows A as live, half a second after the registry answered it. */
async function knowing() {
	const created = createSource();
	const seen = recorder();
	created.source.watch(query, seen);
	created.last().answered(A);
	await created.clock.advance(500);
	return { ...created, seen };
}

describe('after this process stood still', () => {
	it('what is known is last known, as old as the answer of the registry, until the registry has answered again', async () => {
		const { source, seen, watching, last, clock } = await knowing();
		clock.work(20_000);
		await clock.advance(0);
		const aged = {
			instances: A,
			source: 'last-known-good',
			ageMs: 20_500,
			liveAt: clock.wallNow() - 20_500,
		};
		expect(source.peek(query)).toMatchObject(aged);
		expect(seen.seen.at(-1)).toMatchObject(aged);
		expect(watching.map(({ stopped }) => stopped)).toEqual([true, false]);
		last().answered(A);
		expect(source.peek(query)).toMatchObject({ instances: A, source: 'live', ageMs: 0 });
		await source.close();
		expect(clock.pendingTimers).toBe(0);
	});

	it('an answer that waited in a socket is read first, and is as old as the standstill', async () => {
		const { source, last, clock } = await knowing();
		clock.work(20_000);
		const wallMs = clock.wallNow();
		// The watch that was started before: bytes are read before timers fire.
		last().answered(B);
		expect(source.peek(query)).toMatchObject({ instances: B, source: 'last-known-good', ageMs: 20_000 });
		expect(source.peek(query)?.verifiedAt).toBe(wallMs - 20_000);
		await clock.advance(0);
		const asked = source.get(query, { maxAgeMs: 5000, timeoutMs: 100 });
		const refused = expect(asked).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		await clock.advance(100);
		await refused;
		last().answered(A);
		expect(await source.get(query, { maxAgeMs: 1000 })).toMatchObject({ instances: A, source: 'live' });
		await source.close();
	});

	it('the machine may have been suspended: its monotonic clock stood still too', async () => {
		const { source, last, clock } = await knowing();
		clock.wallOffsetMs += 3_600_000;
		await clock.advance(500);
		expect(source.peek(query)).toMatchObject({ source: 'last-known-good', ageMs: 3_601_000 });
		last().failed(refused);
		await clock.advance(1000);
		expect(source.peek(query)).toMatchObject({ source: 'last-known-good', ageMs: 3_602_000 });
		await source.close();
	});

	it('a registry that is away is not asked out of turn, and a short standstill changes nothing', async () => {
		const { source, watching, last, clock, seen } = await knowing();
		clock.work(1500);
		await clock.advance(5000);
		expect(source.peek(query)).toMatchObject({ source: 'live' });
		last().failed(refused);
		clock.work(20_000);
		await clock.advance(0);
		expect(watching).toHaveLength(1);
		expect(seen.seen.map(({ source: from }) => from)).toEqual(['live', 'last-known-good']);
		await source.close();
	});
});

describe('maxAgeMs', () => {
	it('is refused where the registry, asked again, confirms something older', async () => {
		const { source, last, clock } = await knowing();
		await clock.advance(5000);
		const read = source.get(query, { maxAgeMs: 1500 });
		const outcome = expect(read).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			details: { ageMs: 7000, maxAgeMs: 1500 },
		});
		for (let asked = 0; asked < 3; asked++) {
			last().answered(A, { ageMs: 7000, vouchedAgeMs: 0 });
			await clock.advance(1000);
		}
		await outcome;
		expect(source.peek(query)).toMatchObject({ source: 'live' });
		await source.close();
	});

	it('has the registry asked once more for a caller that came long after a query was sent', async () => {
		const { source, last, watching, clock } = await knowing();
		await clock.advance(5000);
		const first = source.get(query, { maxAgeMs: 0 });
		await clock.advance(400);
		const second = source.get(query, { maxAgeMs: 0 });
		last().answered(A, { ageMs: 400 });
		expect(await first).toMatchObject({ source: 'live' });
		await clock.advance(600);
		expect(watching).toHaveLength(3);
		last().answered(B, { ageMs: 5 });
		expect(await second).toMatchObject({ instances: B });
		await source.close();
	});
});
