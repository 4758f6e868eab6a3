import { formatCount, formatNumber } from '../report/format-number.ts';
import { columnsOf, markdownTable } from '../report/markdown.ts';
import { failed, type RollingResults, type ScenarioResult, type WayResult } from './rolling-results.ts';
import { WAYS, type WayName } from './ways/ways.ts';

/** The whole of docs/integrations/rolling-restart.md. The same results give the same bytes. */
export function renderRollingMarkdown(results: RollingResults): string {
	const { takenAt, commit, quick, machine, node, versions, scenarios } = results;
	const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
	const blocks = [
		'<!-- Made by the bench from rolling.json: do not edit. `pnpm bench:rolling render` makes it again. -->',
		'# A rolling restart under load',
		[
			`Taken ${takenAt}, commit \`${commit}\`, ${quick ? 'a quick run: the figures are rough' : 'a complete run'}.`,
			`${machine.processor}, ${machine.cores} cores, shared by all processes; Node ${node}, ${packages.join(', ')}.`,
			'`pnpm bench:rolling` takes about four minutes and writes this page; it fails if a way of Spock fails a request.',
		].join('\n'),
		...HOW,
		'## All restarts together',
		renderTotals(scenarios),
		'CPU is that of the client for a request; share is the least and the most that any instance got.',
		...scenarios.flatMap((scenario) => [`## ${titleOf(scenario)}`, renderSettings(scenario), renderWays(scenario)]),
		...LIMITS,
	];
	return `${blocks.join('\n\n')}\n`;
}

const HOW: readonly string[] = [
	[
		'Every instance is a process that serves HTTP (`node:http`) and gRPC (grpc-js), and registers both through a sidecar. They are replaced',
		'in turn, as Kubernetes does it: a new one is started at ports of its own and registers; the old one gets SIGTERM, deregisters',
		'(`diplomat.drain()`), goes on serving for the time of its preStop hook, takes no more connections, ends what is under way, and exits.',
	].join('\n'),
	[
		'All clients, each a process too, go through the same restarts, with requests at a fixed rate; latency counts from when a request was',
		'due. Those that try again do so at most twice. *DNS round robin* takes addresses from a name server that hears of every change at once,',
		'and uses them for their time to live (5 s is what CoreDNS gives services of Kubernetes), in turn over kept connections. For gRPC it is a',
		'resolver that asks when grpc-js does (at the start, and when a connection is lost), but not again within the time to live; the `dns:` of',
		'grpc-js itself waits for 30 s.',
	].join('\n'),
];

const LIMITS: readonly string[] = [
	'## What it does not show',
	[
		'- An address that is gone refuses at once here. In a cluster it is mostly silent, and each attempt takes the whole time-out for a',
		'  connection: worse for DNS, and no different for Spock, which does not try.',
		'- A preStop time beyond the time to live hides what DNS does not know, at the price of a slower restart, and only from clients that keep to it.',
		'- When an instance dies without deregistering, Spock needs its retries too: [Integrations](README.md).',
		'- All processes share one busy machine: compare latencies within a table only.',
	].join('\n'),
];

/** Of each way, over all scenarios. */
function renderTotals(scenarios: readonly ScenarioResult[]): string {
	const columns = columnsOf(2, ['way', '', 'requests', 'failed', 'tried again']);
	const names = new Set(scenarios.flatMap(({ ways }) => ways.map(({ way }) => way)));
	const rows = [...names].map((name) => {
		const results = scenarios.flatMap(({ ways }) => ways.filter(({ way }) => way === name));
		const sum = (figure: (result: WayResult) => number): number =>
			results.reduce((total, result) => total + figure(result), 0);
		return [
			WAYS[name].title,
			WAYS[name].protocol,
			formatCount(sum((result) => result.requests)),
			...outcomeCells(
				name,
				sum(failed),
				sum((result) => result.retries),
			),
		];
	});
	return markdownTable(columns, rows);
}

function outcomeCells(way: WayName, failures: number, retries: number): string[] {
	const triedAgain = way === 'dns-http-once' ? 'never' : formatCount(retries);
	return [failures === 0 ? '**0**' : formatCount(failures), triedAgain];
}

function titleOf({ order, preStopMs, dnsTtlMs }: ScenarioResult): string {
	const preStop = preStopMs === 0 ? 'no preStop' : `preStop of ${seconds(preStopMs)} s`;
	if (order === 'in-place') return `In place at the same port, ${preStop}`;
	return preStopMs > dnsTtlMs ? `${capital(preStop)}, longer than the time to live` : capital(preStop);
}

function renderSettings(scenario: ScenarioResult): string {
	const { instances, restarts, rate, workMs, pauseMs, dnsTtlMs } = scenario;
	const work = workMs === 0 ? '' : `, ${workMs} ms of work each`;
	return [
		`${instances} instances, replaced ${timesOf(restarts)} in ${formatNumber(scenario.seconds)} s, ${seconds(pauseMs)} s apart;`,
		`${formatCount(rate)} requests a second by each client${work}; DNS time to live ${seconds(dnsTtlMs)} s.`,
	].join(' ');
}

function renderWays({ ways }: ScenarioResult): string {
	const columns = columnsOf(1, [
		'way',
		'failed',
		'tried again',
		'p50 (ms)',
		'p99 (ms)',
		'share of each (%)',
		'CPU (µs)',
	]);
	const rows = ways.map((result) => [
		WAYS[result.way].title,
		...outcomeCells(result.way, failed(result), result.retries),
		...[result.p50Ms, result.p99Ms].map(formatNumber),
		sharesOf(result),
		formatNumber(result.processorUs),
	]);
	const failures = ways.filter((result) => failed(result) > 0).map((result) => `- ${renderFailures(result)}`);
	const table = markdownTable(columns, rows);
	return failures.length === 0 ? table : `${table}\n\n${failures.join('\n')}`;
}

function sharesOf({ shares }: WayResult): string {
	const percents = shares.map((share) => share * 100);
	return `${Math.min(...percents).toFixed(1)} to ${Math.max(...percents).toFixed(1)}`;
}

function renderFailures({ way, failures }: WayResult): string {
	const errors = Object.entries(failures).map(([error, count]) => `${formatCount(count)} ${error}`);
	return `${WAYS[way].title}: ${errors.join(', ')}`;
}

function timesOf(count: number): string {
	return ['never', 'once', 'twice'][count] ?? `${count} times`;
}

function seconds(ms: number): string {
	return String(ms / 1000);
}

function capital(text: string): string {
	return text.replace(/^./, (letter) => letter.toUpperCase());
}
