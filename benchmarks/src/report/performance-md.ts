import type { BenchResults } from '../results.ts';
import { renderCallTable, renderGrpcFrontTable, renderNodeVersionTable } from './call-tables.ts';
import { contendersOf } from './contenders.ts';
import { formatCount, NOT_MEASURED } from './format-number.ts';
import { formatGoalBound, formatGoalValue, judgeGoals } from './goals.ts';
import {
	renderConnectionsTable,
	renderConnectPerCallTable,
	renderEventsTable,
	renderInFlightTable,
	renderLookupsTable,
	renderRegistryTable,
	renderStartUpTable,
	renderWatchersTable,
} from './growth-tables.ts';
import { markdownTable, oneLine } from './markdown.ts';
import { kernelName, nodeName } from './plot-head.ts';
import { PLOTS } from './plots.ts';

/** The parts of the page that a person writes, in Markdown. */
export interface PerformanceProse {
	/** The section "What limits us now", without its heading. */
	readonly whatLimitsUs: string;
}

/** The whole of docs/PERFORMANCE.md. The same results and prose give the same bytes. */
export function renderPerformanceMarkdown(results: BenchResults, prose: PerformanceProse): string {
	const blocks = [
		'<!-- Made by the bench from its result file: do not edit. `npm run bench render` makes it again. -->',
		'# Performance',
		plot('latency-readme.svg'),
		renderOrigin(results),
		REPRODUCTION,
		'## Goals',
		renderGoals(results),
		'## What limits us now',
		prose.whatLimitsUs.trim() === '' ? 'Nothing was written about this run.' : prose.whatLimitsUs.trim(),
		'## Who was measured',
		renderContenders(results),
		'## Calls by load',
		CALLS_EXPLAINED,
		renderCallTable(results),
		...['latency-by-shape.svg', 'throughput.svg', 'cpu-per-call.svg', 'busy-node.svg'].map(plot),
		...renderGrowth(results),
		'## What was left out',
		renderLeftOut(results),
	];
	return `${blocks.join('\n\n')}\n`;
}

const REPRODUCTION = [
	'```sh',
	'npm run bench             # the whole run: writes the result file, this page and its plots',
	'npm run bench -- --quick  # a short run with rough figures, to notice regressions',
	'npm run bench render      # this page and its plots again, from the result file',
	'```',
	'',
	'Absolute figures differ between machines and, on a shared one, between hours. Ratios to the echo of the same run vary less, so most',
	'goals are ratios. [results.json](performance/results.json) also has what the tables leave out.',
	'',
	'Pages of their own: [events to a store, and peers that are killed](performance/events.md); [changes in Consul](performance/consul.md);',
	'[thousands of sidecars](performance/scale.md); [rolling restarts](integrations/rolling-restart.md).',
].join('\n');

const CALLS_EXPLAINED = [
	'Client and server are two processes. Contenders take turns within each round; each figure is the median over the rounds. At a fixed',
	'rate (5,000/s, 20,000/s) latency counts from the moment the call was due, so it includes waiting. CPU is the processor time of',
	'one call, in all threads of both processes.',
].join('\n');

function renderOrigin(results: BenchResults): string {
	const { processor, cores, memoryMb, kernel } = results.machine;
	const versions = Object.entries(results.versions).sort(([a], [b]) => (a < b ? -1 : 1));
	const quick = results.quick ? ' in a quick run, so the figures are rough' : '';
	return [
		`Taken on ${results.takenAt.slice(0, 10)}, commit \`${results.commit}\`${quick}: ${processor}, ${formatCount(cores)} ${cores === 1 ? 'core' : 'cores'},`,
		`${formatCount(memoryMb)} MB; ${kernelName(kernel)}; ${nodeName(results.node)};`,
		`${versions.map(([name, version]) => `${name} ${version}`).join(', ')}.`,
	].join('\n');
}

function renderGoals(results: BenchResults): string {
	const findings = judgeGoals(results);
	const count = (verdict: string): string =>
		formatCount(findings.filter((finding) => finding.verdict === verdict).length);
	const rows = findings.map(({ figure, part, measured, verdict }) => [
		figure,
		part.what,
		measured === undefined ? NOT_MEASURED : formatGoalValue(part, measured),
		formatGoalBound(part, part.floor),
		formatGoalBound(part, part.goal),
		verdict === 'missed' ? '**missed**' : verdict,
	]);
	return [
		'Both bounds were set before the product was built: the floor is what a bare prototype reached, the goal is beyond it.\n' +
			`Of ${formatCount(findings.length)} figures ${count('goal')} reach the goal, ${count('floor')} the floor alone, ` +
			`${count('missed')} neither${findings.some(({ verdict }) => verdict === 'not measured') ? `; ${count('not measured')} were not measured` : ''}.`,
		markdownTable(
			['Figure', 'Part', 'Measured', 'Floor', 'Goal', 'Verdict'].map((heading, index) => ({
				heading,
				align: index >= 2 && index <= 4 ? 'right' : 'left',
			})),
			rows,
		),
	].join('\n\n');
}

function renderContenders(results: BenchResults): string {
	const measured = new Set([...results.calls, ...results.connectPerCall].map((figure) => figure.contender));
	const lines = contendersOf(results).map(({ id, label, what }) => {
		const absence = measured.has(id) ? '' : ` (${NOT_MEASURED} in this run)`;
		return `- **${oneLine(label)}**: ${oneLine(what)}${absence}.`;
	});
	return lines.join('\n');
}

function renderGrowth(results: BenchResults): string[] {
	return [
		'## Versions of Node',
		renderNodeVersionTable(results),
		'## The gRPC front',
		'`Get` of `spock.v1.Discovery`, beside the native protocol and beside gRPC servers with one fixed answer.',
		renderGrpcFrontTable(results),
		'## Many connections',
		'The same total rate of calls, spread over all connections to one sidecar.',
		plot('connections.svg'),
		renderConnectionsTable(results),
		'## Many calls in flight',
		'On one connection. RSS is the largest during the round.',
		plot('in-flight.svg'),
		renderInFlightTable(results),
		'## Large registries',
		'The client subscribes to everything in the registry.',
		plot('registry.svg'),
		renderRegistryTable(results),
		'## Changes to watchers',
		'What Spock adds, until the last watching client has the snapshot, to a bare blocking query that sees the same change in Consul.',
		plot('watchers.svg'),
		renderWatchersTable(results),
		'## A connection for each call',
		renderConnectPerCallTable(results),
		'## Lookups within the process',
		renderLookupsTable(results),
		'## Events',
		'Beside each figure the least that the same run takes for it: its JSON, an echo and a write with fdatasync, a loop of such writes, reading the files.',
		renderEventsTable(results),
		'## Start-up',
		renderStartUpTable(results),
	];
}

function renderLeftOut(results: BenchResults): string {
	if (results.leftOut.length === 0) return 'Nothing: the run is complete.';
	return results.leftOut.map(({ what, why }) => `- ${oneLine(what)}: ${oneLine(why)}`).join('\n');
}

function plot(file: string): string {
	const found = PLOTS.find((candidate) => candidate.file === file);
	if (found === undefined) throw new Error(`there is no plot ${file}`);
	return `![${found.alternative}](performance/${file})`;
}
