import { formatCount, formatNumber } from '../report/format-number.ts';
import { columnsOf, markdownTable } from '../report/markdown.ts';
import type { WayName } from './rolling-messages.ts';
import { failed, type RollingResults, type ScenarioResult, type WayResult } from './rolling-results.ts';
import { WAYS } from './ways/ways.ts';

/** The whole of docs/integrations/rolling-restart.md. The same results give the same bytes. */
export function renderRollingMarkdown(results: RollingResults): string {
	const { takenAt, commit, quick, machine, node, versions, scenarios } = results;
	const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
	const blocks = [
		'<!-- Made by the bench from rolling.json: do not edit. `npm run bench rolling render` makes it again. -->',
		'# A rolling restart under load',
		[
			`Taken on ${takenAt.slice(0, 10)}, commit \`${commit}\`${quick ? ', a quick run: the figures are rough' : ''}. ${machine.processor}, ${machine.cores} cores, shared by all processes;`,
			`Node ${node}, ${packages.join(', ')}. \`npm run bench rolling\` takes about four minutes, writes this page, and fails`,
			'if a way of Spock fails a request.',
		].join('\n'),
		HOW,
		renderSettings(scenarios),
		'## Failed requests, and in brackets those tried again',
		renderOutcomes(scenarios),
		...renderCost(scenarios),
		...LIMITS,
	];
	return `${blocks.join('\n\n')}\n`;
}

const HOW = [
	'Every instance is a process that serves HTTP (`node:http`) and gRPC (grpc-js), and registers both through a sidecar. They are replaced',
	'in turn, as Kubernetes does it: a new one starts and registers; the old one gets SIGTERM, deregisters (`diplomat.drain()`), serves on for',
	'the time of its preStop hook, ends what is under way, and exits. Requests come at a fixed rate, and latency counts from when one was due.',
	'Clients that try again do so at most twice. *DNS round robin* takes addresses from a name server that learns of every change at once, and',
	'uses them for their time to live (5 s is what CoreDNS gives services of Kubernetes); for gRPC it is a resolver with the same time to live.',
].join('\n');

const LIMITS: readonly string[] = [
	'## What it does not show',
	[
		'- An address that is gone refuses at once here. In a cluster it is mostly silent, and each attempt takes the whole connection time-out:',
		'  worse for DNS, and no different for Spock, which does not try.',
		'- A preStop time beyond the time to live hides what DNS does not know, at the price of a slower restart, and only from clients that keep',
		'  to it.',
		'- When an instance dies without deregistering, Spock needs its retries too: [Integrations](README.md#another-instance-at-the-next-try).',
	].join('\n'),
];

/** What became of the requests of each way, in each scenario. */
function renderOutcomes(scenarios: readonly ScenarioResult[]): string {
	const rows = waysOf(scenarios).map((name) => [
		WAYS[name].title,
		WAYS[name].protocol,
		formatCount(scenarios.reduce((sum, { ways }) => sum + (resultOf(ways, name)?.requests ?? 0), 0)),
		...scenarios.map(({ ways }) => outcomeOf(name, resultOf(ways, name))),
	]);
	return markdownTable(columnsOf(2, ['way', '', 'requests', ...scenarios.map(titleOf)]), rows);
}

/** What a request costs in the first scenario; it hardly differs in the others. */
function renderCost([first]: readonly ScenarioResult[]): string[] {
	if (first === undefined) return [];
	const rows = first.ways.map((result) => [
		WAYS[result.way].title,
		...[result.p50Ms, result.p99Ms].map(formatNumber),
		sharesOf(result),
		formatNumber(result.processorUs),
	]);
	return [
		`## Latency, spread and cost: ${titleOf(first)}`,
		'Share is the least and the most that any instance got; CPU is that of the client for a request.',
		markdownTable(columnsOf(1, ['way', 'p50 (ms)', 'p99 (ms)', 'share of each (%)', 'CPU (µs)']), rows),
	];
}

function waysOf(scenarios: readonly ScenarioResult[]): WayName[] {
	return [...new Set(scenarios.flatMap(({ ways }) => ways.map(({ way }) => way)))];
}

function resultOf(ways: readonly WayResult[], name: WayName): WayResult | undefined {
	return ways.find(({ way }) => way === name);
}

function outcomeOf(way: WayName, result: WayResult | undefined): string {
	if (result === undefined) return '';
	const failures = failed(result);
	const text = failures === 0 ? '**0**' : formatCount(failures);
	return way === 'dns-http-once' || result.retries === 0 ? text : `${text} (${formatCount(result.retries)})`;
}

function titleOf({ order, preStopMs, dnsTtlMs }: ScenarioResult): string {
	const preStop = preStopMs === 0 ? 'no preStop' : `preStop ${seconds(preStopMs)} s`;
	if (order === 'in-place') return `same port, ${preStop}`;
	return preStopMs > dnsTtlMs ? `${preStop}, over the time to live` : preStop;
}

function renderSettings([first]: readonly ScenarioResult[]): string {
	if (first === undefined) return '';
	const { instances, restarts, rate, workMs, pauseMs, dnsTtlMs } = first;
	const work = workMs === 0 ? '' : `, ${workMs} ms of work each`;
	return [
		`${instances} instances, each replaced ${timesOf(restarts)}, ${seconds(pauseMs)} s apart; ${formatCount(rate)} requests a second by each`,
		`client${work}; DNS time to live ${seconds(dnsTtlMs)} s.`,
	].join(' ');
}

function sharesOf({ shares }: WayResult): string {
	const percents = shares.map((share) => share * 100);
	return `${Math.min(...percents).toFixed(1)} to ${Math.max(...percents).toFixed(1)}`;
}

function timesOf(count: number): string {
	return ['never', 'once', 'twice'][count] ?? `${count} times`;
}

function seconds(ms: number): string {
	return String(ms / 1000);
}
