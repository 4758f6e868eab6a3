import type { BenchResults } from '../results.ts';
import { type BarRow, drawBarChart } from './bar-chart.ts';
import { formatCount, formatMicroseconds, formatMicrosecondsTick, formatNumber, formatTick } from './format-number.ts';
import { drawLineChart } from './line-chart.ts';
import { plotSubtitle } from './plot-head.ts';

/** Many connections to one sidecar: p99, and the memory of each. */
export function drawConnections(results: BenchResults): string {
	const figures = results.connections;
	return drawLineChart({
		title: 'Many connections to one sidecar',
		note: 'The same total rate of calls, spread over all connections. Lower is better.',
		subtitle: plotSubtitle(results),
		xLabel: 'connections',
		formatX: formatCount,
		panels: [
			{
				heading: 'p99 of a call',
				yScale: 'linear',
				format: formatMicroseconds,
				formatTick: formatMicrosecondsTick,
				series: [{ label: 'p99', points: figures.map((figure) => ({ x: figure.connections, y: figure.p99Us })) }],
			},
			{
				heading: 'Memory of each further connection (KB)',
				yScale: 'linear',
				format: formatNumber,
				formatTick,
				series: [
					{ label: 'sidecar', points: figures.map((figure) => ({ x: figure.connections, y: figure.sidecarKbEach })) },
					{ label: 'client', points: figures.map((figure) => ({ x: figure.connections, y: figure.clientKbEach })) },
				],
			},
		],
	});
}

/** Many calls in flight on one connection: calls a second, and memory. */
export function drawInFlight(results: BenchResults): string {
	const figures = results.inFlight;
	return drawLineChart({
		title: 'Many calls in flight on one connection',
		note: 'More calls a second and less memory are better.',
		subtitle: plotSubtitle(results),
		xLabel: 'calls in flight',
		formatX: formatCount,
		panels: [
			{
				heading: 'Calls a second',
				yScale: 'log',
				format: formatNumber,
				formatTick,
				series: [
					{ label: 'calls/s', points: figures.map((figure) => ({ x: figure.inFlight, y: figure.callsPerSecond })) },
				],
			},
			{
				heading: 'Resident memory (MB)',
				yScale: 'log',
				format: formatNumber,
				formatTick,
				series: [
					{ label: 'client', points: figures.map((figure) => ({ x: figure.inFlight, y: figure.clientRssMb })) },
					{ label: 'sidecar', points: figures.map((figure) => ({ x: figure.inFlight, y: figure.serverRssMb })) },
				],
			},
		],
	});
}

/** Sidecar memory and the cost of a push by size of the registry. Bars, since two sizes have no common measure. */
export function drawRegistry(results: BenchResults): string {
	const rows = (bar: (figure: BenchResults['registry'][number]) => BarRow['bars']): readonly BarRow[] =>
		results.registry.map((figure) => ({
			label: `${formatCount(figure.services)} × ${formatCount(figure.instancesEach)}`,
			accent: false,
			bars: bar(figure),
		}));
	const memory = rows((figure) => [
		{
			parts: [
				{ value: Math.min(figure.sidecarRssBeforeMb, figure.sidecarRssMb), tone: 'productLight' },
				{ value: Math.max(0, figure.sidecarRssMb - figure.sidecarRssBeforeMb), tone: 'product' },
			],
		},
	]);
	return drawBarChart({
		title: 'Large registries',
		note: 'Services × instances of each, everything in the registry watched. Shorter is better.',
		subtitle: plotSubtitle(results),
		legend: [
			{ label: 'before the first watch', tones: ['productLight'] },
			{ label: 'what the registry adds, and the cost of a push', tones: ['product'] },
		],
		sections: [
			{
				axisLabel: 'resident memory of the sidecar (MB)',
				scale: 'linear',
				format: (value) => `${formatNumber(value)} MB`,
				formatTick,
				panels: [{ heading: 'Memory of the sidecar', rows: memory }],
			},
			{
				axisLabel: 'CPU of the sidecar for one push (µs)',
				scale: 'linear',
				format: formatMicroseconds,
				formatTick: formatMicrosecondsTick,
				panels: [
					{
						heading: 'Cost of one push',
						rows: rows((figure) => [{ parts: [{ value: figure.pushCpuUs, tone: 'product' }] }]),
					},
				],
			},
		],
	});
}

/** What is added to a bare blocking query before the last watcher knows of a change. */
export function drawWatchers(results: BenchResults): string {
	const figures = results.watchers;
	return drawLineChart({
		title: 'From a change in Consul to the last watching client',
		note: 'What is added to a bare blocking query that sees the same change. Lower is better.',
		subtitle: plotSubtitle(results),
		xLabel: 'watching clients',
		formatX: formatCount,
		panels: [
			{
				heading: 'Added time (ms)',
				yScale: 'log',
				format: formatNumber,
				formatTick,
				series: [
					{ label: 'p50', points: figures.map((figure) => ({ x: figure.watchers, y: figure.addedP50Ms })) },
					{ label: 'p99', points: figures.map((figure) => ({ x: figure.watchers, y: figure.addedP99Ms })) },
				],
			},
		],
	});
}
