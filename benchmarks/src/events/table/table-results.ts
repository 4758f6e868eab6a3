import type { ResultOrigin } from '../../result-file.ts';
import type { PeersResults } from '../peers/peers-results.ts';
import type { AppReport } from './app-work.ts';

/** A way of sending messages to a store. */
export type RowId = 'unary' | 'stream-plain' | 'stream-packed' | 'events-plain' | 'events-packed';

/** What a row is called. */
export const ROWS: Readonly<Record<RowId, string>> = {
	unary: 'grpc-js unary, 54 connections',
	'stream-plain': 'grpc-js stream, window 100',
	'stream-packed': 'grpc-js stream, compressed by message',
	'events-plain': 'Spock, plain',
	'events-packed': 'Spock, compressed',
};

/** Under what rows are compared. */
export type PartId = 'model' | 'unlimited' | 'slow' | 'own';

/** The store and the way to it. */
export interface Part {
	readonly rows: readonly RowId[];
	/** Of the link to the store; absent: not limited. */
	readonly bytesPerSecond?: number;
	/** What part of the run's bytes is sent: a slow link takes its time. */
	readonly share: number;
	/** Of a sync of the modelled disk, in milliseconds; absent: the store writes to the disk of this machine. */
	readonly syncMs?: number;
}

/** The original's disk and its limit, which its three results follow from. */
export const MODEL_SYNC_MS = 2.85;
const MODEL_BYTES_PER_SECOND = 22_300_000;
const SLOW_BYTES_PER_SECOND = 5_000_000;
const ALL_ROWS = Object.keys(ROWS) as RowId[];

export const PARTS: Readonly<Record<PartId, Part>> = {
	model: { rows: ALL_ROWS, bytesPerSecond: MODEL_BYTES_PER_SECOND, share: 1, syncMs: MODEL_SYNC_MS },
	unlimited: { rows: ALL_ROWS.filter((row) => row !== 'unary'), share: 1, syncMs: MODEL_SYNC_MS },
	slow: { rows: ALL_ROWS, bytesPerSecond: SLOW_BYTES_PER_SECOND, share: 0.25, syncMs: MODEL_SYNC_MS },
	own: { rows: ALL_ROWS, share: 1 },
};

/** One measurement of a row. */
export interface RowRound extends AppReport {
	/** What went through the link to the store, with all that protocols add; null where there was none. */
	readonly linkBytes: number | null;
	/** Processor time of each process, in seconds: `app`, `sidecar`, `store`, and `link`, which is the bench itself. */
	readonly cpuSeconds: Readonly<Record<string, number>>;
	/** Of the machine's processors, what processes that have nothing to do with the run used meanwhile: 0 to 1. */
	readonly othersShare: number;
}

/** A row and its rounds. */
export interface RowFigure {
	readonly part: PartId;
	readonly row: RowId;
	readonly rounds: readonly RowRound[];
}

/** How often data shrinks: raw bytes by compressed ones. */
export interface DataRatios {
	readonly codec: 'zstd' | 'gzip';
	/** Each message by itself. */
	readonly byMessage: number;
	/** All messages of the sample in one context, flushed behind each. */
	readonly inOneContext: number;
}

/** What `npm run bench:events` found: the only thing that docs/performance/events.md is made from. */
export interface EventsResults extends ResultOrigin {
	/** Sent in each row. */
	readonly mebibytes: number;
	readonly rounds: number;
	readonly data: DataRatios;
	/** What was not measured is not there. */
	readonly figures: readonly RowFigure[];
	readonly peers?: PeersResults;
}
