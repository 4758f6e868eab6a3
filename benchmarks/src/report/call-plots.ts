import { type BenchResults, type CallFigure, SHAPES, type ShapeId } from '../results.ts';
import { type Bar, type BarChart, type BarPanel, type BarRow, type BarSection, drawBarChart } from './bar-chart.ts';
import { type ContenderDescription, contendersOf, findCall, PLOTTED_IDS, toneOf } from './contenders.ts';
import { formatMicroseconds, formatMicrosecondsTick, formatNumber, formatTick } from './format-number.ts';
import { plotSubtitle } from './plot-head.ts';

/** The shapes of the plot of latencies; open loops are in the tables. */
const LATENCY_SHAPES: readonly ShapeId[] = ['one-core', 'two-cores', 'scheduler', '64-in-flight', '1024-in-flight'];

const CONTENDER_LEGEND: NonNullable<BarChart['legend']> = [
	{ label: 'this project', tones: ['product'] },
	{ label: 'peers', tones: ['peer'] },
	{ label: 'echo: 64 bytes over raw node:net, nothing parsed (the limit)', tones: ['limit'] },
];

const MICROSECONDS: Pick<BarSection, 'format' | 'formatTick'> = {
	format: formatMicroseconds,
	formatTick: formatMicrosecondsTick,
};

/** The plot of the README: one call at a time, as an app makes it on a machine that does nothing special. */
export function drawReadmeLatency(results: BenchResults): string {
	const rows = plotted(results).map((contender) => oneBar(results, contender, 'scheduler', (figure) => figure.p50Us));
	return drawBarChart({
		title: 'Median time of one lookup call',
		note: 'One call at a time, app and sidecar as two processes on one machine. Shorter is better.',
		subtitle: plotSubtitle(results),
		legend: CONTENDER_LEGEND,
		sections: [{ axisLabel: 'p50 of one call (µs)', scale: 'linear', ...MICROSECONDS, panels: [{ rows }] }],
	});
}

/** p50 by load shape and contender. */
export function drawLatencyByShape(results: BenchResults): string {
	const panels = LATENCY_SHAPES.map(
		(shape): BarPanel => ({
			heading: sentence(SHAPES[shape]),
			rows: plotted(results).map((contender) => oneBar(results, contender, shape, (figure) => figure.p50Us)),
		}),
	);
	return drawBarChart({
		title: 'Median latency by load',
		note: 'p50, as the caller sees it, on a logarithmic axis. Shorter is better.',
		subtitle: plotSubtitle(results),
		legend: CONTENDER_LEGEND,
		sections: [{ axisLabel: 'p50 of one call', scale: 'log', ...MICROSECONDS, panels }],
	});
}

/** Calls a second with many calls in flight. */
export function drawThroughput(results: BenchResults): string {
	const panels = (['64-in-flight', '1024-in-flight'] as const).map(
		(shape): BarPanel => ({
			heading: sentence(SHAPES[shape]),
			rows: plotted(results).map((contender) => oneBar(results, contender, shape, (figure) => figure.callsPerSecond)),
		}),
	);
	return drawBarChart({
		title: 'Calls a second on one connection',
		note: 'Many calls at once, on a logarithmic axis. Longer is better.',
		subtitle: plotSubtitle(results),
		legend: CONTENDER_LEGEND,
		sections: [{ axisLabel: 'calls/s', scale: 'log', format: formatNumber, formatTick, panels }],
	});
}

/** Processor time of one call, client and server end to end. */
export function drawCpuPerCall(results: BenchResults): string {
	const rows = plotted(results).map((contender): BarRow => {
		const figure = findCall(results, contender.id, 'one-core');
		return row(contender, [
			{
				parts: [
					{ value: figure?.clientCpuUs, tone: toneOf(contender.kind) },
					{ value: figure?.serverCpuUs, tone: toneOf(contender.kind, true) },
				],
			},
		]);
	});
	return drawBarChart({
		title: 'Processor time of one call',
		note: 'All threads of both processes, one call at a time on one core. Shorter is better.',
		subtitle: plotSubtitle(results),
		legend: [
			{ label: 'client', tones: ['product', 'peer', 'limit'] },
			{ label: 'server', tones: ['productLight', 'peerLight', 'limitLight'] },
		],
		sections: [{ axisLabel: 'CPU for each call (µs)', scale: 'linear', ...MICROSECONDS, panels: [{ rows }] }],
	});
}

/** What a busy loop on each core does to latency. */
export function drawBusyNode(results: BenchResults): string {
	const panel = (heading: string, pick: (figure: CallFigure) => number): BarPanel => ({
		heading,
		rows: plotted(results).map((contender) =>
			row(
				contender,
				[false, true].map((busy): Bar => {
					const figure = findCall(results, contender.id, 'two-cores', busy);
					return { parts: [{ value: figure && pick(figure), tone: toneOf(contender.kind, !busy) }] };
				}),
			),
		),
	});
	return drawBarChart({
		title: 'Latency on an idle and on a busy node',
		note: 'One call at a time on two cores; busy is with a busy loop on each core. Shorter is better.',
		subtitle: plotSubtitle(results),
		legend: [
			{ label: 'idle', tones: ['productLight', 'peerLight', 'limitLight'] },
			{ label: 'busy', tones: ['product', 'peer', 'limit'] },
		],
		sections: [
			{
				axisLabel: 'latency of one call',
				scale: 'log',
				...MICROSECONDS,
				panels: [panel('p50', (figure) => figure.p50Us), panel('p99', (figure) => figure.p99Us)],
			},
		],
	});
}

function plotted(results: BenchResults): readonly ContenderDescription[] {
	return contendersOf(results).filter((contender) => PLOTTED_IDS.includes(contender.id));
}

function oneBar(
	results: BenchResults,
	contender: ContenderDescription,
	shape: ShapeId,
	pick: (figure: CallFigure) => number,
): BarRow {
	const figure = findCall(results, contender.id, shape);
	return row(contender, [{ parts: [{ value: figure && pick(figure), tone: toneOf(contender.kind) }] }]);
}

function row(contender: ContenderDescription, bars: readonly Bar[]): BarRow {
	return { label: contender.label, accent: contender.kind === 'product', bars };
}

function sentence(text: string): string {
	return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
