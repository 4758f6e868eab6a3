import { formatCount, formatNumber, formatRatio, NOT_MEASURED } from '../report/format-number.ts';
import { formatGoalBound, formatGoalValue } from '../report/goals.ts';
import { columnsOf, markdownTable } from '../report/markdown.ts';
import { judgeScale, type ScaleFinding } from './scale-goals.ts';
import { reasonsFor } from './scale-reasons.ts';
import type { ConsulLoad, PushLoad } from './scale-results.ts';
import { ROWS, type RowName, type ScaleFigures, type ScaleResults } from './scale-results.ts';

/** The whole of docs/performance/scale.md. The same results give the same bytes. */
export function renderScaleMarkdown(results: ScaleResults): string {
	const { machine, consul } = results;
	const findings = judgeScale(results);
	const count = (verdict: string): number => findings.filter((finding) => finding.verdict === verdict).length;
	const unmeasured = count('not measured');
	const reasons = reasonsFor(results, findings);
	const blocks = [
		'<!-- Made by the bench from scale.json: do not edit. `npm run bench:scale -- render` makes it again. -->',
		'# Scale: thousands of sidecars, large services, node Spocks',
		[
			`${machine.processor}, ${machine.cores} cores; Consul ${consul}, one server on the same machine. \`npm run bench:scale\` writes this page, \`--only NAMES\``,
			'measures some rows again. A *node Spock* is one that many pods share ([which way to run it](../guide/which-way.md)).',
		].join('\n'),
		[
			'Floors and goals were set before the product was built.',
			`Of ${findings.length} figures ${count('goal')} reach the goal, ${count('floor')} the floor alone, ${count('missed')} neither${unmeasured > 0 ? `; ${unmeasured} were not measured` : ''}.`,
			'*Used by others* is what processes that have nothing to do with a row took of the machine’s processors while it was measured.',
		].join('\n'),
		renderFindings(results, findings),
		...(reasons.length === 0 ? [] : ['## Where a floor is missed', reasons.join('\n')]),
		'## How each row was measured',
		...(Object.keys(ROWS) as RowName[]).flatMap((name) => renderRow(results, name)),
	];
	return `${blocks.join('\n\n')}\n`;
}

function renderFindings(results: ScaleResults, findings: readonly ScaleFinding[]): string {
	const rows = findings.map(({ goal, measured, verdict }) => {
		const taken = results.rows[goal.row];
		return [
			goal.figure,
			goal.what,
			textOf(goal, measured),
			formatGoalBound(goal, goal.floor),
			formatGoalBound(goal, goal.goal),
			verdict === 'missed' ? '**missed**' : verdict,
			taken === undefined ? '–' : `${formatCount(taken.othersShare * 100)} %`,
		];
	});
	const columns = ['figure', 'part', 'measured', 'floor', 'goal', 'verdict', 'used by others'].map(
		(heading, index) => ({
			heading,
			align: (index >= 2 && index <= 4) || index === 6 ? ('right' as const) : ('left' as const),
		}),
	);
	return markdownTable(columns, rows);
}

function textOf(goal: ScaleFinding['goal'], measured: number | undefined): string {
	if (measured === undefined || Number.isNaN(measured)) return NOT_MEASURED;
	return measured === Number.POSITIVE_INFINITY ? 'never' : formatGoalValue(goal, measured);
}

function renderRow({ rows }: ScaleResults, name: RowName): string[] {
	const taken = rows[name];
	if (taken === undefined) return [];
	const { takenAt, commit, node, quick, seconds, figure } = taken;
	const origin = `Taken on ${takenAt.slice(0, 10)}, commit \`${commit}\`, Node ${node}${quick ? ', a quick run: the figures mean nothing' : ''}, in ${formatCount(seconds)} s.`;
	const describe = DESCRIPTIONS[name] as (figure: ScaleFigures[RowName]) => readonly string[];
	const [words = '', ...tables] = describe(figure);
	const [first = '', ...rest] = ROWS[name];
	return [`### ${first.toUpperCase()}${rest.join('')}`, `${words}\n${origin}`, ...tables];
}

/** What the table does not say, in words, and then tables. */
const DESCRIPTIONS: { readonly [Name in RowName]: (figure: ScaleFigures[Name]) => readonly string[] } = {
	'held-queries': ({ sidecars, ownProcesses, nodes, services, through, without }) => [
		[
			`${formatCount(sidecars)} sidecars watch the same ${services} services, each for one app, through ${nodes} node Spocks and then each by itself. Behind the node Spocks`,
			`${formatCount(ownProcesses)} sidecars are a process each, as many as fit into a part of the memory; the others share processes by hundreds, each with its own sockets, cache and app.`,
			'Proxies in front of Consul count the blocking queries that wait there, and all requests while nothing changes.',
		].join('\n'),
		markdownTable(
			columnsOf(1, ['', 'held queries', 'queries that failed', 'connections', 'requests a minute', 'counted for (s)']),
			[loadRow('through node Spocks', through), loadRow('each by itself', without)],
		),
	],
	'many-services': ({ watched, gapMs, spock, bare }) => [
		[
			`A sidecar with its defaults watches ${formatCount(watched)} services for one client; bare blocking queries watch as many others in the same process.`,
			`Every ${gapMs} ms a service of the one kind and then of the other changes. What is added is the difference of the percentiles. This Consul allows 15,000`,
			'connections of one client, and so a query of its own for each service; where it allows fewer, the sidecar may have to [poll](../guide/consul.md#sizing).',
		].join('\n'),
		markdownTable(columnsOf(1, ['', 'changes', 'unseen', 'p50 (ms)', 'p99 (ms)', 'longest (ms)']), [
			[
				'bare queries',
				formatCount(bare.changes),
				formatCount(bare.unseen),
				...[bare.p50Ms, bare.p99Ms, bare.maxMs].map(formatNumber),
			],
			[
				'Spock',
				formatCount(spock.changes),
				formatCount(spock.unseen),
				...[spock.p50Ms, spock.p99Ms, spock.maxMs].map(formatNumber),
			],
		]),
	],
	'second-hop': (figure) => [
		[
			`${formatCount(figure.changes)} changes, of which ${formatCount(figure.unseen)} were not seen. One process has a client at the node Spock and one at a sidecar that asks it; what is added`,
			'is of each change, from the one client’s snapshot to the other’s.',
		].join('\n'),
		markdownTable(columnsOf(1, ['from the change on', 'p50 (ms)', 'p99 (ms)']), [
			['behind one Spock', formatNumber(figure.oneP50Ms), formatNumber(figure.oneP99Ms)],
			['behind two', formatNumber(figure.twoP50Ms), formatNumber(figure.twoP99Ms)],
			['added', formatNumber(figure.addedP50Ms), formatNumber(figure.addedP99Ms)],
		]),
	],
	'push-bytes': ({ instances, changes, wholeBytes, changeBytes, features }) => [
		[
			`${changes} changes of one instance each in a service of ${formatCount(instances)}, counted between the sidecar and a client of this build, which names`,
			`the features ${features.map((feature) => `\`${feature}\``).join(', ')}. The first snapshot has ${formatCount(wholeBytes)} bytes, a change ${formatCount(changeBytes)} on average.`,
		].join('\n'),
	],
	'push-cpu': ({ instances, watchers, changesASecond, consul, memory, tls }) => [
		[
			`${formatCount(watchers)} connections that said what a client of this build says, and read what comes without looking at it, in a process of their own; ${changesASecond} changes`,
			`a second in a service of ${formatCount(instances)} instances. Over a real Consul, a watch asks at most once a second, reads the whole service, and pushes what has changed since.`,
			'With a list in its process as the registry, a Spock pushes each change by itself.',
		].join('\n'),
		markdownTable(
			columnsOf(1, [
				'registry',
				'seconds',
				'changes',
				'last one seen',
				'watchers closed',
				'CPU (% of a core)',
				'pushed (MB/s)',
				'RSS (MB)',
			]),
			[
				...(
					[
						['Consul', consul],
						['a list', memory],
						...(tls === undefined ? [] : ([['a list, TLS', tls]] as const)),
					] as readonly (readonly [string, PushLoad])[]
				).map(([registry, load]) => [
					registry,
					formatNumber(load.seconds),
					formatCount(load.changes),
					load.isSeen ? 'yes' : 'no',
					formatCount(load.closed),
					formatNumber(load.cpuPercent),
					formatNumber(load.megabytesASecond),
					formatNumber(load.rssMb),
				]),
			],
		),
	],
	'large-service': (figure) => [
		[
			`A services file with ${formatCount(figure.instances)} instances of one service, a sidecar and a client with their defaults. The client has ${formatCount(figure.served)} of them${figure.isLive ? ', live' : ''}${figure.isOversize ? ', marked `oversize`' : ''},`,
			`after ${formatNumber(figure.firstMs)} ms${figure.error === null ? '' : `: ${figure.error.split(':', 1)[0]}`}.`,
			...(figure.served === 0
				? []
				: [
						`They take ${formatNumber(figure.clientHeapMb)} MB of its heap after a forced collection; its resident memory grew by ${formatNumber(figure.clientRssMb)} MB.`,
					]),
		].join('\n'),
	],
	'pod-memory': ({ services, instancesEach, pods, socket, tls }) => [
		[
			`How much a node Spock grows with each of ${formatCount(pods)} further apps, each with a connection and ${services} watched services of ${instancesEach} instances, after a forced`,
			'collection. Judged is the resident memory.',
		].join('\n'),
		markdownTable(columnsOf(1, ['', 'RSS (KB)', 'heap (KB)']), [
			['unix socket', formatNumber(socket.rssKb), formatNumber(socket.heapKb)],
			['TLS', formatNumber(tls.rssKb), formatNumber(tls.heapKb)],
		]),
	],
	simulation: (figure) => [
		[
			`The simulation runs ${formatCount(figure.pods)} pods on ${formatCount(figure.nodes)} nodes${figure.hasSidecars ? ', each pod with a sidecar of its own that asks its node’s,' : ''} in one process: real clients and sidecars, a simulated`,
			'network and registry. Time is virtual, and processors take none of it: what it shows is waits and rounds, not load. All pods watch the service that changes; each',
			`looks a service up ten times a second. Then it changes again, and ${formatCount(figure.killed)} node Spocks are killed in that moment, to run again after 0.5 to 1.5 s.`,
			`It took ${formatNumber(figure.wallSeconds)} s, ${formatCount(figure.events)} events and ${formatCount(figure.memoryMb)} MB.`,
		].join('\n'),
		markdownTable(columnsOf(1, ['virtual ms until views agree', '50 %', '99 %', 'all']), [
			['after a change', ...[figure.agree50Ms, figure.agree99Ms, figure.agreeAllMs].map(formatMs)],
			['with node Spocks killed', '–', ...[figure.killed99Ms, figure.killedAllMs].map(formatMs)],
		]),
		`${formatCount(figure.lookups)} lookups, of which ${formatCount(figure.failedLookups)} failed.`,
	],
	picks: ({ instances, rounds, plainNs, local, spilled, subset, both }) => [
		[
			`\`pick()\` of a service of ${instances} instances, of which half are in zone a, three tenths in b and a fifth in c. Ways take turns within each of ${rounds} rounds; each ratio is`,
			`the median of the rounds’. A plain pick takes ${formatNumber(plainNs)} ns. *Spilled* is a client in zone c, of which a part of the work goes to other zones.`,
		].join('\n'),
		markdownTable(columnsOf(1, ['', 'to a plain pick']), [
			['zones, all in the local one', formatRatio(local)],
			['zones, spilled over', formatRatio(spilled)],
			['a subset of 20', formatRatio(subset)],
			['spilled over, and a subset of 20', formatRatio(both)],
		]),
	],
	reconnects: ({ connections, services, restarts }) => [
		[
			`A node Spock over a real Consul, with ${formatCount(connections)} clients of ${services} services in one process, is killed (SIGKILL) and started again at once. Times run from its first connection`,
			'on; a client is back when it is connected and all its answers are live. All clients pick fifty times a second meanwhile; another process makes one call over the wire after the',
			'other. CPU is that of the new process from its first connection on. All of it shares two cores, the clients included.',
		].join('\n'),
		markdownTable(
			columnsOf(1, [
				'restart',
				'away (ms)',
				'all back (ms)',
				'CPU (ms)',
				'calls',
				'call p50 (ms)',
				'call p99 (ms)',
				'failed lookups',
			]),
			restarts.map((restart, index) => [
				formatCount(index + 1),
				...[restart.awayMs, restart.backMs, restart.cpuMs].map(formatNumber),
				formatCount(restart.calls),
				...[restart.callP50Ms, restart.callP99Ms].map(formatNumber),
				formatCount(restart.failedLookups),
			]),
		),
	],
	ways: ({
		services,
		instancesEach,
		ownSidecar,
		nodeSpock,
		sidecarBehindNode,
		appHeapMb,
		directAppHeapMb,
		...calls
	}) => [
		`${services} services of ${instancesEach} instances. In PSS, pages that processes share count by their share; on a node with many sidecars it is what one more takes.`,
		markdownTable(columnsOf(1, ['', 'RSS (MB)', 'PSS (MB)']), [
			...(
				[
					['a pod’s sidecar that asks Consul', ownSidecar],
					['a node Spock, before its pods', nodeSpock],
					['a pod’s sidecar that asks a node Spock', sidecarBehindNode],
				] as const
			).map(([what, { rssMb, pssMb }]) => [what, formatNumber(rssMb), formatNumber(pssMb)]),
		]),
		[
			'Isolation: calls over the wire of one app, one after the other, while another app makes calls as fast as it can, 512 at once, first to the same Spock and then to a sidecar of',
			'its own. Both share the two cores all the time.',
		].join('\n'),
		markdownTable(columnsOf(1, ['the other app', 'call p50 (ms)', 'call p99 (ms)']), [
			['does nothing', formatNumber(calls.alone.p50Ms), formatNumber(calls.alone.p99Ms)],
			['calls the same Spock', formatNumber(calls.beside.p50Ms), formatNumber(calls.beside.p99Ms)],
			['calls its own sidecar', formatNumber(calls.apart.p50Ms), formatNumber(calls.apart.p99Ms)],
		]),
		`An app’s heap grows by ${formatNumber(appHeapMb)} MB with a sidecar, and by ${formatNumber(directAppHeapMb)} MB in direct mode.`,
	],
};

function loadRow(what: string, { held, failed, connections, queriesAMinute, seconds }: ConsulLoad): string[] {
	return [
		what,
		formatCount(held),
		formatCount(failed),
		formatCount(connections),
		formatNumber(queriesAMinute),
		formatCount(seconds),
	];
}

/** What never came is null in a result file. */
function formatMs(ms: number | null): string {
	return ms === null || !Number.isFinite(ms) ? 'never' : formatNumber(ms);
}
