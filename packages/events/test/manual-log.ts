import { SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { EventPage, LogMemory, ReadEvents, RecordLog } from '../src/foundation/event-log.ts';
import type { LogEvent, LogRecord, NewRecord } from '../src/foundation/log-record.ts';

/** A log without a disk, for tests: `commit` stands for a sync. */
export class ManualLog implements RecordLog {
	readonly #clock: Clock;
	readonly #committed: (persisted: number) => void;
	readonly #records: LogRecord[] = [];
	#isReleased = false;
	#time = 0;
	first = 1;
	persisted = 1;

	constructor(clock: Clock, committed: (persisted: number) => void) {
		this.#clock = clock;
		this.#committed = committed;
	}

	get next(): number {
		return this.#records.length + 1;
	}

	append(record: NewRecord): number {
		if (this.#isReleased) throw new SpockError('UNAVAILABLE', 'the log is released');
		const position = this.next;
		this.#time = Math.max(this.#time, this.#clock.wallNow());
		this.#records.push({ ...record, position, time: this.#time });
		return position;
	}

	/** Everything below is on disk. */
	commit(below: number = this.next): void {
		this.persisted = Math.max(this.persisted, below);
		this.#committed(this.persisted);
	}

	release(): void {
		this.#isReleased = true;
	}

	/** Puts the records below a position into an empty log, as a restart finds them. */
	copyTo(log: ManualLog, below: number): void {
		log.#records.push(...this.#records.slice(0, below - 1));
		log.#time = log.#records.at(-1)?.time ?? 0;
		log.persisted = log.next;
	}

	replay(memory: LogMemory, from = 1): void {
		for (const record of this.#records.slice(from - 1)) memory.replay(record, false);
	}

	records(): readonly LogRecord[] {
		return this.#records;
	}

	events(): LogEvent[] {
		return this.#records.filter((record) => record.kind === 'event');
	}

	lastOf(stream: string): number {
		const last = this.#records.findLast(
			(record) => record.kind === 'event' && record.stream === stream && record.position < this.persisted,
		);
		return last?.position ?? 0;
	}

	read(from: number, { stream, bytesMax, eventsMax }: ReadEvents): Promise<EventPage> {
		const events: EventPage['events'][number][] = [];
		let bytes = 0;
		let next = Math.max(from, this.first);
		for (; next < this.persisted; next++) {
			const record = this.#records[next - 1] as LogRecord;
			if (record.kind !== 'event' || (stream !== undefined && record.stream !== stream)) continue;
			bytes += record.text.length;
			if (events.length > 0 && (events.length >= eventsMax || bytes > bytesMax)) break;
			events.push(record);
		}
		return Promise.resolve({ events, next });
	}

	trim(below: number): void {
		this.first = Math.max(this.first, Math.min(below, this.persisted));
	}

	positionAt(time: number): Promise<number> {
		const found = this.#records.find((record) => record.position >= this.first && record.time >= time);
		return Promise.resolve(found?.position ?? this.next);
	}
}
