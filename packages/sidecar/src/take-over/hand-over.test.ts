import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import type { Caller } from '../connection/answer.ts';
import { HandOver } from './hand-over.ts';

function caller(frameBytesMax = 1_048_576): Caller {
	return { frameBytesMax } as Caller;
}

function handOver(services: string[] = []) {
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
		isServing: () => seen.left === 0,
		places: () => [place],
		otherPlaces: () => [],
		questions: () => ({ services: services.map((service) => ({ service })), keys: [] }),
		leave: () => void seen.left++,
		failed: () => undefined,
	});
	return { subject, clock, seen };
}

describe('HandOver', () => {
	it('a begin of somebody else does not spoil the finish of the successor', async () => {
		const { subject, seen } = handOver();
		subject.begin(caller());
		subject.begin(caller());
		await expect(subject.finish()).rejects.toMatchObject({ code: 'BAD_REQUEST' });
		seen.isReplaced = true;
		expect(await subject.finish()).toBe(null);
		expect(seen.left).toBe(1);
	});

	it.each([1024, 4096, 1_048_576])('tells as many questions as a frame of %i bytes holds', (frameBytesMax) => {
		const names = Array.from({ length: 20_000 }, (_, at) => `kaffee-für-${at}-☕☕☕☕☕☕`);
		const reply = handOver(names).subject.questions(frameBytesMax);
		expect(reply.services.length).toBeGreaterThan(5);
		const frame = JSON.stringify({ id: Number.MAX_SAFE_INTEGER, data: reply });
		expect(Buffer.byteLength(frame)).toBeLessThanOrEqual(Math.min(frameBytesMax, 524_288 + 128));
	});

	it('looks after the place in one schedule, however many say that they begin, and go', async () => {
		const { subject, clock, seen } = handOver();
		for (let turn = 0; turn < 50; turn++) {
			const one = caller();
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
