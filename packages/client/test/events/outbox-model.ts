import { systemClock } from '@spock/protocol/internal';

import { EventBuffer } from '../../src/events/produce/event-buffer.ts';
import { type EventStream, EventStreams } from '../../src/events/produce/event-stream.ts';
import { EventWaits, type PublishLevel } from '../../src/events/produce/event-waits.ts';
import { KeptLines } from '../../src/events/produce/kept-lines.ts';
import { Outbox, type OutboxLine, type OutboxListener } from '../../src/events/produce/outbox.ts';
import { resolveProducerOptions } from '../../src/events/produce/producer-options.ts';
import { refusedError } from '../../src/events/produce/read-progress.ts';

/** One step of a story about a producer and its sidecar. */
export type OutboxStep =
	| { readonly does: 'emit'; readonly size: number }
	| { readonly does: 'publish'; readonly size: number; readonly until: PublishLevel }
	| { readonly does: 'adopt' | 'open' | 'lose' | 'crash' | 'stall' | 'store' | 'drain' | 'close' }
	| { readonly does: 'deliver' | 'persist' | 'refuse'; readonly count: number }
	| { readonly does: 'window'; readonly bytes: number };

/** A line to the sidecar: what was written waits on it. */
class ModelLine implements OutboxLine {
	readonly written: string[] = [];
	isAsked = false;
	isOpen = false;
	isOver = false;

	openProducer(): void {
		this.isAsked = true;
	}

	dialUplink(): void {
		if (!this.isAsked) throw new Error('an uplink before its producer');
	}

	write(line: string): void {
		if (!this.isOpen || this.isOver) throw new Error('a line is written to an uplink that is not open');
		this.written.push(line);
	}

	end(): void {
		this.isOver = true;
	}

	drop(): void {
		this.isOver = true;
		this.written.length = 0;
	}
}

const BUFFER_BYTES_MAX = 4000;
const HIGH_WATER_BYTES = 1500;
const STREAMS = ['a', 'b', 'c'] as const;

/** A producer's outbox between a model of its sidecar and callers whose calls are counted. Every promise is checked at every step. */
export class OutboxModel {
	readonly outbox: Outbox;
	readonly #streams = new EventStreams();
	readonly #buffer: EventBuffer;
	readonly #waits: EventWaits;
	readonly #lines: ModelLine[] = [];
	/** By seq - 1: what was accepted. */
	readonly #accepted: string[] = [];
	/** By seq - 1: what the sidecar has. */
	#taken: string[] = [];
	#persisted = 0;
	readonly #refused = new Set<number>();
	readonly #stored: Record<string, number> = {};
	#window = { bytes: 1000, events: 20 };
	#hasCallLine = false;
	#isDraining = false;
	#made = 0;
	calls = 0;
	settled = 0;

	constructor(kept: KeptLines<EventStream> = new KeptLines()) {
		const options = resolveProducerOptions({
			producer: 'model',
			bufferBytesMax: BUFFER_BYTES_MAX,
			highWaterBytes: HIGH_WATER_BYTES,
		});
		const nothing = (): void => undefined;
		const listener: OutboxListener = {
			newLine: () => {
				const line = new ModelLine();
				this.#lines.push(line);
				return line;
			},
			refused: (seq, stream, refusal) => this.#waits.refused(seq, stream, refusedError(refusal, stream.name)),
			settled: () => this.#waits.progressed(this.outbox.persisted),
			sent: () => this.#checkWindow(),
			reported: nothing,
			kept: () => this.#rejectAll(),
			changed: nothing,
		};
		const outbox = new Outbox('model', (name) => this.#streams.find(name), listener, kept);
		this.outbox = outbox;
		const emit = outbox.emit.bind(outbox);
		outbox.emit = (stream, line, bytes) => {
			this.#accepted.push(readLine(line).body);
			emit(stream, line, bytes);
		};
		const port = {
			sentTo: () => outbox.kept.next - 1,
			obstacle: () => undefined,
			reason: () => null,
			emptied: nothing,
		};
		this.#waits = new EventWaits(systemClock, port);
		this.#buffer = new EventBuffer(outbox, this.#streams, this.#waits, options);
	}

	get isEnded(): boolean {
		return this.outbox.state === 'ended';
	}

	take(step: OutboxStep): void {
		if (step.does === 'emit' || step.does === 'publish') this.#emit(step);
		else if (step.does === 'deliver') this.#deliver(step.count);
		else if (step.does === 'persist') this.#persist(step.count);
		else if (step.does === 'refuse') this.#persist(step.count, true);
		else if (step.does === 'window') this.#setWindow(step.bytes);
		else this.#happens(step.does);
		this.#buffer.admit();
		if (this.#isDraining && this.#waits.queuedCount === 0) this.outbox.drain();
		this.#check();
	}

	/** The sidecar comes back, takes everything, and the producer is drained. */
	finish(): void {
		this.take({ does: 'window', bytes: 1000 });
		this.take({ does: 'drain' });
		for (let turn = 0; turn < 400 && !this.isEnded; turn++) {
			if (!this.#hasCallLine) this.take({ does: 'adopt' });
			this.take({ does: 'open' });
			this.take({ does: 'deliver', count: 100 });
			this.take({ does: 'persist', count: 100 });
		}
		if (!this.isEnded) throw new Error(`it never ends: ${this.outbox.state}`);
		this.#rejectAll();
	}

	/** For what must be so at the end of a story that was not closed. */
	checkAll(): void {
		if (this.#persisted !== this.#accepted.length) throw new Error(`${this.#persisted} of ${this.#accepted.length}`);
	}

	get #line(): ModelLine | undefined {
		return this.#lines.at(-1);
	}

	#emit(step: OutboxStep & { readonly does: 'emit' | 'publish' }): void {
		if (this.#isDraining || this.isEnded) return;
		const stream = this.#streams.of(STREAMS[this.#made % STREAMS.length] as string);
		const body = `,"n":${++this.#made}}\n`;
		const event = { stream, body, bytes: step.size };
		try {
			if (step.does === 'emit') this.#buffer.emit(stream, body, step.size);
			else {
				const done = this.#buffer.publish(event, step.until, { timeoutMs: 2 ** 30, signal: undefined });
				this.calls++;
				const count = (): void => void this.settled++;
				done.then(count, count);
			}
		} catch (error) {
			if ((error as { code?: string }).code !== 'OVERLOADED') throw error;
		}
	}

	#happens(does: 'adopt' | 'open' | 'lose' | 'crash' | 'stall' | 'store' | 'drain' | 'close'): void {
		const line = this.#line;
		switch (does) {
			case 'adopt':
				this.#hasCallLine = true;
				this.outbox.adopted();
				return;
			case 'open':
				if (!this.#hasCallLine || line === undefined || line.isOpen || line.isOver) return;
				line.isOpen = true;
				this.outbox.opened(line, {
					persisted: this.#persisted,
					stored: this.#stored,
					window: this.#window,
					refused: this.#refusals(),
				});
				return;
			case 'lose':
			case 'crash':
				this.#hasCallLine = false;
				this.outbox.lost();
				// What was only in memory is gone, with every line.
				if (does === 'crash') this.#taken = this.#taken.slice(0, this.#persisted);
				for (const { written } of does === 'crash' ? this.#lines : []) written.length = 0;
				return;
			case 'stall':
				if (this.#hasCallLine && this.outbox.expectsProgress) this.outbox.stalled();
				return;
			case 'store':
				for (const name of STREAMS) this.#stored[name] = this.#persisted;
				if (this.#hasCallLine) this.outbox.acked({ persisted: this.#persisted, stored: this.#stored });
				return;
			case 'drain':
				this.#isDraining = true;
				return;
			case 'close':
				this.#isDraining = true;
				this.outbox.close();
				this.#rejectAll();
		}
	}

	/** The sidecar reads lines of every uplink, also of those that were ended: oldest first, as a restart of its call line leaves them. */
	#deliver(count: number): void {
		for (const { written } of this.#lines) {
			for (const text of written.splice(0, count)) {
				const { seq, body } = readLine(text);
				this.#takeLine(seq, body);
			}
		}
	}

	#takeLine(seq: number, body: string): void {
		if (body !== this.#accepted[seq - 1]) throw new Error(`seq ${seq} is another event than the one that was accepted`);
		if (seq > this.#taken.length + 1) throw new Error(`a gap: ${seq} after ${this.#taken.length}`);
		if (seq === this.#taken.length + 1) this.#taken.push(body);
	}

	#persist(count: number, refuses = false): void {
		const before = this.#persisted;
		this.#persisted = Math.min(this.#taken.length, before + count);
		if (refuses && this.#persisted > before) this.#refused.add(this.#persisted);
		if (this.#hasCallLine) this.outbox.acked({ persisted: this.#persisted, refused: this.#refusals() });
	}

	#refusals() {
		return [...this.#refused].map((seq) => ({ seq, code: 'BAD_REQUEST' as const, message: 'because' }));
	}

	#setWindow(bytes: number): void {
		this.#window = { bytes, events: bytes === 0 ? 0 : 20 };
		if (this.#hasCallLine) this.outbox.windowed(this.#window);
	}

	#rejectAll(): void {
		this.#waits.rejectAll(() => refusedError({ seq: 0, code: 'INTERNAL', message: 'the end' }, ''));
	}

	#checkWindow(): void {
		const { sentCount, sentBytes } = this.outbox.kept;
		const window = this.outbox.window ?? { bytes: 0, events: 0 };
		const fits = sentCount <= window.events && sentBytes <= window.bytes;
		if (!fits && (sentCount > 1 || window.bytes === 0)) throw new Error('more was sent than the window allows');
	}

	#check(): void {
		const { kept, persisted } = this.outbox;
		if (persisted > this.#persisted) throw new Error(`${persisted} was forgotten, ${this.#persisted} is persisted`);
		if (kept.first !== persisted + 1) throw new Error(`${kept.first} is the oldest line after ${persisted}`);
		if (kept.bytes + this.#waits.queuedBytes > BUFFER_BYTES_MAX) throw new Error('the buffer is over its limit');
		if (this.isEnded && this.#isDraining && kept.count === 0 && this.#persisted < kept.last) {
			throw new Error('it ended before everything was persisted');
		}
	}
}

function readLine(text: string): { readonly seq: number; readonly body: string } {
	const [, seq = '', body = ''] = /^\{"seq":(\d+)(,.*\n)$/s.exec(text) ?? [];
	return { seq: Number(seq), body };
}
