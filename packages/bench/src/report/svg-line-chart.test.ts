import { describe, expect, it } from 'vitest';

import { formatNumber, formatTick } from './format-number.ts';
import { drawLineChart, type LineChart, type LineSeries } from './svg-line-chart.ts';
import { assertWellFormed } from './xml-check.ts';

function chartOf(series: readonly LineSeries[], scale: 'linear' | 'log' = 'linear'): LineChart {
	return {
		title: 'Growth & more',
		subtitle: 'a machine',
		xLabel: 'connections',
		xScale: scale,
		formatX: formatTick,
		panels: [{ heading: 'time (ms)', yScale: scale, format: formatNumber, formatTick, series }],
	};
}

function seriesOf(label: string, ...points: readonly (readonly [number, number | null])[]): LineSeries {
	return { label, points: points.map(([x, y]) => ({ x, y })) };
}

describe('drawLineChart', () => {
	it('is well-formed, with title, axis label, unit and values', () => {
		const svg = drawLineChart(chartOf([seriesOf('p50 <>', [1, 3], [10, 7]), seriesOf('p99', [1, 9], [10, 31])]));
		assertWellFormed(svg);
		expect(svg).toContain('<title>Growth &amp; more</title>');
		for (const text of ['connections', 'time (ms)', 'p50 &lt;&gt;', 'p99', '3.00', '31.0'])
			expect(svg).toContain(`>${text}<`);
	});

	it('joins points in the order of x, without those that were not measured', () => {
		const svg = drawLineChart(chartOf([seriesOf('a', [100, 3], [1, 5], [10, null])]));
		const path = /<path d="M([\d.]+) [\d.]+L([\d.]+) [\d.]+"/.exec(svg);
		expect(Number(path?.[1])).toBeLessThan(Number(path?.[2]));
		expect(svg.match(/<circle/g)).toHaveLength(2);
	});

	it('leaves out what a logarithm has no place for', () => {
		const svg = drawLineChart(chartOf([seriesOf('a', [1, -0.2], [10, 0], [100, 4])], 'log'));
		expect(svg.match(/<circle/g)).toHaveLength(1);
		expect(svg).not.toMatch(/NaN|Infinity/);
	});

	it('places a single point', () => {
		for (const scale of ['linear', 'log'] as const) {
			const svg = drawLineChart(chartOf([seriesOf('a', [1, 4])], scale));
			assertWellFormed(svg);
			expect(svg).not.toMatch(/NaN|Infinity/);
		}
	});

	it('says that nothing was measured, of a chart and of one panel', () => {
		const empty = chartOf([seriesOf('a', [1, null]), seriesOf('b')]);
		expect(drawLineChart(empty)).toContain('>not measured</text>');
		const half: LineChart = { ...empty, panels: [...empty.panels, ...chartOf([seriesOf('c', [1, 2])]).panels] };
		assertWellFormed(drawLineChart(half));
		expect(drawLineChart(half)).toContain('>not measured</text>');
		expect(drawLineChart(half)).toContain('>2.00</text>');
	});
});
