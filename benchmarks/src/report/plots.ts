import type { BenchResults } from '../results.ts';
import { drawBusyNode, drawCpuPerCall, drawLatencyByShape, drawReadmeLatency, drawThroughput } from './call-plots.ts';
import { drawConnections, drawInFlight, drawRegistry, drawWatchers } from './growth-plots.ts';

/** A plot of the report. */
export interface Plot {
	/** Its file within docs/performance. */
	readonly file: string;
	/** What a reader who does not see it is told. */
	readonly alternative: string;
	readonly draw: (results: BenchResults) => string;
}

/** Every plot, in the order of the page. */
export const PLOTS: readonly Plot[] = [
	{
		file: 'latency-readme.svg',
		alternative: 'Bars: median time of one lookup call by contender',
		draw: drawReadmeLatency,
	},
	{
		file: 'latency-by-shape.svg',
		alternative: 'Bars: median latency by load and contender',
		draw: drawLatencyByShape,
	},
	{
		file: 'throughput.svg',
		alternative: 'Bars: calls a second with 64 and 1024 calls in flight, by contender',
		draw: drawThroughput,
	},
	{
		file: 'cpu-per-call.svg',
		alternative: 'Bars: processor time of one call in client and server, by contender',
		draw: drawCpuPerCall,
	},
	{
		file: 'busy-node.svg',
		alternative: 'Bars: p50 and p99 on an idle and on a busy node, by contender',
		draw: drawBusyNode,
	},
	{
		file: 'connections.svg',
		alternative: 'Lines: p99 and memory of each connection by number of connections',
		draw: drawConnections,
	},
	{
		file: 'in-flight.svg',
		alternative: 'Lines: calls a second and memory by number of calls in flight',
		draw: drawInFlight,
	},
	{
		file: 'registry.svg',
		alternative: 'Bars: memory of the sidecar and cost of a push by size of the registry',
		draw: drawRegistry,
	},
	{
		file: 'watchers.svg',
		alternative: 'Lines: time added to a bare blocking query by number of watching clients',
		draw: drawWatchers,
	},
];

/** Every plot as SVG text, by file name. The same results give the same bytes. */
export function renderPlots(results: BenchResults): ReadonlyMap<string, string> {
	return new Map(PLOTS.map((plot) => [plot.file, plot.draw(results)]));
}
