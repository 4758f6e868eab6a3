import { gzipSync } from 'node:zlib';

import { describe, expect, it } from 'vitest';

import { MetricsData } from './metrics-data.ts';

const MIB = 1_048_576;

describe('the data of the table of events', () => {
	const messages = new MetricsData(1).messages(16 * MIB);
	const bytes = messages.reduce((sum, { length }) => sum + length, 0);

	it('is the same for the same seed, and another for another', () => {
		const first = new MetricsData(7).message();
		expect(new MetricsData(7).message()).toBe(first);
		expect(new MetricsData(8).message()).not.toBe(first);
	});

	it('has the sizes of the original: 2 to 300 kB, 17.5 kB on average, most of them smaller', () => {
		const sizes = messages.map(({ length }) => length).sort((one, other) => one - other);
		expect(sizes[0]).toBeGreaterThanOrEqual(2000);
		expect(sizes.at(-1)).toBeLessThan(301_000);
		expect(bytes / messages.length).toBeGreaterThan(16_000);
		expect(bytes / messages.length).toBeLessThan(19_000);
		expect(sizes[sizes.length >> 1]).toBeLessThan(15_000);
	});

	it('has the entropy of the original: a message alone shrinks to a bit less than a half', () => {
		const packed = messages.slice(0, 200).reduce((sum, message) => sum + gzipSync(message).length, 0);
		const raw = messages.slice(0, 200).reduce((sum, { length }) => sum + length, 0);
		expect(raw / packed).toBeGreaterThan(2);
		expect(raw / packed).toBeLessThan(2.4);
	});
});
