import { Buffer } from 'node:buffer';

import { EVENT_BYTES_MAX, encodeEvent, type PublishData, type PublishReply, SpockError } from '@spock/protocol';
import { offAbort, onAbort } from '@spock/protocol/internal';

import type { NewEvent } from '../foundation/log-record.ts';

/** Most events by `publish` that wait for the disk. */
export const PUBLISHES_MAX = 4096;
/** Most bytes of their texts. */
export const PUBLISHES_BYTES_MAX: number = 8 * 1024 * 1024;

interface PendingPublish {
	/** It is answered once this one is on disk. */
	readonly position: number;
	readonly bytes: number;
	readonly resolve: () => void;
	readonly reject: (error: SpockError) => void;
}

/** What publishes are appended by. */
export interface PublishAppender {
	/** Gives the position, or that of the first event with this id. */
	publish(
		stream: string,
		key: string | undefined,
		id: string | undefined,
		text: string,
	): { readonly position: number; readonly duplicate: boolean };
	/** As it is; gives its position. */
	append(event: NewEvent): number;
	/** Every record below is on disk. */
	readonly persisted: number;
	/** An event of this stream is on disk. */
	countPersisted(stream: string): void;
}

/** Events by a request each: answered when persisted. At most {@link PUBLISHES_MAX} wait. */
export class Publishes {
	readonly #appender: PublishAppender;
	/** In the order in which they came. A repetition waits behind its first one, so it may wait longer than it must. */
	readonly #pending: PendingPublish[] = [];
	#head = 0;
	#bytes = 0;

	constructor(appender: PublishAppender) {
		this.#appender = appender;
	}

	get count(): number {
		return this.#pending.length - this.#head;
	}

	/** Rejects with OVERLOADED, FRAME_TOO_LARGE, ABORTED, and what `append` throws. */
	publish(data: PublishData, signal: AbortSignal | undefined): Promise<PublishReply> {
		return new Promise((resolve, reject) => {
			if (signal?.aborted === true) throw abortedError(signal);
			const text = encodeEvent(data);
			const bytes = Buffer.byteLength(text);
			this.#admit(bytes);
			const { position, duplicate } = this.#appender.publish(data.stream, data.key, data.id, text);
			if (position < this.#appender.persisted) {
				resolve({ position, duplicate });
				return;
			}
			// It stays among those that wait, because its bytes do.
			const abort = (): void => reject(abortedError(signal));
			this.#pending.push({
				position,
				bytes,
				resolve: () => {
					if (!duplicate) this.#appender.countPersisted(data.stream);
					offAbort(signal, abort);
					resolve({ position, duplicate });
				},
				reject: (error) => {
					offAbort(signal, abort);
					reject(error);
				},
			});
			if (signal !== undefined) onAbort(signal, abort);
			this.#bytes += bytes;
		});
	}

	/** Appends an event that the sidecar itself has made; resolves when it is persisted. Those are bounded by who makes them. */
	bury(event: NewEvent): Promise<void> {
		return new Promise((resolve, reject) => {
			const position = this.#appender.append(event);
			const settle = (): void => {
				this.#appender.countPersisted(event.stream);
				resolve();
			};
			this.#pending.push({ position, bytes: 0, resolve: settle, reject });
		});
	}

	/** Everything below is on disk. */
	committed(persisted: number): void {
		for (; this.#head < this.#pending.length; this.#head++) {
			const { position, bytes, resolve } = this.#pending[this.#head] as PendingPublish;
			if (position >= persisted) break;
			this.#bytes -= bytes;
			resolve();
		}
		// Half of it is done: the rest moves down, so each moves once at most on average.
		if (this.#head * 2 >= this.#pending.length) {
			this.#pending.splice(0, this.#head);
			this.#head = 0;
		}
	}

	/** Nothing more is committed. */
	reject(error: SpockError): void {
		const rest = this.#pending.splice(0).slice(this.#head);
		this.#head = 0;
		this.#bytes = 0;
		for (const { reject } of rest) reject(error);
	}

	#admit(bytes: number): void {
		if (bytes > EVENT_BYTES_MAX) {
			const advice = 'split it, or keep its content elsewhere';
			throw new SpockError('FRAME_TOO_LARGE', `the event has ${bytes} bytes, more than ${EVENT_BYTES_MAX}: ${advice}`, {
				details: { bytes, eventBytesMax: EVENT_BYTES_MAX },
				isStackless: true,
			});
		}
		if (this.count < PUBLISHES_MAX && this.#bytes + bytes <= PUBLISHES_BYTES_MAX) return;
		throw new SpockError(
			'OVERLOADED',
			`${this.count} published events wait for the disk, ${this.#bytes} bytes: publish fewer at a time, or open a producer`,
			{ details: { publishesMax: PUBLISHES_MAX, publishesBytesMax: PUBLISHES_BYTES_MAX }, isStackless: true },
		);
	}
}

function abortedError(signal: AbortSignal | undefined): SpockError {
	return new SpockError('ABORTED', 'publish was aborted; the event may be stored all the same', {
		cause: signal?.reason,
		isStackless: true,
	});
}
