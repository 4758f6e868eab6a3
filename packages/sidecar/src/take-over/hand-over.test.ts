import { FRAME_BYTES_MAX, SpockError } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { HandOver } from './hand-over.ts';
import { readKnownQueries } from './messages.ts';

function handOver(services: string[] = [], isStarting = false) {
	const clock = new FakeClock();
	const seen = { isReplaced: false, left: 0, restores: 0, atOnce: 0, atOnceMax: 0 };
	const place = {
		isReplaced: async () => seen.isReplaced,
		publish: async () => undefined,
		restore: async () => {
			seen.restores++;
			seen.atOnceMax = Math.max(seen.atOnceMax, ++seen.atOnce);
			await new Promise<void>((resolve) => clock.setTimeout(resolve, 500));
			seen.atOnce--;
			return 'ours' as const;
		},
	};
	const subject = new HandOver({
		clock,
		path: undefined,
		isStarting: () => isStarting,
		isServing: () => !isStarting && seen.left === 0,
		places: () => [place],
		otherPlaces: () => [],
		known: () => ({ services: services.map((service) => ({ service })), keys: [] }),
		leave: async () => void seen.left++,
		failed: () => undefined,
		acceptFailed: () => undefined,
	});
	return { subject, clock, seen };
}

describe('HandOver', () => {
	it('a begin of another successor does not spoil the finish of the one that has the path', async () => {
		const { subject, seen } = handOver();
		subject.begin({});
		subject.begin({});
		await expect(subject.finish()).rejects.toMatchObject({ code: 'BAD_REQUEST' });
		expect(seen.left).toBe(0);
		seen.isReplaced = true;
		await subject.finish();
		expect(seen.left).toBe(1);
	});

	it('a successor comes too early while it starts, and finds it ending once it leaves', async () => {
		expect(() => handOver([], true).subject.begin({})).toThrow(expect.objectContaining({ code: 'NOT_READY' }));
		const { subject, seen } = handOver();
		seen.left++;
		expect(() => subject.begin({})).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
	});

	it('a successor learns as many queries as its frames hold, and reads them as they were', () => {
		const names = Array.from({ length: 20_000 }, (_, at) => `kaffee-für-${at}-☕☕☕☕☕☕`);
		const reply = handOver(names).subject.begin({});
		expect(reply.services.length).toBeGreaterThan(1000);
		const frame = JSON.stringify({ id: Number.MAX_SAFE_INTEGER, data: reply });
		expect(Buffer.byteLength(frame)).toBeLessThanOrEqual(FRAME_BYTES_MAX);
		expect(readKnownQueries(JSON.parse(JSON.stringify(reply)))).toEqual(reply);
	});

	it.each([undefined, null, {}, { services: [] }, { services: [], keys: {} }, { services: [{}], keys: [] }])(
		'a reply that is none, %j, is refused',
		(data) => {
			expect(() => readKnownQueries(data)).toThrow(SpockError);
		},
	);

	it('looks after the place in one schedule, however many say that they begin, and go', async () => {
		const { subject, clock, seen } = handOver();
		for (let turn = 0; turn < 50; turn++) {
			const one = {};
			subject.begin(one);
			subject.left(one);
			await clock.advance(30);
		}
		expect(seen.atOnceMax).toBe(1);
		seen.restores = 0;
		for (let turn = 0; turn < 300; turn++) await clock.advance(100);
		expect(seen.restores).toBeGreaterThan(2);
		expect(seen.restores).toBeLessThan(6);
	});
});
