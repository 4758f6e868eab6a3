import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { RoundResult } from './fault-messages.ts';

/** The spread of some times, in milliseconds. */
export interface Spread {
	readonly p50: number;
	readonly p99: number;
	readonly max: number;
}

/** What all rounds of one fault came to. */
export interface FaultFigures {
	readonly fault: string;
	readonly times: number;
	readonly calls: number;
	readonly answered: number;
	readonly rejected: number;
	readonly timedOut: number;
	/** Settled in a way that this fault does not explain. */
	readonly strange: number;
	/** Calls that never settled. */
	readonly hung: number;
	readonly settledTwice: number;
	readonly misdelivered: number;
	readonly lateReplies: number;
	readonly lookups: number;
	readonly lookupsFailed: number;
	/** The fewest that were in flight when the connection went; null if none went. */
	readonly inFlightMin: number | null;
	readonly rejectionMs: Spread | null;
	readonly rejectionAfterBareMs: Spread | null;
	readonly backMs: Spread | null;
	readonly examples: readonly string[];
}

const EXAMPLES_MAX = 10;
const REPORT = fileURLToPath(new URL('../../../../reports/faults.json', import.meta.url));

/** Adds the rounds of one fault up. */
function figuresOf(fault: string, rounds: readonly RoundResult[]): FaultFigures {
	const sum = (count: (round: RoundResult) => number): number =>
		rounds.reduce((total, round) => total + count(round), 0);
	const losses = rounds.filter(({ backMs }) => backMs !== null).map(({ inFlightAtLoss }) => inFlightAtLoss);
	return {
		fault,
		times: rounds.length,
		calls: sum(({ calls }) => calls),
		answered: sum(({ answered }) => answered),
		rejected: sum(({ rejected }) => rejected),
		timedOut: sum(({ timedOut }) => timedOut),
		strange: sum(({ strange }) => strange),
		hung: sum(({ calls, answered, rejected, timedOut, strange }) => calls - answered - rejected - timedOut - strange),
		settledTwice: sum(({ settledTwice }) => settledTwice),
		misdelivered: sum(({ misdelivered }) => misdelivered),
		lateReplies: sum(({ lateReplies }) => lateReplies),
		lookups: sum(({ lookups }) => lookups),
		lookupsFailed: sum(({ lookupsFailed }) => lookupsFailed),
		inFlightMin: losses.length === 0 ? null : Math.min(...losses),
		rejectionMs: spreadOf(rounds.map(({ rejectionMs }) => rejectionMs)),
		rejectionAfterBareMs: spreadOf(rounds.map(({ rejectionAfterBareMs }) => rejectionAfterBareMs)),
		backMs: spreadOf(rounds.map(({ backMs }) => backMs)),
		examples: rounds.flatMap(({ examples }) => examples).slice(0, EXAMPLES_MAX),
	};
}

/** The rounds of a fault in the report, with what they come to. */
interface ReportEntry extends Partial<FaultFigures> {
	readonly fault: string;
	readonly rounds?: readonly RoundResult[];
}

/**
 * Adds rounds up and puts them into reports/faults.json: in the place of older ones of the same fault, or, with SPOCK_FAULTS_ADD
 * set, beside them, so that many times can be made in several runs.
 */
export function reportRounds(fault: string, rounds: readonly RoundResult[]): FaultFigures {
	const before = process.env['SPOCK_FAULTS_ADD'] === undefined ? [] : (entryOf(fault)?.rounds ?? []);
	const all = [...before, ...rounds];
	reportFigures({ ...figuresOf(fault, all), rounds: all });
	return figuresOf(fault, rounds);
}

/** Puts figures into the report, in the place of older ones of the same fault. */
export function reportFigures(entry: ReportEntry): void {
	mkdirSync(dirname(REPORT), { recursive: true });
	const others = readReport().filter(({ fault }) => fault !== entry.fault);
	writeFileSync(REPORT, `${JSON.stringify([...others, entry])}\n`);
}

/** Null for no times. */
function spreadOf(times: readonly (number | null)[]): Spread | null {
	const sorted = times.filter((time) => time !== null).sort((left, right) => left - right);
	if (sorted.length === 0) return null;
	const at = (share: number): number =>
		sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number;
	return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

function entryOf(name: string): ReportEntry | undefined {
	return readReport().find(({ fault }) => fault === name);
}

function readReport(): ReportEntry[] {
	try {
		return JSON.parse(readFileSync(REPORT, 'utf8')) as ReportEntry[];
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
		throw error;
	}
}
