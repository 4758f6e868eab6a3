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
		'<!-- Made by the bench from consul.json: do not edit. `npm run bench consul render` makes it again. -->',
		'# Spock and Consul: delay and cost',
		[
			`Taken on ${takenAt.slice(0, 10)}, commit \`${commit}\`${quick ? ', a quick run: the figures are rough' : ''}. ${machine.processor}, ${machine.cores} cores;`,
			`Node ${node}; one Consul ${consul} server on the same machine. \`npm run bench consul\` takes about fourteen minutes and writes this page.`,
		].join('\n'),
		'## From a change in Consul to the client',
		[
			'From the PUT until the client has the snapshot, beside a bare blocking query in the same process and run. The goal: Spock adds at',
			`most ${ADDED_P50_MS_MAX} ms to p50 and ${ADDED_P99_MS_MAX} ms to p99.`,
		].join('\n'),
		renderChanges(results),
		'## What a pod costs Consul',
		[
			'Counted by a proxy between the pod and Consul: connections, queries a minute, and KB a minute both ways; first at rest, then while one',
			'of the watched services changes every second. A poller learns of a change after 2.5 s on average, and 5 s at most.',
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
		formatCount(spock.unseen + bare.unseen),
		...[bare.p50Ms, spock.p50Ms, bare.p99Ms, spock.p99Ms].map(formatNumber),
		formatCount(traffic.connections),
		...[traffic.queriesAMinute, traffic.kilobytesAMinute].map(formatNumber),
	]);
	return [
		'## Few and many services, while others change',
		[
			`Taken on ${takenAt.slice(0, 10)}, commit \`${commit}\`${quick ? ', a quick run: the figures are rough' : ''}, by \`npm run bench consul scale\` in some ten minutes. ${machine.processor}, ${machine.cores} cores;`,
			`Node ${node}; load ${formatNumber(load)} before it. Foreign services are edited twice a second all the time; the traffic is counted while none of the`,
			"sidecar's own services changes. Services beyond `--consul-held-max` are polled, with at most 3,000 queries a minute for all of them.",
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
		'queries',
		'KB',
		'connections under change',
		'queries',
		'KB',
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
