import { describe, expect, it } from 'vitest';

import { formatNumber } from './format-number.ts';
import { type BarChart, type BarRow, drawBarChart } from './svg-bar-chart.ts';
import { assertWellFormed } from './xml-check.ts';

function chartOf(rows: readonly BarRow[], scale: 'linear' | 'log' = 'linear'): BarChart {
	return {
		title: 'Title <&>',
		subtitle: 'machine "one"',
		sections: [{ axisLabel: 'time (µs)', scale, format: formatNumber, formatTick: formatNumber, panels: [{ rows }] }],
	};
}

function rowOf(label: string, value: number | null | undefined): BarRow {
	return { label, accent: false, bars: [{ parts: [{ value, tone: 'peer' }] }] };
}

/** Widths of the bars, in order. */
function barWidths(svg: string): number[] {
	return [...svg.matchAll(/<rect [^>]*width="([\d.]+)" height="12"/g)].map((match) => Number(match[1]));
}

describe('drawBarChart', () => {
	it('is well-formed and accessible, whatever its labels hold', () => {
		const svg = drawBarChart(chartOf([rowOf('<b> & "c"', 5)]));
		assertWellFormed(svg);
		expect(svg).toContain('role="img" aria-label="Title &lt;&amp;&gt;"');
		expect(svg).toContain('<title>Title &lt;&amp;&gt;</title>');
		expect(svg).toContain('viewBox="0 0 840 ');
		expect(svg).toContain('>&lt;b&gt; &amp; &quot;c&quot;</text>');
	});

	it('draws bars as long as their values, with the value at the end', () => {
		const svg = drawBarChart(chartOf([rowOf('a', 100), rowOf('b', 50)]));
		const [a = 0, b = 0] = barWidths(svg);
		expect((a + 1) / (b + 1)).toBeCloseTo(2, 1);
		expect(svg).toContain('>100</text>');
		expect(svg).toContain('>50.0</text>');
	});

	it('draws parts end to end and prints their sum', () => {
		const parts = [
			{ value: 20, tone: 'peer' },
			{ value: 26.1, tone: 'peer-light' },
		] as const;
		const svg = drawBarChart(chartOf([{ label: 'a', accent: true, bars: [{ parts }] }]));
		expect(barWidths(svg)).toHaveLength(2);
		expect(svg).toContain('>46.1</text>');
	});

	it('says which row was not measured', () => {
		const svg = drawBarChart(chartOf([rowOf('a', 1), rowOf('b', null), rowOf('c', undefined), rowOf('d', Number.NaN)]));
		expect(svg.match(/>not measured</g)).toHaveLength(3);
		expect(svg).not.toContain('NaN');
	});

	it('says once that none of the bars of a row was measured', () => {
		const bar = { parts: [{ value: null, tone: 'peer' }] } as const;
		const svg = drawBarChart(chartOf([rowOf('a', 1), { label: 'b', accent: false, bars: [bar, bar] }]));
		expect(svg.match(/>not measured</g)).toHaveLength(1);
	});

	it.each([
		['no rows', []],
		['no values', [rowOf('a', null)]],
		['no bars', [{ label: 'a', accent: false, bars: [] }]],
	])('says that nothing was measured when there are %s', (_, rows) => {
		const svg = drawBarChart(chartOf(rows));
		assertWellFormed(svg);
		expect(svg).toContain('>not measured</text>');
	});

	it('draws zero on either axis', () => {
		for (const scale of ['linear', 'log'] as const) {
			const svg = drawBarChart(chartOf([rowOf('a', 0), rowOf('b', 10)], scale));
			assertWellFormed(svg);
			expect(svg).toContain('>0</text>');
			expect(svg).not.toMatch(/NaN|Infinity/);
		}
		expect(drawBarChart(chartOf([rowOf('a', 0)], 'log'))).not.toMatch(/NaN|Infinity/);
	});
});
