import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { RequestMetrics } from './metrics/request-metrics.ts';
import { LatencyWindow } from './status-model.ts';

it('the recent requests are those of the last minute', () => {
	const window = new LatencyWindow();
	const at = (second: number, counts: readonly number[]) => window.sample({ boundsMs: [1], counts }, second * 1000);
	expect(at(0, [100, 5])).toEqual({ boundsMs: [1], total: [100, 5], recent: [0, 0], recentMs: 0 });
	expect(at(1, [110, 5])).toMatchObject({ recent: [10, 0], recentMs: 1000 });
	for (let second = 2; second <= 60; second++) at(second, [110 + second, 5]);
	expect(at(61, [200, 6])).toMatchObject({ total: [200, 6], recent: [90, 1], recentMs: 60_000 });
	// Nobody has looked for an hour.
	expect(at(4000, [300, 6])).toMatchObject({ recent: [0, 0], recentMs: 0 });
});

it('durations of all functions are counted by the first bucket that holds them', () => {
	const metrics = new RequestMetrics(new Registry());
	metrics.add('getService', 'ok', 0.02, 3);
	metrics.add('ping', 'ok', 0.025, 1);
	metrics.add('ping', 'INTERNAL', 5000, 2);
	const { boundsMs, counts } = metrics.durations();
	expect([boundsMs[0], boundsMs[1], boundsMs.at(-1)]).toEqual([0.01, 0.025, 1000]);
	expect([counts[0], counts[1], counts.at(-1), counts.length - boundsMs.length]).toEqual([0, 4, 2, 1]);
});
