import type { ServiceInstance, SnapshotSource } from '@spock/protocol';
import { isObject } from '@spock/protocol/internal';

import { readInstances } from '../../foundation/good-instances.ts';

/** Longest file that is written and read: a replay keeps it in memory. */
export const RECORD_BYTES_MAX: number = 256 * 1024 * 1024;

/** The first line of a record: what it is, and when it began. docs/reference/recording.md has the format for readers. */
export interface RecordHeader {
	readonly record: 'spock';
	readonly version: 1;
	/** When it began, in milliseconds since 1970: `t` of all lines counts from here. */
	readonly startedAt: number;
	/** Name and version of the sidecar, for people. */
	readonly sidecar: string;
	/** The services that were asked for; null for all that there are. */
	readonly services: readonly string[] | null;
}

/** When a line was written: since the beginning, by a clock that does not jump, and in milliseconds since 1970. */
interface Times {
	readonly t: number;
	readonly at: number;
}

/** What readers of one service were told. */
export interface SnapshotRecord extends Times {
	readonly type: 'snapshot';
	readonly service: string;
	readonly revision: number;
	readonly source: SnapshotSource;
	/** How old the instances were when this was told, in milliseconds; 0 while live. */
	readonly ageMs: number;
	/** Present, and true, as in a snapshot. */
	readonly held?: true;
	readonly panic?: true;
	readonly oversize?: true;
	readonly instances: readonly ServiceInstance[];
}

/**
 * `begun`: every service that there was at the beginning has been told. `gap`: the sidecar is gone, and what changes from here
 * on is not seen. `back`: there is a sidecar again; all its snapshots follow. `end`: nothing more, and why.
 */
export interface MarkRecord extends Times {
	readonly type: 'begun' | 'gap' | 'back' | 'end';
	readonly reason?: string;
}

/** A line of a record behind the first. */
export type RecordLine = SnapshotRecord | MarkRecord;

const MARKS: ReadonlySet<unknown> = new Set(['begun', 'gap', 'back', 'end']);
const SOURCES: ReadonlySet<unknown> = new Set(['live', 'last-known-good', 'static']);

/** Reads the first line. Throws an Error that says what is wrong with it. */
export function readHeader(line: string): RecordHeader {
	const header = parse(line);
	if (header['record'] !== 'spock')
		throw new Error('the first line must have "record":"spock": this is not a recording');
	if (header['version'] !== 1) {
		throw new Error(`the recording has version ${JSON.stringify(header['version'])}; this program reads version 1`);
	}
	return header as unknown as RecordHeader;
}

/** Reads a line; undefined for a type of a later version. Throws an Error that names the member that is wrong. */
export function readRecord(line: string): RecordLine | undefined {
	const members = parse(line);
	const { type, t, service, source, instances } = members;
	if (typeof t !== 'number' || !(t >= 0)) throw new Error('t must be a number of milliseconds from 0');
	if (typeof type !== 'string') throw new Error('type must be a string');
	if (MARKS.has(type)) return members as unknown as MarkRecord;
	if (type !== 'snapshot') return undefined;
	if (typeof service !== 'string' || service === '') throw new Error('service must be a non-empty string');
	if (!SOURCES.has(source)) throw new Error(`source must be one of ${[...SOURCES].join(', ')}`);
	if (!Array.isArray(instances)) throw new Error('instances must be a list');
	// What an older sidecar recorded of a bad instance takes no other one away.
	return { ...(members as unknown as SnapshotRecord), instances: readInstances(instances) };
}

function parse(line: string): Readonly<Record<string, unknown>> {
	let value: unknown;
	try {
		value = JSON.parse(line);
	} catch (cause) {
		throw new Error(`it is not JSON: ${(cause as Error).message}`, { cause });
	}
	if (!isObject(value)) throw new Error('it is not a JSON object');
	return value;
}
