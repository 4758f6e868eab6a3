import { describe, expect, it } from 'vitest';

import { renderConsulMarkdown } from './consul-md.ts';
import type { ConsulResults, Delays } from './consul-results.ts';

const delays = (p50Ms: number, p99Ms: number, unseen = 0): Delays => ({
	changes: 1200,
	unseen,
	p50Ms,
	p99Ms,
	maxMs: 90,
});
const traffic = { seconds: 60, connections: 10, queriesAMinute: 10.5, kilobytesAMinute: 21 };

const results: ConsulResults = {
	schema: 1,
	takenAt: '2026-01-02T03:04:05.000Z',
	quick: false,
	commit: 'abcdef0',
	machine: { processor: 'a processor', cores: 4 },
	node: 'v24.0.0',
	consul: '1.20.2',
	changes: [
		{ watched: 50, gapMs: 20, spock: delays(3.5, 8), bare: delays(2.75, 5) },
		{ watched: 100, gapMs: 20, spock: delays(3.5, 12), bare: delays(2.75, 5) },
		{ watched: 200, gapMs: 20, spock: delays(3, 5, 1), bare: delays(2.75, 5) },
	],
	cost: [
		{ contender: 'spock', watched: 10, atRest: traffic, underChange: { ...traffic, queriesAMinute: 60 } },
		{ contender: 'polling', watched: 10, atRest: { ...traffic, queriesAMinute: 120 }, underChange: traffic },
	],
	scale: {
		schema: 1,
		takenAt: '2026-01-03T03:04:05.000Z',
		quick: false,
		commit: 'fedcba0',
		machine: { processor: 'a processor', cores: 4 },
		node: 'v24.0.0',
		load: 0.5,
		figures: [{ watched: 1000, heldMax: 150, spock: delays(3.5, 8), bare: delays(2.75, 5), traffic }],
	},
};

describe('the page on Spock and Consul', () => {
	const page = renderConsulMarkdown(results);
	const row = (start: string): string => page.split('\n').find((line) => line.startsWith(start)) ?? '';

	it('says what Spock adds to a bare blocking query, and whether that meets the goal', () => {
		expect(row('| 50 ')).toMatch(/\| +2\.75 \| +3\.50 \| +0\.750 \| +5\.00 \| +8\.00 \| +3\.00 \| +met \|$/);
		expect(row('| 100 ')).toMatch(/\| missed \|$/);
	});

	it('a change that was never seen misses the goal, however fast the others were', () => {
		expect(row('| 200 ')).toMatch(/\| missed \|$/);
	});

	it('says how late and how dear many services are while others change', () => {
		expect(page).toMatch(/\| +1,000 \| +150 \| +0 \| +2\.75 \| +3\.50 \| +5\.00 \| +8\.00 \| +10 \| +10\.5 \|/);
	});

	it('puts a pod of Spock beside one that polls', () => {
		expect(row('| Spock ')).toMatch(/\| +10 \| +10 \| +10\.5 \| +21\.0 \| +10 \| +60\.0 \|/);
		expect(row('| polling ')).toMatch(/\| +10 \| +10 \| +120 \|/);
	});
});
