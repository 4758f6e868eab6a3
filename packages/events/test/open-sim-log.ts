import type { SpockError } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { SimClaims, SimDisk, SimFiles } from '@spock/testkit/sim-files';
import {
	EventLog,
	type EventLogOptions,
	type LogDamage,
	type LogOwner,
	type LogState,
	type NewEvent,
	type ReplayedRecord,
} from '../src/index.ts';

export const DIRECTORY = '/log';

export interface SimLogOptions extends Partial<Omit<EventLogOptions, 'files' | 'owner' | 'clock'>> {
	readonly disk?: SimDisk;
	readonly files?: SimFiles;
	readonly claims?: SimClaims;
	readonly owner?: LogOwner;
	readonly clock?: FakeClock;
}

/** A log on a simulated disk, and what it told. */
export interface SimLog {
	readonly log: EventLog;
	readonly files: SimFiles;
	readonly disk: SimDisk;
	readonly claims: SimClaims;
	readonly clock: FakeClock;
	readonly replayed: ReplayedRecord[];
	/** Those that the restored checkpoint knows, but for their ids. */
	readonly known: ReplayedRecord[];
	readonly restored: string[];
	readonly states: LogState[];
	readonly windows: boolean[];
	readonly damage: LogDamage[];
	readonly failures: SpockError[];
	readonly left: number[];
}

/** Small, so that a few records make segments, of which none is read from memory. */
export const SMALL_LIMITS = { segmentBytes: 8192, bytesMax: 1_000_000, freeBytesMin: 0, recentBytesMax: 1 };

/** A log that is not opened. Its memory is the number of records that it was told of. */
export function makeSimLog(options: SimLogOptions = {}): SimLog {
	const disk = options.files?.disk ?? options.disk ?? new SimDisk();
	const files = options.files ?? new SimFiles(disk);
	const claims = options.claims ?? new SimClaims();
	const clock = options.clock ?? new FakeClock();
	const replayed: ReplayedRecord[] = [];
	const known: ReplayedRecord[] = [];
	const restored: string[] = [];
	const states: LogState[] = [];
	const windows: boolean[] = [];
	const damage: LogDamage[] = [];
	const failures: SpockError[] = [];
	const left: number[] = [];
	const log: EventLog = new EventLog({
		directory: DIRECTORY,
		files,
		owner: options.owner ?? claims.owner(),
		clock,
		random: () => 0.5,
		memory: {
			checkpoint: () => `below ${log.next}`,
			restore: (text) => restored.push(text),
			replay: (record, isKnown) => (isKnown ? known : replayed).push(record),
		},
		listener: {
			committed: () => undefined,
			stateChanged: (state) => states.push(state),
			windows: (isOpen) => windows.push(isOpen),
			damaged: (each) => damage.push(each),
			failed: (error) => failures.push(error),
			left: (records) => left.push(records),
		},
		...options,
		limits: { ...SMALL_LIMITS, ...options.limits },
	});
	return { log, files, disk, claims, clock, replayed, known, restored, states, windows, damage, failures, left };
}

export async function openSimLog(options: SimLogOptions = {}, takeOver = false): Promise<SimLog> {
	const opened = makeSimLog(options);
	await opened.log.open(takeOver);
	return opened;
}

export function event(text: string, stream = 'orders', seq = 1): NewEvent {
	return { kind: 'event', producer: 'p', epoch: 1, seq, stream, key: undefined, id: undefined, text };
}

/** Everything that can be read, in order. */
export async function readAll(log: EventLog, stream?: string): Promise<string[]> {
	const texts: string[] = [];
	for (let from = log.first; from < log.persisted; ) {
		const { events, next } = await log.read(from, { ...(stream && { stream }), bytesMax: 4096, eventsMax: 16 });
		if (next <= from) throw new Error(`a read from ${from} does not advance`);
		texts.push(...events.map(({ text }) => text));
		from = next;
	}
	return texts;
}
