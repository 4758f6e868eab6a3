import { encodeEvent } from '@spock/protocol';

import type { EventPage, LogMemory, ReadEvents, RecordLog } from '../src/foundation/event-log.ts';
import type { LogEvent, LogRecord, NewEvent, NewRecord } from '../src/foundation/log-record.ts';

interface MemoryLogOptions {
	/** Time of records. Default: always 1000. */
	readonly wallNow?: () => number;
	/** False: only `persist` puts records on disk. Default: each is, in a microtask. */
	readonly persistsAlone?: boolean;
}

/** A log in memory, in which a test decides when what was appended is on disk, and what a crash leaves. */
export class MemoryLog implements RecordLog {
	readonly #options: MemoryLogOptions;
	#records: LogRecord[] = [];
	#first = 1;
	#next = 1;
	#persisted = 1;
	/** Where the newest segment begins, and what was remembered there. */
	#checkpoint: { readonly position: number; readonly text: string } | undefined;
	persistsAlone: boolean;
	memory: LogMemory | undefined;
	committed: () => void = () => undefined;
	/** Thrown by `append`. */
	failure: Error | undefined;

	constructor(options: MemoryLogOptions = {}) {
		this.#options = options;
		this.persistsAlone = options.persistsAlone ?? true;
	}

	get first(): number {
		return this.#first;
	}

	get next(): number {
		return this.#next;
	}

	get persisted(): number {
		return this.#persisted;
	}

	get records(): readonly LogRecord[] {
		return this.#records;
	}

	append(record: NewRecord): number {
		if (this.failure !== undefined) throw this.failure;
		const position = this.#next++;
		this.#records.push({ ...record, position, time: this.#options.wallNow?.() ?? 1000 });
		if (this.persistsAlone) queueMicrotask(() => this.persist());
		return position;
	}

	/** Appends an event; gives it as a reader does. */
	add(stream: string, event: { key?: string; headers?: Record<string, string>; payload?: unknown } = {}): LogEvent {
		const { key, payload = 0 } = event;
		const text = encodeEvent({ stream, ...event, payload });
		const origin = { kind: 'event', producer: 'p', epoch: 1, seq: this.#next } as const;
		const record: NewEvent = { ...origin, stream, key, id: undefined, text };
		const position = this.append(record);
		return this.#records.find((each) => each.position === position) as LogEvent;
	}

	/** Everything below is on disk now; default: all. */
	persist(below: number = this.#next): void {
		if (below <= this.#persisted) return;
		this.#persisted = below;
		this.committed();
	}

	/** Begins a segment, as the log does between two records. */
	beginSegment(): void {
		this.#checkpoint = { position: this.#next, text: this.memory?.checkpoint() ?? '' };
	}

	/** A log that has what was on disk of this one; it is replayed into `memory` from the newest checkpoint on. */
	reopened(memoryOf: (log: MemoryLog) => LogMemory): MemoryLog {
		const log = new MemoryLog(this.#options);
		log.#first = this.#first;
		log.#records = this.#records.filter(({ position }) => position < this.#persisted);
		log.#next = this.#persisted;
		log.#persisted = this.#persisted;
		log.memory = memoryOf(log);
		const { position: from, text } = this.#checkpoint ?? { position: 1, text: '' };
		const isThere = from <= this.#persisted && text !== '';
		if (isThere) {
			log.memory.restore(text);
			log.#checkpoint = { position: from, text };
		}
		for (const record of log.#records) if (!isThere || record.position >= from) log.memory.replay(record, false);
		return log;
	}

	async read(from: number, { stream, bytesMax, eventsMax }: ReadEvents): Promise<EventPage> {
		const events: LogEvent[] = [];
		let bytes = 0;
		for (const record of this.#records) {
			if (record.position < from || record.position >= this.#persisted) continue;
			if (record.kind !== 'event' || (stream !== undefined && record.stream !== stream)) continue;
			bytes += record.text.length;
			if (events.length > 0 && (events.length >= eventsMax || bytes > bytesMax)) {
				return { events, next: record.position };
			}
			events.push(record);
		}
		return { events, next: Math.max(from, this.#persisted) };
	}

	lastOf(stream: string): number {
		const last = this.#records.findLast((record) => record.kind === 'event' && record.stream === stream);
		return last?.position ?? 0;
	}

	trim(below: number): void {
		this.#records = this.#records.filter(({ position }) => position >= below);
		this.#first = Math.max(this.#first, below);
	}

	async positionAt(time: number): Promise<number> {
		return this.#records.find((record) => record.time >= time)?.position ?? this.#next;
	}
}
