import { type BarPanel, type BarRow, drawBarChart } from '../report/bar-chart.ts';
import { formatCount, formatNumber, formatTick } from '../report/format-number.ts';
import { columnsOf, markdownTable } from '../report/markdown.ts';
import type { GrpcLoadResults, WayName, WayResult } from './grpc-load-results.ts';

const NAMES: Readonly<Record<WayName, string>> = {
	single: 'a single channel',
	'per-request': 'a channel for each request',
	pool: 'GrpcPool',
	resolver: 'the resolver',
};
/** The ways of this project. */
const OWN: ReadonlySet<WayName> = new Set<WayName>(['pool', 'resolver']);

/** The table of docs/integrations/grpc.md. The same results give the same bytes. */
export function renderGrpcLoadTable({ ways, settings }: GrpcLoadResults): string {
	const table = markdownTable(
		columnsOf(1, [
			'way',
			'share of each instance (%)',
			'requests a second',
			'p50 (ms)',
			'p99 (ms)',
			'failed',
			'failed at the kill',
			'even shares after (ms)',
		]),
		ways.map(({ way, shares, requestsPerSecond, latencyMs, failed, change }) => [
			NAMES[way],
			spreadOf(shares),
			...[requestsPerSecond, latencyMs['p50'] as number, latencyMs['p99'] as number].map(formatNumber),
			...[failed, change.failed].map(formatCount),
			change.evenAfterMs === null ? 'never' : formatNumber(change.evenAfterMs),
		]),
	);
	const after = `The registry notices ${settings.noticeMs} ms after the kill, and learns of the new one in that moment; the last column counts from there.`;
	return [table, after].join('\n\n');
}

/** The plots by file name. */
export function drawGrpcLoad(results: GrpcLoadResults): Readonly<Record<string, string>> {
	return { 'grpc-shares.svg': drawShares(results), 'grpc-latency.svg': drawLatency(results) };
}

function drawShares(results: GrpcLoadResults): string {
	const panels = results.ways.map(
		({ way, shares }): BarPanel => ({
			heading: NAMES[way],
			rows: shares.map((share, index) => bar(`employee ${index + 1}`, way, share * 100)),
		}),
	);
	return drawBarChart({
		title: 'Which instance the requests reach',
		note: `${results.settings.employees} instances; even shares are ${formatNumber(100 / results.settings.employees)} % each.`,
		subtitle: subtitle(results),
		sections: [
			{
				axisLabel: 'share of the requests (%)',
				scale: 'linear',
				format: (value) => `${formatNumber(value)} %`,
				formatTick,
				panels,
			},
		],
	});
}

function drawLatency(results: GrpcLoadResults): string {
	const { inFlight, workMs } = results.settings;
	const names = Object.keys((results.ways[0] as WayResult).latencyMs);
	const panels = names.map(
		(name): BarPanel => ({
			heading: name,
			rows: results.ways.map(({ way, latencyMs }) => bar(NAMES[way], way, latencyMs[name])),
		}),
	);
	return drawBarChart({
		title: 'How long a request takes',
		note: `${inFlight} at a time; an instance does one after the other, each in ${workMs} ms. Shorter is better.`,
		subtitle: subtitle(results),
		sections: [
			{
				axisLabel: 'time of a request (ms)',
				scale: 'linear',
				format: (value) => `${formatNumber(value)} ms`,
				formatTick,
				panels,
			},
		],
	});
}

function bar(label: string, way: WayName, value: number | undefined): BarRow {
	const accent = OWN.has(way);
	return { label, accent, bars: [{ parts: [{ value, tone: accent ? 'product' : 'peer' }] }] };
}

function subtitle({ machine, node, takenAt, settings }: GrpcLoadResults): string {
	return `${formatCount(settings.requests)} requests · ${machine.processor}, ${machine.cores} cores · Node ${node} · ${takenAt.slice(0, 10)}`;
}

/** The least and the most, in per cent. */
function spreadOf(shares: readonly number[]): string {
	const [least, most] = [Math.min(...shares), Math.max(...shares)].map((share) => formatNumber(share * 100));
	return least === most ? `${least}` : `${least} to ${most}`;
}
