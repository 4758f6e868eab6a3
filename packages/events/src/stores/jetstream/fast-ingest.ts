import type { Msg } from '@nats-io/transport-node';
import { SpockError } from '@spock/protocol';
import { offAbort, onAbort } from '@spock/protocol/internal';

import type { EventMessage } from './event-message.ts';
import { type NatsSession, storeError } from './nats-link.ts';

/** As the server counts them, in the replies of a batch. */
const START = 0;
const APPEND = 1;
const COMMIT = 2;
const PING = 4;
/** Most messages between two acks that we ask for; the server gives no more than this. */
const FLOW = 500;
/** Acks that may be outstanding, as nats.js has it. */
const ACKS_OUTSTANDING = 2;
/** A message or an ack that was lost with a leader is found by asking; in a batch that goes on nobody asks. */
const PING_AFTER_MS = 500;

/** How a batch ended. */
export interface IngestEnd {
	/** So many of its messages, from the first on, are stored: now, or before. */
	readonly stored: number;
	/** What the server said of the next one. */
	readonly refused?: ApiError;
}

export interface ApiError {
	readonly code: number;
	readonly err_code: number;
	readonly description: string;
}

export interface IngestOptions {
	/** Without any answer for so long it rejects. */
	readonly timeoutMs: number;
	/** So many, from the first on, are stored: ascending. */
	stored(count: number): void;
}

/** What the server sends to the inbox of a batch (ADR-50 of NATS). */
interface IngestAnswer {
	readonly type?: 'ack' | 'gap' | 'err';
	readonly seq?: number;
	readonly msgs?: number;
	readonly batch?: string;
	readonly count?: number;
	readonly error?: ApiError;
}

/**
 * One batch of fast ingest (NATS 2.14, ADR-50 "Fast-ingest Batch Publishing"), in the mode in which a gap ends it: messages are stored in order
 * or not at all, and acks are cumulative. Rejects with UNAVAILABLE: then any number of them, from the first on, may be stored.
 *
 * Not `startFastIngest` of nats.js: that makes a promise for each message, forgets which one was refused, takes one round trip before the
 * second message, and cannot be ended with its connection.
 */
export function fastIngest(
	session: NatsSession,
	messages: Iterator<EventMessage>,
	count: number,
	options: IngestOptions,
): Promise<IngestEnd> {
	return new Promise((resolve, reject) => {
		new FastIngest(session, messages, count, options, resolve, reject).start();
	});
}

class FastIngest {
	readonly #session: NatsSession;
	readonly #messages: Iterator<EventMessage>;
	readonly #count: number;
	readonly #options: IngestOptions;
	readonly #resolve: (end: IngestEnd) => void;
	readonly #reject: (error: SpockError) => void;
	readonly #prefix: string;
	readonly #unsubscribe: () => void;
	readonly #ended = (): void => this.#fail(this.#session.ended.reason as SpockError);
	#timer: NodeJS.Timeout;
	#waitedMs = 0;
	#subject = '';
	#sent = 0;
	#acked = 0;
	#flow = FLOW;
	#refused: ApiError | undefined;
	#isDone = false;

	constructor(
		session: NatsSession,
		messages: Iterator<EventMessage>,
		count: number,
		options: IngestOptions,
		resolve: (end: IngestEnd) => void,
		reject: (error: SpockError) => void,
	) {
		this.#session = session;
		this.#messages = messages;
		this.#count = count;
		this.#options = options;
		this.#resolve = resolve;
		this.#reject = reject;
		// The token behind the inbox is the name of the batch.
		const inbox = session.newInbox();
		this.#prefix = `${inbox}.${FLOW}.fail`;
		const callback = (error: Error | null, message: Msg): void => this.#inTry(() => this.#take(error, message));
		const subscription = session.connection.subscribe(`${inbox}.>`, { callback });
		this.#unsubscribe = () => subscription.unsubscribe();
		this.#timer = setTimeout(() => this.#wait(), PING_AFTER_MS);
		onAbort(session.ended, this.#ended);
	}

	start(): void {
		this.#inTry(() => this.#send());
	}

	/** Whatever throws ends it: nobody else would hear of it. */
	#inTry(act: () => void): void {
		try {
			act();
		} catch (error) {
			this.#fail(storeError('a batch for the NATS server failed', error));
		}
	}

	#send(): void {
		const { connection } = this.#session;
		const windowEnd = Math.min(this.#count, this.#acked + ACKS_OUTSTANDING * this.#flow);
		while (!this.#isDone && this.#sent < windowEnd) {
			const { value, done } = this.#messages.next();
			if (done === true) throw new RangeError(`a batch of ${this.#count} ended after ${this.#sent} messages`);
			const { subject, headers, payload } = value;
			this.#subject = subject;
			const seq = ++this.#sent;
			const operation = seq === this.#count ? COMMIT : seq === 1 ? START : APPEND;
			connection.publish(subject, payload, { headers, reply: this.#reply(seq, operation) });
		}
	}

	#reply(seq: number, operation: number): string {
		return `${this.#prefix}.${seq}.${operation}.$FI`;
	}

	#take(error: Error | null, message: Msg): void {
		if (this.#isDone) return;
		if (error !== null) {
			this.#fail(new SpockError('UNAVAILABLE', 'the answers of the NATS server do not come', { cause: error }));
			return;
		}
		if (message.headers !== undefined && message.headers.code === 503) {
			this.#fail(new SpockError('UNAVAILABLE', 'the NATS stream has no leader now'));
			return;
		}
		this.#waitedMs = 0;
		this.#timer.refresh();
		const answer = message.json<IngestAnswer>();
		// A refused message or a gap ends the batch; how much was stored is said next.
		if (answer.type === 'err') this.#refused ??= answer.error;
		else if (answer.type === 'ack') this.#ackedTo(answer.seq ?? 0, answer.msgs ?? this.#flow);
		else if (answer.error !== undefined) this.#failed(answer.error, seqOf(message.subject));
		else if (answer.batch !== undefined) this.#committed(answer.count ?? 0);
	}

	#ackedTo(acked: number, flow: number): void {
		this.#flow = Math.max(1, flow);
		if (acked > this.#acked) {
			this.#acked = acked;
			this.#options.stored(acked);
		}
		this.#send();
	}

	/** The first message alone is refused without a batch; another error there is, of a batch that the server does not know any more. */
	#failed(refused: ApiError, seq: number): void {
		if (seq === 1) this.#end({ stored: 0, refused });
		else this.#fail(new SpockError('UNAVAILABLE', `the NATS server ended a batch: ${refused.description}`));
	}

	#committed(stored: number): void {
		this.#end(this.#refused === undefined ? { stored } : { stored, refused: this.#refused });
	}

	#wait(): void {
		this.#waitedMs += PING_AFTER_MS;
		if (this.#waitedMs >= this.#options.timeoutMs) {
			const text = `the NATS server has acknowledged nothing for ${this.#options.timeoutMs} ms`;
			this.#fail(new SpockError('UNAVAILABLE', text));
			return;
		}
		this.#session.connection.publish(this.#subject, '', { reply: this.#reply(this.#sent, PING) });
		this.#timer.refresh();
	}

	#end(end: IngestEnd): void {
		this.#stop();
		if (end.stored > this.#acked) this.#options.stored(end.stored);
		this.#resolve(end);
	}

	#fail(error: SpockError): void {
		this.#stop();
		this.#reject(error);
	}

	#stop(): void {
		this.#isDone = true;
		clearTimeout(this.#timer);
		offAbort(this.#session.ended, this.#ended);
		if (!this.#session.ended.aborted) this.#unsubscribe();
	}
}

/** Of the message that an answer is for: it is in the subject that we gave. */
function seqOf(subject: string): number {
	return Number(subject.split('.').at(-3));
}
