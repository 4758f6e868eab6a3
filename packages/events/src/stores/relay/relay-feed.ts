import { Buffer } from 'node:buffer';

import { type EventWindow, encodeEventLine, type RefusedEvent, SpockError } from '@spock/protocol';

import type { LogEvent } from '../../foundation/log-record.ts';
import type { LinkListener, RelayLink } from './relay-link.ts';

/**
 * Of lines that wait to be packed and taken by the socket; the next line goes when there is less. The events themselves are in memory until they are
 * acknowledged, so a second copy of a whole window would only be in the way.
 */
const BACKLOG_BYTES_MAX = 1024 * 1024;

/** What a feed needs of its link. */
type FeedLink = Pick<RelayLink, 'place' | 'backlogBytes' | 'ask' | 'write' | 'close'>;

/** What a feed needs. */
export interface FeedHost {
	/** Rejects with UNAVAILABLE. */
	readonly open: (listener: LinkListener) => Promise<FeedLink>;
	/** So long nothing may be persisted while something is to be, in milliseconds. */
	readonly stallMs: number;
}

/** Events that were given in one call. */
interface Call {
	readonly events: readonly LogEvent[];
	readonly stored: (position: number) => void;
	readonly resolve: () => void;
	readonly reject: (error: SpockError) => void;
	/** Of the texts that were sent, in UTF-8. */
	readonly sizes: number[];
	/** So many are on disk. */
	done: number;
}

const CLOSED: EventWindow = { bytes: 0, events: 0 };

/** The events of one stream on their way to the other sidecar: sent within its window, in order, and forgotten when they are on its disk. */
export class RelayFeed {
	readonly #host: FeedHost;
	readonly #calls: Call[] = [];
	/** The call of which events are to be sent next. */
	#sending = 0;
	#link: FeedLink | undefined;
	#opening: Promise<FeedLink> | undefined;
	#window = CLOSED;
	/** Sent and not on disk. */
	#sentCount = 0;
	#sentBytes = 0;
	/** The highest position that is known to be on disk there. */
	#persisted = 0;
	/** What is to be said once everything in front of it is on disk. */
	#refusal: RefusedEvent | undefined;
	/** Why nothing is taken, until it was asked where to go on. */
	#fault: SpockError | undefined;
	#stall: NodeJS.Timeout | undefined;
	/** What was on disk when the stall timer was set. */
	#persistedBefore = 0;
	#isClosed = false;

	constructor(host: FeedHost) {
		this.#host = host;
	}

	append(events: readonly LogEvent[], stored: (position: number) => void): Promise<void> {
		return new Promise((resolve, reject) => {
			if (this.#fault !== undefined) throw this.#fault;
			this.#calls.push({ events, stored, resolve, reject, sizes: [], done: 0 });
			this.#arm();
			if (this.#link !== undefined) this.#advance(this.#persisted);
			else this.#linked().catch((error: unknown) => this.#fail(error));
		});
	}

	/** The last position that is on disk there. From then on events are taken again. Rejects with UNAVAILABLE. */
	async lastOf(): Promise<number> {
		// What is told while it is asked counts: some of it may come behind the answer, from a link of an earlier time.
		this.#persisted = 0;
		const persisted = await this.ask();
		this.#fault = undefined;
		this.#persisted = Math.max(this.#persisted, persisted);
		return this.#persisted;
	}

	/** The same, and nothing else. */
	async ask(): Promise<number> {
		const known = this.#link;
		if (known === undefined) return (await this.#linked()).place.persisted;
		const persisted = await known.ask();
		if (this.#link === known) this.#advance(persisted);
		return persisted;
	}

	/** The link is to be another one: what is in flight is given up. */
	leave(error: SpockError): void {
		this.#link?.close();
		this.#fail(error);
	}

	close(): void {
		this.#isClosed = true;
		this.leave(closedError());
		clearTimeout(this.#stall);
	}

	async #linked(): Promise<FeedLink> {
		if (this.#link !== undefined) return this.#link;
		this.#opening ??= this.#open().finally(() => {
			this.#opening = undefined;
		});
		return this.#opening;
	}

	async #open(): Promise<FeedLink> {
		if (this.#isClosed) throw closedError();
		let lost: SpockError | undefined;
		const link = await this.#host.open({
			persisted: (position) => this.#advance(position),
			refused: (refusal) => this.#refused(refusal),
			windowed: (window) => {
				this.#window = window;
				this.#send();
			},
			drained: () => this.#send(),
			lost: (error) => {
				lost = error;
				this.#fail(error);
			},
		});
		if (this.#isClosed) link.close();
		if (this.#isClosed || lost !== undefined) throw lost ?? closedError();
		this.#link = link;
		this.#window = link.place.window;
		const { persisted } = link.place;
		if (persisted < this.#persisted) {
			// Whoever asks is told; events that were given would leave a gap.
			this.#fault = new SpockError('UNAVAILABLE', `the log of the next sidecar has lost what is above ${persisted}`);
			this.#reject(this.#fault);
			return link;
		}
		this.#advance(persisted);
		return link;
	}

	/** Everything up to a position is on disk. */
	#advance(persisted: number): void {
		this.#persisted = Math.max(this.#persisted, persisted);
		for (let call = this.#calls[0]; call !== undefined; call = this.#calls[0]) {
			const { events, sizes, stored, resolve } = call;
			const before = call.done;
			for (; call.done < events.length; call.done++) {
				if ((events[call.done] as LogEvent).position > this.#persisted) break;
				const bytes = sizes[call.done];
				if (bytes === undefined) {
					// It was there already, and is not sent.
					sizes.push(0);
					continue;
				}
				this.#sentCount--;
				this.#sentBytes -= bytes;
			}
			if (call.done > before) stored((events[call.done - 1] as LogEvent).position);
			if (call.done < events.length) break;
			this.#calls.shift();
			this.#sending = Math.max(0, this.#sending - 1);
			resolve();
		}
		if (this.#refusal !== undefined) this.#settleRefusal(this.#refusal);
		else this.#send();
	}

	/** Sends what the window has room for. One event always fits into a window that is open. */
	#send(): void {
		const link = this.#link;
		if (link === undefined || this.#refusal !== undefined) return;
		const { bytes, events: count } = this.#window;
		const lengthMax = BACKLOG_BYTES_MAX - link.backlogBytes;
		let lines = '';
		for (; this.#sending < this.#calls.length; this.#sending++) {
			const { events, sizes } = this.#calls[this.#sending] as Call;
			while (
				sizes.length < events.length &&
				this.#sentCount < count &&
				this.#sentBytes < bytes &&
				lines.length < lengthMax
			) {
				const { position, text } = events[sizes.length] as LogEvent;
				const size = Buffer.byteLength(text);
				sizes.push(size);
				this.#sentCount++;
				this.#sentBytes += size;
				lines += encodeEventLine(position, text);
			}
			if (sizes.length < events.length) break;
		}
		if (lines !== '') link.write(lines);
	}

	/** That the events before it are on disk is told behind this. */
	#refused(refusal: RefusedEvent): void {
		this.#refusal = refusal;
		this.#settleRefusal(refusal);
	}

	#settleRefusal({ seq, code, message }: RefusedEvent): void {
		const [call] = this.#calls;
		const first = call?.events[call.done];
		if (first === undefined || first.position < seq) return;
		// The other sidecar has closed the uplink, so that nothing behind it was taken.
		this.#unlink();
		const isOfEvent = code === 'BAD_REQUEST' || code === 'FRAME_TOO_LARGE';
		this.#reject(new SpockError(isOfEvent ? code : 'UNAVAILABLE', `the next sidecar refused an event: ${message}`));
	}

	/** Nothing more is sent until it was asked where to go on. */
	#fail(error: unknown): void {
		this.#unlink();
		this.#fault = SpockError.from(error);
		this.#reject(this.#fault);
	}

	#unlink(): void {
		this.#link?.close();
		this.#link = undefined;
		this.#window = CLOSED;
		this.#refusal = undefined;
	}

	/** Every call that is under way ends with this. */
	#reject(error: SpockError): void {
		const calls = this.#calls.splice(0);
		this.#sending = 0;
		this.#sentCount = 0;
		this.#sentBytes = 0;
		for (const { reject } of calls) reject(error);
	}

	/** A link by which nothing comes is left: its other end may be dead, or full for long. */
	#arm(): void {
		if (this.#stall !== undefined) return;
		this.#persistedBefore = this.#persisted;
		this.#stall = setTimeout(() => {
			this.#stall = undefined;
			if (this.#calls.length === 0) return;
			if (this.#persisted > this.#persistedBefore) {
				this.#arm();
				return;
			}
			const why = this.#window.reason ?? 'it does not say why';
			const message = `the next sidecar has persisted nothing for ${this.#host.stallMs} ms: ${why}`;
			this.#fail(new SpockError('UNAVAILABLE', message));
		}, this.#host.stallMs);
		this.#stall.unref();
	}
}

function closedError(): SpockError {
	return new SpockError('UNAVAILABLE', 'the store was closed');
}
