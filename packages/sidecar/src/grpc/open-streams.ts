import type { ServerWritableStream } from '@grpc/grpc-js';
import { SpockError } from '@spock/protocol';
import type { Clock, TimerHandle } from '@spock/protocol/internal';

import { type FailedStatus, statusName, statusOf } from './grpc-status.ts';

/** What one gRPC connection and all of them together may have. Every one is there so that no client can take the memory of the others. */

/** Calls of one connection at once, streams among them: more wait at the client. */
export const STREAMS_PER_CONNECTION_MAX = 1000;
/** Streams of Watch and of health, of all connections: the next one is RESOURCE_EXHAUSTED. */
export const STREAMS_MAX = 10_000;
/** Longest request, in bytes: the longest question is a tenth of it. */
export const REQUEST_BYTES_MAX = 65_536;
/** Longest answer, in bytes: the default limit of clients. */
export const RESPONSE_BYTES_MAX = 4_194_304;
/** A connection is asked for a sign of life this often, and cut off if none comes in the time below, in milliseconds. */
export const KEEPALIVE_MS = 60_000;
export const KEEPALIVE_TIMEOUT_MS = 20_000;

/** How often the tokens of open streams are checked, and how many of them are ended at a time: each of those callers begins another. */
const CHECK_MS = 1000;
const ENDED_AT_ONCE_MAX = 1000;

/** What {@link OpenStreams} needs. */
export interface OpenStreamsOptions {
	readonly clock: Clock;
	/** How long a client may leave a message unread, in milliseconds. */
	readonly slowConsumerMs: number;
	readonly answered: (method: string, code: string) => void;
	/** Why a call that was let in is refused now, its token being removed; undefined while it is not. */
	readonly refusal: (call: object) => FailedStatus | undefined;
}

/** One stream of states: the client is sent the newest, one at a time, however slowly it reads. */
export interface OpenStream {
	/** Sends it as soon as the one before has left; a newer one takes its place until then. */
	send(message: Buffer | object): void;
	/** Ends the stream with this error. */
	fail(error: SpockError): void;
}

/** What a stream that begins says of itself. */
export interface StreamFacts {
	readonly method: string;
	/** What it asks for, for `count`. */
	readonly key: string;
	/** The stream has ended, on either side. Not called within `open`. */
	readonly ended: () => void;
}

/** The streams of a front that are open now. */
export class OpenStreams {
	readonly #options: OpenStreamsOptions;
	readonly #open = new Map<Stream, string>();
	#closing: string | undefined;
	#checkTimer: TimerHandle | undefined;

	constructor(options: OpenStreamsOptions) {
		this.#options = options;
	}

	get size(): number {
		return this.#open.size;
	}

	/** Those that ask for this. */
	count(key: string): number {
		let count = 0;
		for (const one of this.#open.values()) if (one === key) count++;
		return count;
	}

	/** Takes a call. Throws OVERLOADED, or UNAVAILABLE when no more may begin. */
	open(call: ServerWritableStream<unknown, unknown>, { method, key, ended }: StreamFacts): OpenStream {
		if (this.#closing !== undefined) throw new SpockError('UNAVAILABLE', this.#closing);
		if (this.#open.size >= STREAMS_MAX) {
			throw new SpockError('OVERLOADED', `${STREAMS_MAX} streams are open at this sidecar: share one, or end some`);
		}
		const stream = new Stream(call, this.#options, (code) => {
			this.#open.delete(stream);
			if (this.#open.size === 0) this.#options.clock.clearTimeout(this.#checkTimer);
			this.#options.answered(method, code);
			ended();
		});
		this.#open.set(stream, key);
		if (this.#open.size === 1) this.#armCheck();
		return stream;
	}

	/** Ends every stream, and begins none any more. `why` is for the clients. */
	close(why: string): void {
		this.#closing = why;
		for (const stream of [...this.#open.keys()]) stream.fail(new SpockError('UNAVAILABLE', why));
	}

	#armCheck(): void {
		const { clock, refusal } = this.#options;
		this.#checkTimer = clock.setTimeout(() => {
			this.#armCheck();
			let ended = 0;
			for (const stream of [...this.#open.keys()]) {
				const status = refusal(stream.call);
				if (status === undefined) continue;
				stream.refuse(status);
				if (++ended === ENDED_AT_ONCE_MAX) return;
			}
		}, CHECK_MS);
		this.#checkTimer.unref?.();
	}
}

class Stream implements OpenStream {
	readonly call: ServerWritableStream<unknown, unknown>;
	readonly #options: OpenStreamsOptions;
	readonly #ended: (code: string) => void;
	#isWriting = false;
	#isEnded = false;
	#newest: Buffer | object | undefined;
	#slowTimer: TimerHandle | undefined;

	constructor(
		call: ServerWritableStream<unknown, unknown>,
		options: OpenStreamsOptions,
		ended: (code: string) => void,
	) {
		this.call = call;
		this.#options = options;
		this.#ended = ended;
		call.on('cancelled', () => this.#end('CANCELLED'));
	}

	send(message: Buffer | object): void {
		if (this.#isEnded) return;
		if (this.#isWriting) {
			this.#newest = message;
			return;
		}
		this.#isWriting = true;
		const { clock, slowConsumerMs } = this.#options;
		this.#slowTimer = clock.setTimeout(() => {
			this.fail(new SpockError('OVERLOADED', `this client has left a message unread for ${slowConsumerMs} ms`));
		}, slowConsumerMs);
		this.#slowTimer.unref?.();
		// Called when the message has left, as fast as the flow control of the client lets it.
		this.call.write(message, () => this.#written());
	}

	fail(error: SpockError): void {
		this.refuse(statusOf(error));
	}

	/** Ends the stream with this status. */
	refuse(status: FailedStatus): void {
		if (this.#isEnded) return;
		this.#end(statusName(status.code));
		this.call.emit('error', status);
	}

	#written(): void {
		this.#options.clock.clearTimeout(this.#slowTimer);
		this.#isWriting = false;
		const newest = this.#newest;
		this.#newest = undefined;
		if (newest !== undefined) this.send(newest);
	}

	#end(code: string): void {
		if (this.#isEnded) return;
		this.#isEnded = true;
		this.#newest = undefined;
		this.#options.clock.clearTimeout(this.#slowTimer);
		this.#ended(code);
	}
}
