import { formatCount, formatNumber } from '../report/format-number.ts';
import { columnsOf, markdownTable } from '../report/markdown.ts';
import type { ConsulResults, CostContender, Delays } from './consul-results.ts';

/** What Spock may add to a bare blocking query, in ms. */
const ADDED_P50_MS_MAX = 1;
const ADDED_P99_MS_MAX = 4;

const NAMES: Readonly<Record<CostContender, string>> = { spock: 'Spock', polling: 'polling every 5 s' };

/** The whole of docs/performance/consul.md. The same results give the same bytes. */
export function renderConsulMarkdown(results: ConsulResults): string {
	const { takenAt, commit, quick, machine, node, consul } = results;
	const blocks = [
		'<!-- Made by the bench from consul.json: do not edit. `pnpm bench:consul render` makes it again. -->',
		'# Spock and Consul: delay and cost',
		[
			`Taken ${takenAt}, commit \`${commit}\`, ${quick ? 'a quick run: the figures are rough' : 'a complete run'}.`,
			`${machine.processor}, ${machine.cores} cores; Node ${node}; one Consul ${consul} server on the same machine.`,
			'`pnpm bench:consul` takes about fourteen minutes and writes this page.',
		].join('\n'),
		'## From a change in Consul to the client',
		[
			'From sending the PUT until the client has the snapshot, by way of the sidecar; beside it until a bare blocking query',
			'(`node:http`, connection kept, JSON parsed) has the answer. Changes take turns between the two kinds, in one process and one',
			`run. The goal: Spock adds at most ${ADDED_P50_MS_MAX} ms to p50 and ${ADDED_P99_MS_MAX} ms to p99.`,
		].join('\n'),
		renderChanges(results),
		'## What a pod costs Consul',
		[
			'Counted by a proxy between the pod and Consul: connections open at once, HTTP queries, and bytes both ways with headers. Under',
			'change means that one of the watched services changes every second, in turn. A poller learns of a change after 2.5 s on',
			'average, and 5 s at most.',
		].join('\n'),
		renderCost(results),
		...renderScale(results),
	];
	return `${blocks.join('\n\n')}\n`;
}

function renderChanges({ changes }: ConsulResults): string {
	const columns = columnsOf(1, [
		'services watched',
		'changes',
		'unseen',
		'bare p50 (ms)',
		'Spock p50 (ms)',
		'added',
		'bare p99 (ms)',
		'Spock p99 (ms)',
		'added',
		'goal',
	]);
	const rows = changes.map(({ watched, spock, bare }) => {
		const added = addedMs(spock, bare);
		const isMet = added.p50 <= ADDED_P50_MS_MAX && added.p99 <= ADDED_P99_MS_MAX && spock.unseen === 0;
		return [
			formatCount(watched),
			formatCount(spock.changes + bare.changes),
			formatCount(spock.unseen + bare.unseen),
			...[bare.p50Ms, spock.p50Ms, added.p50, bare.p99Ms, spock.p99Ms, added.p99].map(formatNumber),
			isMet ? 'met' : 'missed',
		];
	});
	return markdownTable(columns, rows);
}

function renderScale({ scale }: ConsulResults): string[] {
	if (scale === undefined) return [];
	const { takenAt, commit, quick, machine, node, load, figures } = scale;
	const columns = columnsOf(0, [
		'services watched',
		'held at most',
		'changes',
		'unseen',
		'bare p50 (ms)',
		'Spock p50 (ms)',
		'bare p99 (ms)',
		'Spock p99 (ms)',
		'connections',
		'queries a minute',
		'KB a minute',
	]);
	const rows = figures.map(({ watched, heldMax, spock, bare, traffic }) => [
		formatCount(watched),
		formatCount(heldMax),
		formatCount(spock.changes + bare.changes),
		formatCount(spock.unseen + bare.unseen),
		...[bare.p50Ms, spock.p50Ms, bare.p99Ms, spock.p99Ms].map(formatNumber),
		formatCount(traffic.connections),
		...[traffic.queriesAMinute, traffic.kilobytesAMinute].map(formatNumber),
	]);
	return [
		'## Few and many services, while others change',
		[
			`Taken ${takenAt}, commit \`${commit}\`, ${quick ? 'a quick run: the figures are rough' : 'a complete run'}; ${machine.processor}, ${machine.cores} cores; Node ${node};`,
			`load of the machine before it: ${formatNumber(load)}. \`pnpm bench:consul scale\` takes some ten minutes and renews this part alone.`,
			'Foreign services are edited twice a second all the time, and Spock and the bare queries ask by way of a proxy each. First it is',
			'counted what the sidecar asks while none of its own services changes; then they change in turn, some seven changes a second with those of the bare queries.',
			'Services beyond what is held share a watch, with at most 3,000 queries a minute for all of them; by default 150 are held, and in the last line the limit of connections of the agent was',
			'raised, and `--consul-held-max` with it.',
		].join('\n'),
		markdownTable(columns, rows),
	];
}

function addedMs(spock: Delays, bare: Delays): { readonly p50: number; readonly p99: number } {
	return { p50: spock.p50Ms - bare.p50Ms, p99: spock.p99Ms - bare.p99Ms };
}

function renderCost({ cost }: ConsulResults): string {
	const columns = columnsOf(1, [
		'who',
		'services watched',
		'connections',
		'queries a minute at rest',
		'KB a minute at rest',
		'connections under change',
		'queries a minute under change',
		'KB a minute under change',
	]);
	const rows = cost.map(({ contender, watched, atRest, underChange }) => [
		NAMES[contender],
		formatCount(watched),
		...[atRest, underChange].flatMap(({ connections, queriesAMinute, kilobytesAMinute }) => [
			formatCount(connections),
			formatNumber(queriesAMinute),
			formatNumber(kilobytesAMinute),
		]),
	]);
	return markdownTable(columns, rows);
}
