import { Buffer } from 'node:buffer';

import { SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';
import { messageOf } from '@spock/protocol/internal';

import type { LogEvent } from '../foundation/log-record.ts';
import { AdaptiveWindow, type SentBytes } from './adaptive-window.ts';

/** What an event takes besides its text, so that many small ones are bounded as well. */
const EVENT_OVERHEAD_BYTES = 128;

/** What an event counts for in a window. */
export function sizeOf({ text }: LogEvent): number {
	return Buffer.byteLength(text) + EVENT_OVERHEAD_BYTES;
}

/** What flights need, and tell. */
interface FlightsHost {
	readonly clock: Clock;
	/** A call of the store. */
	append(events: readonly LogEvent[], stored: (position: number) => void): Promise<void>;
	/** These events are stored, the last of them so long after it was sent. */
	progress(events: readonly LogEvent[], ackMs: number): void;
	/** The first event that is not stored was rejected, or one behind it. */
	rejected(error: SpockError): void;
}

/** Events that were given to the store in one call. */
interface Flight {
	readonly events: readonly LogEvent[];
	readonly sent: SentBytes;
	/** So many are stored. */
	stored: number;
	outcome: { readonly error?: SpockError } | undefined;
}

/** What is on its way to a store, oldest first, and the window that it is sent by. */
export class Flights {
	readonly window: AdaptiveWindow = new AdaptiveWindow();
	readonly #host: FlightsHost;
	#flights: Flight[] = [];
	/** Calls that are not settled, forgotten ones too. */
	readonly #calls = new Set<Promise<void>>();

	constructor(host: FlightsHost) {
		this.#host = host;
	}

	get isEmpty(): boolean {
		return this.#flights.length === 0;
	}

	/** The first event that is not stored. */
	get first(): LogEvent | undefined {
		const [head] = this.#flights;
		return head?.events[head.stored];
	}

	send(events: readonly LogEvent[]): void {
		let bytes = 0;
		for (const event of events) bytes += sizeOf(event);
		const sent = this.window.sent(bytes, this.#host.clock.now());
		const flight: Flight = { events, sent, stored: 0, outcome: undefined };
		this.#flights.push(flight);
		const call = inTry(() => this.#host.append(events, (position) => this.#progress(position))).then(
			() => {
				flight.outcome = {};
			},
			(error: unknown) => {
				flight.outcome = { error: asSpockError(error) };
			},
		);
		const settled = call.then(() => {
			this.#calls.delete(settled);
			this.#settle();
		});
		this.#calls.add(settled);
	}

	/** What is under way counts no more. Nothing is sent before it is `settled`. */
	forget(): void {
		this.#flights = [];
		this.window.forget();
	}

	/** Every call that was made is settled, also those that were forgotten. */
	async settled(): Promise<void> {
		await Promise.all(this.#calls);
	}

	/** Everything up to a position is stored. */
	#progress(position: number): void {
		const nowMs = this.#host.clock.now();
		const stored: LogEvent[] = [];
		let ackMs = 0;
		for (let head = this.#flights[0]; head !== undefined; head = this.#flights[0]) {
			let bytes = 0;
			for (; head.stored < head.events.length; head.stored++) {
				const event = head.events[head.stored] as LogEvent;
				if (event.position > position) break;
				bytes += sizeOf(event);
				stored.push(event);
			}
			if (bytes > 0) {
				ackMs = nowMs - head.sent.sentMs;
				this.window.acked(head.sent, bytes, nowMs);
			}
			if (head.stored < head.events.length) break;
			this.#flights.shift();
		}
		if (stored.length > 0) this.#host.progress(stored, ackMs);
	}

	/** Calls that are settled, in the order in which they were made: of those behind a rejected one nothing follows. */
	#settle(): void {
		for (let head = this.#flights[0]; head?.outcome !== undefined; head = this.#flights[0]) {
			const { error } = head.outcome;
			if (error !== undefined) {
				this.#host.rejected(error);
				return;
			}
			this.#progress((head.events.at(-1) as LogEvent).position);
		}
	}
}

/** `async`, so that what a store throws is a rejection as any other. */
async function inTry(call: () => Promise<void>): Promise<void> {
	await call();
}

/** An error of a store's own kind says nothing of an event. */
export function asSpockError(error: unknown): SpockError {
	if (SpockError.is(error)) return error;
	return new SpockError('UNAVAILABLE', messageOf(error), { cause: error });
}
