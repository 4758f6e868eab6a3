import { median } from '../load/samples.ts';
import { formatCount, formatMicroseconds, formatNumber, formatRatio } from '../report/format-number.ts';
import { columnsOf, markdownTable } from '../report/markdown.ts';
import { PEERS, type PeerId, type PeersResults } from './peers/peers-results.ts';
import { factorOf, figureOf, GOALS, speedOf } from './table/table-goals.ts';
import { type EventsResults, MODEL_SYNC_MS, PARTS, type PartId, ROWS, type RowRound } from './table/table-results.ts';

const PART_TITLES: Readonly<Record<PartId, string>> = {
	model: 'The original’s results, and ours',
	unlimited: 'Without the limit of bytes',
	slow: 'Over a link of 40 Mbit/s',
	own: 'With the disk of this machine, and no model',
};
/** What the app of a row waits for, in the order of a cell. */
const WAITS = ['acknowledged', 'emitted', 'persisted', 'stored'];

/** Those of a row, in the order of a cell. */
const PROCESSES = ['app', 'sidecar', 'store'];

/** What else is to be known of a peer's figures. */
const PEER_NOTES: Readonly<Partial<Record<PeerId, string>>> = {
	dapr: [
		'Dapr’s daemon is its own release, built with that component alone, and is called over 100 connections: by its gRPC API fewer events go through.',
		'Without an id from the app each call is another event to it, so that a call which is repeated can be there twice.',
	].join('\n'),
	kafka: [
		'kfake is one process and copies nothing to another broker: its row says what the client takes, not what a Kafka cluster takes. The client has one request',
		'on its way; what is called meanwhile goes together in the next one. An app that is killed and sends again has a new producer id, by which no broker knows',
		'what it has already: [what that leads to](../decisions.md#events).',
	].join('\n'),
};

/** The whole of docs/performance/events.md. The same results give the same bytes. */
export function renderEventsMarkdown(results: EventsResults, limits: string): string {
	const { takenAt, commit, quick, machine, node, mebibytes, rounds, data, peers } = results;
	const blocks = [
		'<!-- Made by the bench from events.json: do not edit. `npm run bench:events -- render` makes it again. -->',
		'# Events: an article’s table, and peers that are killed',
		[
			`Taken on ${takenAt.slice(0, 10)}, commit \`${commit}\`${quick ? ', a quick run: the figures are rough' : ''}. ${machine.processor}, ${machine.cores} cores;`,
			`Node ${node}; ${formatCount(mebibytes)} MiB in each row, ${rounds === 1 ? 'one round' : `the median of ${rounds} rounds that take turns`}. \`npm run bench:events\` writes this page.`,
		].join('\n'),
		'![Bars: messages a second by row](events.svg)',
		[
			'A system for metrics moved the same 7 GB to its store three ways: by gRPC calls over 54 connections in 1,140 s, by one gRPC stream with',
			'100 messages on their way in 314 s, and by that stream with each message compressed in 144 s. Two numbers explain these results, and are the',
			`model here: a disk that takes ${MODEL_SYNC_MS} ms for a sync, and a limit of 22.3 MB/s on the bytes that travel. Our events go from the app to its`,
			'sidecar, which has them on the disk of this machine, and from there to a second sidecar, whose disk is the modelled one.',
		].join('\n'),
		[
			`The messages are lines of metrics, 2 to 300 kB, 17.5 kB on average. By itself a message shrinks ${formatNumber(data.byMessage)} times (${data.codec}, its default level), as the`,
			`original’s did; all in one context ${formatNumber(data.inOneContext)} times, since the names of series come again. Data whose names do not come again gains nothing by that.`,
		].join('\n'),
		[
			'*Used by others* is what processes that have nothing to do with the run took of the machine’s processors meanwhile: the rest was what a row',
			'could use.',
		].join('\n'),
		...(Object.keys(PARTS) as PartId[]).flatMap((part) => renderPart(results, part)),
		'## What was wanted',
		renderGoals(results),
		...(limits === '' ? [] : [limits.trim()]),
		...(peers === undefined ? [] : renderPeers(peers)),
	];
	return `${blocks.join('\n\n')}\n`;
}

function renderPart(results: EventsResults, part: PartId): string[] {
	const rows = PARTS[part].rows.flatMap((row) => {
		const { rounds = [] } = figureOf(results, part, row) ?? {};
		if (rounds.length === 0) return [];
		const of = { part: 'model', row: 'unary' } as const;
		return [
			[
				ROWS[row],
				formatNumber(speedOf(results, part, row)),
				formatRatio(factorOf(results, { part, row, of })),
				linkedOf(rounds),
				processorTimeOf(rounds),
				`${formatCount(median(rounds.map(({ othersShare }) => othersShare)) * 100)} %`,
				waitsOf(rounds),
			],
		];
	});
	if (rows.length === 0) return [];
	const columns = columnsOf(1, [
		'',
		'MB/s',
		'to the first row',
		'bytes on the link, to raw',
		'CPU s per GB',
		'used by others',
	]);
	const words = { heading: 'the app waits for one message, p50', align: 'left' } as const;
	return [`## ${PART_TITLES[part]}`, markdownTable([...columns, words], rows)];
}

/** Of the bytes that travel, to those of the messages. */
function linkedOf(rounds: readonly RowRound[]): string {
	const shares = rounds.flatMap(({ linkBytes, bytes }) => (linkBytes === null ? [] : [linkBytes / bytes]));
	return shares.length === 0 ? '–' : formatNumber(median(shares));
}

/** Of each process of a row, for a GB of messages. */
function processorTimeOf(rounds: readonly RowRound[]): string {
	const times = PROCESSES.map((name) =>
		median(rounds.map(({ cpuSeconds, bytes }) => ((cpuSeconds[name] ?? 0) / bytes) * 1e9)),
	);
	return times.map((seconds) => (seconds === 0 ? '–' : formatNumber(seconds))).join(', ');
}

/** By what the app waits for. */
function waitsOf(rounds: readonly RowRound[]): string {
	const waits = WAITS.flatMap((name) => {
		const ms = median(rounds.map((round) => round.waits[name]?.p50Ms ?? Number.NaN));
		return Number.isNaN(ms) ? [] : [`${name} ${formatMicroseconds(ms * 1000)}`];
	});
	return waits.join(', ');
}

function renderGoals(results: EventsResults): string {
	const rows = GOALS.map((goal) => {
		const factor = factorOf(results, goal);
		const verdict = Number.isNaN(factor) ? '' : goal.isMet(factor) ? 'reached' : '**missed**';
		const to = goal.of.part === 'model' ? 'the first row' : ROWS[goal.of.row];
		const title = PART_TITLES[goal.part].replace(/^./, (letter) => letter.toLowerCase());
		return [
			goal.part === 'model' ? ROWS[goal.row] : `${ROWS[goal.row]}, ${title}`,
			to,
			goal.wanted,
			formatRatio(factor),
			verdict,
		];
	});
	const verdict = { heading: 'verdict', align: 'left' } as const;
	return markdownTable([...columnsOf(2, ['row', 'to', 'wanted', 'measured']), verdict], rows);
}

function renderPeers({ takenAt, commit, node, rounds, versions, figures, leftOut }: PeersResults): string[] {
	const speeds = figures.map(({ peer, p50Us, p99Us, eventsPerSecond, othersShare }) => [
		PEERS[peer].label,
		PEERS[peer].acknowledged,
		formatMicroseconds(p50Us),
		formatMicroseconds(p99Us),
		formatNumber(eventsPerSecond),
		`${formatCount(othersShare * 100)} %`,
	]);
	const kills = figures.flatMap((figure) =>
		figure.kills.map(({ target, kills, acknowledged, lost, duplicated, unfinished }) => [
			PEERS[figure.peer].label,
			target,
			...[kills, acknowledged, lost, duplicated, unfinished].map(formatCount),
		]),
	);
	const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
	const headings = ['peer', 'what is true when the call is done', 'call p50', 'p99', 'events/s', 'used by others'];
	return [
		'## Peers on the same work',
		[
			`Taken on ${takenAt.slice(0, 10)}, commit \`${commit}\`, Node ${node}, all on the disk of this machine:`,
			`${named.join(', ')}.`,
			`Events of 200 bytes: first one call at a time, then 1,000 in flight; ${rounds === 1 ? 'one round' : `the median of ${rounds} rounds that take turns`}. An app’s call that fails is`,
			'repeated until it is done, with the same message id where the peer has one.',
		].join('\n'),
		markdownTable(columnsOf(2, headings), speeds),
		...figures.flatMap(({ peer }) => PEER_NOTES[peer] ?? []),
		[
			'Under a flow of events one process is killed (SIGKILL) at a random moment and started again, over and over. *Lost* are events that',
			'were acknowledged to the app and that the store does not have in the end; *unfinished* are those that were not acknowledged when the app was killed.',
			'A kill leaves the page cache of the machine alone: what a loss of power takes from a store that does not sync is not in this table.',
		].join('\n'),
		markdownTable(columnsOf(2, ['peer', 'killed', 'kills', 'acknowledged', 'lost', 'duplicated', 'unfinished']), kills),
		...leftOut.map(({ peer, why }) => `Left out of this run: ${PEERS[peer].label}; ${why}.`),
	];
}
