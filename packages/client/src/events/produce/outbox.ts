import type { EventWindow, OpenProducerData, RefusedEvent, SpockError } from '@spock/protocol';
import type { EventStream } from './event-stream.ts';
import { KeptLines } from './kept-lines.ts';
import { type OutboxAction, type OutboxEvent, type OutboxStateName, outboxMachine } from './outbox-machine.ts';

/** The way of events to the sidecar, over one uplink. Nothing of it throws, and after `end` and `drop` it reports nothing. */
export interface OutboxLine {
	openProducer(data: OpenProducerData): void;
	dialUplink(): void;
	/** Only after it was reported to be open. */
	write(line: string): void;
	/** Lets what was written leave. */
	end(): void;
	drop(): void;
}

/** Told by an outbox, which it must not call meanwhile. */
export interface OutboxListener {
	/** A way that does nothing yet. */
	newLine(): OutboxLine;
	/** An event was taken out of the sequence. `settled` follows. */
	refused(seq: number, stream: EventStream, refusal: RefusedEvent): void;
	/** More is persisted or stored. */
	settled(): void;
	/** Events were sent. */
	sent(): void;
	/** There is a line, and no event can go over it. */
	reported(error: SpockError): void;
	/** What is kept will not be sent. */
	kept(): void;
	changed(from: OutboxStateName, to: OutboxStateName, event: OutboxEvent): void;
}

/** How far the events of a producer have come. */
export interface Progress {
	readonly persisted: number;
	/** By stream. */
	readonly stored?: Readonly<Record<string, number>> | undefined;
	readonly refused?: readonly RefusedEvent[] | undefined;
	/** Persisted events that their store never takes, perhaps told before: not the outbox's business. */
	readonly refusedByStore?: readonly RefusedEvent[] | undefined;
}

/** Where a producer goes on, as the sidecar says. */
export interface Opened extends Progress {
	readonly window: EventWindow;
}

/** Each state has what it needs: a line that is being opened, or one that is open and has a window. */
export type OutboxState =
	| { readonly name: 'away' | 'ended' }
	| { readonly name: 'opening'; readonly line: OutboxLine }
	| { readonly name: 'idle' | 'can send' | 'blocked'; readonly line: OutboxLine; readonly window: EventWindow }
	| { readonly name: 'ending'; readonly line: OutboxLine | undefined; readonly window: EventWindow };

const CLOSED_WINDOW: EventWindow = { bytes: 0, events: 0 };
const NO_PROGRESS: Progress = { persisted: 0 };

/**
 * The events of one producer from their acceptance to their place on the sidecar's disk. Decides what is sent when; everything that
 * has to do with sockets, time and promises is its listener's. Decisions are in {@link outboxMachine}.
 */
export class Outbox {
	readonly producer: string;
	/** Given by the sidecar when it is opened for the first time; set by the owner. */
	epoch: number | undefined = undefined;
	/** Every event up to this `seq` is on disk, or was refused. */
	persisted = 0;
	readonly kept: KeptLines<EventStream>;
	readonly #listener: OutboxListener;
	readonly #find: (stream: string) => EventStream | undefined;
	#state: OutboxState = { name: 'away' };
	/** What the present event brings. */
	#progress: Progress = NO_PROGRESS;
	#window: EventWindow = CLOSED_WINDOW;
	#error: SpockError | undefined;
	/** The line of the state before. */
	#oldLine: OutboxLine | undefined;
	/** Of the event being emitted. */
	#line = '';
	#bytes = 0;
	#stream: EventStream | undefined;

	readonly #actions: Readonly<Record<OutboxAction, () => void>> = {
		keep: () => this.kept.add(this.#line, this.#bytes, this.#stream as EventStream),
		send: () => this.#send(),
		resend: () => {
			this.kept.rewind();
			this.#send();
		},
		forget: () => this.#forget(),
		settle: () => this.#listener.settled(),
		'open producer': () => {
			const { producer, epoch, persisted } = this;
			this.#newLine?.openProducer(epoch === undefined ? { producer } : { producer, epoch, persisted });
		},
		'dial uplink': () => this.#newLine?.dialUplink(),
		'end old uplink': () => this.#oldLine?.end(),
		'end uplink': () => this.#oldLine?.end(),
		'drop uplink': () => this.#oldLine?.drop(),
		report: () => this.#error && this.#listener.reported(this.#error),
		'reject kept': () => this.#listener.kept(),
	};

	/** `find` knows the streams by their names. `kept` is for tests. */
	constructor(
		producer: string,
		find: (stream: string) => EventStream | undefined,
		listener: OutboxListener,
		kept: KeptLines<EventStream> = new KeptLines(),
	) {
		this.producer = producer;
		this.#find = find;
		this.#listener = listener;
		this.kept = kept;
	}

	get state(): OutboxStateName {
		return this.#state.name;
	}

	/** What may be sent beyond `persisted`; undefined while no line is open. */
	get window(): EventWindow | undefined {
		return 'window' in this.#state && this.#state.line !== undefined ? this.#state.window : undefined;
	}

	/** True while events are on their way, and the sidecar has room for them: it is expected to persist some. */
	get expectsProgress(): boolean {
		return this.kept.sentCount > 0 && this.#isOpen && (this.window?.bytes ?? 0) > 0;
	}

	/** Accepts an event; `line` is made for the next seq, `kept.last + 1`. Not once it is draining. */
	emit(stream: EventStream, line: string, bytes: number): void {
		this.#stream = stream;
		this.#line = line;
		this.#bytes = bytes;
		this.#dispatch('emitted');
		stream.accepted = this.kept.last;
	}

	adopted(): void {
		this.#dispatch('adopted');
	}

	/** The line is open: the producer is known, and its uplink takes events. Later lines and earlier ones do not count. */
	opened(line: OutboxLine, opened: Opened): void {
		if (!('line' in this.#state) || this.#state.line !== line) return;
		this.#window = opened.window;
		this.#progress = opened;
		// What was acked since the sidecar answered is more than its answer says.
		const persisted = Math.max(opened.persisted, this.persisted);
		this.#dispatch(persisted < this.kept.last ? 'opened, some kept' : 'opened, none kept');
	}

	/** Numbers that are lower than known ones change nothing. Those above what was accepted are the caller's to refuse. */
	acked(progress: Progress): void {
		this.#progress = progress;
		this.#dispatch(
			this.kept.last > Math.max(progress.persisted, this.persisted) ? 'acked, some left' : 'acked, none left',
		);
		this.#storedOnly(progress);
		this.#sendIfRoom();
	}

	windowed(window: EventWindow): void {
		const state = this.#state;
		if (!('window' in state) || !this.#isOpen) return;
		this.#state = { ...state, window };
		this.#sendIfRoom();
	}

	stalled(): void {
		this.#dispatch('stalled');
	}

	/** The call line is gone, or this line. */
	lost(line?: OutboxLine): void {
		if (line === undefined || ('line' in this.#state && this.#state.line === line)) this.#dispatch('lost');
	}

	/** This line can carry no events, and the next attempt on the same call line would end the same way. */
	noEventsHere(line: OutboxLine, error: SpockError): void {
		if (!('line' in this.#state) || this.#state.line !== line) return;
		this.#error = error;
		this.#dispatch('no events here');
	}

	drain(): void {
		this.#dispatch(this.kept.count > 0 ? 'drain, some kept' : 'drain, none kept');
	}

	close(): void {
		this.#dispatch('close');
	}

	get #newLine(): OutboxLine | undefined {
		return 'line' in this.#state ? this.#state.line : undefined;
	}

	/** Lines are written only once the sidecar has said where to go on. */
	get #isOpen(): boolean {
		return 'window' in this.#state && this.#state.window !== CLOSED_WINDOW && this.#state.line !== undefined;
	}

	/** The whole of a table's cell, without an allocation where the state stays. */
	#dispatch(event: OutboxEvent): void {
		const from = this.#state;
		const cell = outboxMachine[from.name][event];
		if (cell === null || cell === undefined) return;
		// Not destructured: an iterator for each event costs more than the table.
		const name = cell[0];
		this.#oldLine = 'line' in from ? from.line : undefined;
		if (name !== from.name || event === 'adopted' || event === 'stalled' || name === 'ending') {
			this.#state = this.#enter(name, event);
			if (name !== from.name) this.#listener.changed(from.name, name, event);
		}
		for (let index = 1; index < cell.length; index++) this.#actions[cell[index] as OutboxAction]();
	}

	#enter(name: OutboxStateName, event: OutboxEvent): OutboxState {
		const from = this.#state;
		const line = 'line' in from ? from.line : undefined;
		const window = 'window' in from ? from.window : CLOSED_WINDOW;
		switch (name) {
			case 'away':
			case 'ended':
				return { name };
			case 'opening':
				return { name, line: this.#listener.newLine() };
			case 'ending':
				if (event === 'adopted' || event === 'stalled') {
					return { name, line: this.#listener.newLine(), window: CLOSED_WINDOW };
				}
				if (event === 'lost' || event === 'no events here') return { name, line: undefined, window: CLOSED_WINDOW };
				return { name, line, window: event === 'opened, some kept' ? this.#window : window };
			default:
				// The table leads here only from states with a line.
				return { name, line: line as OutboxLine, window: from.name === 'opening' ? this.#window : window };
		}
	}

	#send(): void {
		const { kept } = this;
		const state = this.#state;
		if (!('window' in state) || state.line === undefined) return;
		const sentBefore = kept.next;
		while (kept.hasUnsent && this.#fits(state.window)) state.line.write(kept.send());
		if (kept.next > sentBefore) this.#listener.sent();
		if (kept.hasUnsent) this.#dispatch('window used up');
	}

	/** One event always fits into a window that is open, however large it is. */
	#fits({ bytes, events }: EventWindow): boolean {
		const { sentCount, sentBytes, next } = this.kept;
		if (sentCount === 0) return bytes > 0 && events > 0;
		return sentCount < events && sentBytes + this.kept.bytesOf(next) <= bytes;
	}

	#sendIfRoom(): void {
		const state = this.#state;
		if ('window' in state && this.#isOpen && this.kept.hasUnsent && this.#fits(state.window)) {
			this.#dispatch('window, room');
		}
	}

	#forget(): void {
		const { persisted, stored, refused } = this.#progress;
		const refusals = new Map(refused?.map((refusal) => [refusal.seq, refusal]));
		for (let { first } = this.kept; first <= persisted && first <= this.kept.last; first++) {
			const stream = this.kept.ownerOf(first) as EventStream;
			const refusal = refusals.get(first);
			this.kept.forget();
			this.persisted = first;
			if (refusal === undefined) stream.persisted = first;
			else this.#listener.refused(first, stream, refusal);
		}
		this.#advance(stored);
	}

	/** Stores report later than the disk does, and also while nothing is kept. */
	#storedOnly({ stored }: Progress): void {
		if (stored !== undefined && this.#advance(stored)) this.#listener.settled();
	}

	#advance(stored: Progress['stored']): boolean {
		let hasGrown = false;
		for (const [name, seq] of Object.entries(stored ?? {})) {
			const stream = this.#find(name);
			if (stream === undefined || seq <= stream.stored) continue;
			stream.stored = seq;
			hasGrown = true;
		}
		return hasGrown;
	}
}
