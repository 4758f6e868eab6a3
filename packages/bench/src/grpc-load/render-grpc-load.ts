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

/** The tables of docs/integrations/grpc.md. The same results give the same bytes. */
export function renderGrpcLoadTables({ ways, settings }: GrpcLoadResults): string {
	const shares = markdownTable(
		columnsOf(1, [
			'share of the requests',
			...(ways[0] as WayResult).shares.map((_, index) => `employee ${index + 1}`),
			'requests a second',
			'failed',
		]),
		ways.map(({ way, shares, requestsPerSecond, failed }) => [
			NAMES[way],
			...shares.map(percent),
			formatNumber(requestsPerSecond),
			formatCount(failed),
		]),
	);
	const percentiles = Object.keys((ways[0] as WayResult).latencyMs);
	const latency = markdownTable(
		columnsOf(1, ['time of a request (ms)', ...percentiles]),
		ways.map(({ way, latencyMs }) => [
			NAMES[way],
			...percentiles.map((name) => formatNumber(latencyMs[name] as number)),
		]),
	);
	const change = markdownTable(
		columnsOf(1, ['one killed, one added', 'requests', 'failed', 'even shares after (ms)']),
		ways.map(({ way, change }) => [
			NAMES[way],
			formatCount(change.requests),
			formatCount(change.failed),
			change.evenAfterMs === null ? 'never' : formatNumber(change.evenAfterMs),
		]),
	);
	const after = `The registry notices ${settings.noticeMs} ms after the kill, and learns of the new one in that moment; the last column counts from there.`;
	return [shares, latency, change, after].join('\n\n');
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

function percent(share: number): string {
	return `${formatNumber(share * 100)} %`;
}
