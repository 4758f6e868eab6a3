import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Command, InvalidArgumentError } from 'commander';

import { resultOrigin, writeResults } from '../result-file.ts';
import { say, sayWithTime } from '../run.ts';
import { type OwnTools, openOwnTools } from '../toolbox.ts';
import { renderEventsMarkdown } from './events-md.ts';
import { drawEventsTable } from './events-plot.ts';
import { measurePeers } from './peers/measure-peers.ts';
import { findPeerPrograms } from './peers/peer-programs.ts';
import { PEERS, type PeerId } from './peers/peers-results.ts';
import { measureRatios, measureTable } from './table/measure-table.ts';
import { type EventsResults, PARTS, type PartId } from './table/table-results.ts';

interface Options {
	readonly quick: boolean;
	readonly table: boolean;
	readonly peers: readonly PeerId[] | true | undefined;
	readonly mib: number | undefined;
	readonly rounds: number;
	readonly parts: readonly PartId[];
	readonly kills: number;
	readonly node: string;
	readonly out: string;
	readonly docs?: string;
}

const MIB = 2 ** 20;
const PAGE = 'performance/events.md';
const PLOT = 'performance/events.svg';
/** Written by hand, and put into the page. */
const PROSE = 'performance/events-limits.md';

const program = new Command('bench-events')
	.description('messages to a store: an article’s three ways and ours, and peers that are killed')
	.configureHelp({ showGlobalOptions: true });

program
	.command('run', { isDefault: true })
	.description('measure, write the result file, and print the page')
	.option('--quick', 'little data, few kills; the figures are rough', false)
	.option('--no-table', 'leave out the table')
	.option('--peers [names]', `also measure and kill the peers, or some: ${Object.keys(PEERS).join(', ')}`, toPeers)
	.option('--mib <number>', 'data of a row, in MiB (256; 32 with --quick)', toCount)
	.option('--rounds <number>', 'measurements of a row, and of a peer; the median counts', toCount, 1)
	.option('--parts <names>', `some of: ${Object.keys(PARTS).join(', ')}`, toParts, Object.keys(PARTS) as PartId[])
	.option('--kills <number>', 'of each process of each peer', toCount, 10)
	.option('--node <path>', 'the Node that the processes run on', process.execPath)
	.requiredOption('--out <file>', 'the result file; what is not measured keeps what it holds')
	.option('--docs <directory>', `also write ${PAGE} and its plot there`)
	.action(run);

program
	.command('render')
	.description('write the page and its plot from the result file')
	.requiredOption('--out <file>', 'the result file')
	.requiredOption('--docs <directory>', `where ${PAGE} goes`)
	.action(({ out, docs }: { out: string; docs: string }) => render(readResults(out), docs));

async function run(options: Options): Promise<void> {
	const tools = openOwnTools(options.node);
	try {
		let results = existsSync(options.out) ? readResults(options.out) : undefined;
		if (options.table) results = await takeTable(options, tools, results);
		if (options.peers !== undefined && results !== undefined) {
			const { quick, kills, rounds } = options;
			const peers = options.peers === true ? (Object.keys(PEERS) as PeerId[]) : options.peers;
			const programs = findPeerPrograms(process.env);
			const run = { tools, programs, quick, peers, rounds, kills, say: sayWithTime() };
			results = { ...results, peers: await measurePeers(run) };
			writeResults(options.out, results);
		}
		if (results === undefined) throw new Error('there is no table yet: leave out --no-table');
		say(renderEventsMarkdown(results, ''));
		if (options.docs !== undefined) render(results, options.docs);
	} finally {
		tools.close();
	}
}

async function takeTable(options: Options, tools: OwnTools, before: EventsResults | undefined): Promise<EventsResults> {
	const { quick, rounds, parts } = options;
	const mebibytes = options.mib ?? (quick ? 32 : 256);
	const figures = await measureTable({ tools, rounds, parts, bytes: mebibytes * MIB, say: sayWithTime() });
	const kept = (before?.figures ?? []).filter(({ part }) => !parts.includes(part));
	const results: EventsResults = {
		...before,
		...resultOrigin(tools.nodeVersion, quick),
		...{ mebibytes, rounds, data: await measureRatios(), figures: [...kept, ...figures] },
	};
	writeResults(options.out, results);
	return results;
}

function readResults(file: string): EventsResults {
	return JSON.parse(readFileSync(file, 'utf8')) as EventsResults;
}

function render(results: EventsResults, docs: string): void {
	const prose = join(docs, PROSE);
	mkdirSync(join(docs, 'performance'), { recursive: true });
	const limits = existsSync(prose) ? readFileSync(prose, 'utf8') : '';
	writeFileSync(join(docs, PAGE), renderEventsMarkdown(results, limits));
	writeFileSync(join(docs, PLOT), drawEventsTable(results));
	say(`wrote ${join(docs, PAGE)}`);
}

function toCount(text: string): number {
	const count = Number(text);
	if (!Number.isSafeInteger(count) || count < 1) throw new InvalidArgumentError('must be a whole number from 1 on');
	return count;
}

function toParts(text: string): readonly PartId[] {
	return namesIn(text, PARTS, 'part');
}

function toPeers(text: string): readonly PeerId[] {
	return namesIn(text, PEERS, 'peer');
}

function namesIn<Name extends string>(text: string, table: Readonly<Record<Name, unknown>>, what: string): Name[] {
	return text.split(',').map((name) => {
		if (!Object.hasOwn(table, name)) throw new InvalidArgumentError(`there is no ${what} ${name}`);
		return name as Name;
	});
}

// Last, because everything above must stand when it runs.
await program.parseAsync();
