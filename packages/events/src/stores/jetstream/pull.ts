import type { Msg } from '@nats-io/transport-node';
import { offAbort, onAbort } from '@spock/protocol/internal';

import type { NatsSession } from './nats-link.ts';

const NANOSECONDS = 1_000_000;
/** Asked for at once, and so kept at most; more than any event has bytes. */
const PULL_EVENTS = 256;
const PULL_BYTES = 2 * 1024 * 1024;
const PULL_EXPIRES_MS = 30_000;
/** A server silent for twice this is considered lost. */
const HEARTBEAT_MS = 5000;

interface PullListener {
	message(message: Msg, sequence: number, pending: number): void;
	/** A request is over. */
	idle(): void;
	/** Nothing has come for a while. */
	quiet(): void;
	/** The consumer is of no more use. */
	ended(): void;
}

/** Asks a consumer of the server for messages, one request at a time. */
export class Pull {
	readonly #session: NatsSession;
	readonly #subject: string;
	readonly #inbox: string;
	readonly #listener: PullListener;
	readonly #unsubscribe: () => void;
	readonly #ended = (): void => this.end();
	#timer: NodeJS.Timeout | undefined;
	/** Of the request that is open, or was the last. */
	#reply = '';
	#requests = 0;
	#asked = 0;
	#delivered = 0;
	#isEnded = false;

	constructor(session: NatsSession, stream: string, consumer: string, listener: PullListener) {
		this.#session = session;
		this.#subject = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`;
		this.#inbox = session.newInbox();
		this.#listener = listener;
		const subscription = session.connection.subscribe(`${this.#inbox}.*`, {
			callback: (error, message) => {
				if (error === null) this.#take(message);
				else this.end();
			},
		});
		this.#unsubscribe = () => {
			subscription.unsubscribe();
			// If this fails, the server ends the consumer by itself: it has an `inactive_threshold`.
			session.consumers.delete(stream, consumer).catch(() => undefined);
		};
		onAbort(session.ended, this.#ended);
	}

	get isAsking(): boolean {
		return this.#asked > 0;
	}

	ask(): void {
		if (this.#asked > 0 || this.#isEnded) return;
		this.#asked = PULL_EVENTS;
		this.#reply = `${this.#inbox}.${++this.#requests}`;
		const request = {
			batch: PULL_EVENTS,
			max_bytes: PULL_BYTES,
			expires: PULL_EXPIRES_MS * NANOSECONDS,
			idle_heartbeat: HEARTBEAT_MS * NANOSECONDS,
		};
		this.#session.connection.publish(this.#subject, JSON.stringify(request), { reply: this.#reply });
		this.#watch();
	}

	end(): void {
		if (this.#isEnded) return;
		this.#isEnded = true;
		clearTimeout(this.#timer);
		offAbort(this.#session.ended, this.#ended);
		if (!this.#session.ended.aborted) this.#unsubscribe();
		this.#listener.ended();
	}

	#take(message: Msg): void {
		if (this.#isEnded) return;
		this.#watch();
		const code = message.headers?.code ?? 0;
		const place = message.reply === undefined ? undefined : deliveryOf(message.reply);
		if (place === undefined) {
			// Such a message has the subject of its request: a word on one before says nothing of this one.
			if (message.subject === this.#reply) this.#status(code, message.headers?.description ?? '');
			return;
		}
		if (place.delivered !== this.#delivered + 1) {
			this.end();
			return;
		}
		this.#delivered++;
		this.#asked--;
		this.#listener.message(message, place.sequence, place.pending);
		if (this.#asked === 0) this.#idle();
	}

	/** 100: a heartbeat. 404, 408, and 409 with these texts: the request is over. Anything else: the consumer is. */
	#status(code: number, description: string): void {
		if (code === 100) {
			this.#listener.quiet();
			return;
		}
		const isOver = code === 404 || code === 408 || (code === 409 && /bytes|batch completed/i.test(description));
		if (!isOver) {
			this.end();
			return;
		}
		// Newer servers say that a request is over also where its last message has said it.
		if (this.#asked === 0) return;
		this.#asked = 0;
		this.#idle();
	}

	#idle(): void {
		clearTimeout(this.#timer);
		this.#listener.idle();
	}

	#watch(): void {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(this.#ended, 2 * HEARTBEAT_MS);
	}
}

/** `$JS.ACK.<stream>.<consumer>.<times>.<sequence>.<delivered>.<time>.<pending>`, or with domain and account behind the first two. */
function deliveryOf(
	reply: string,
): { readonly sequence: number; readonly delivered: number; readonly pending: number } | undefined {
	const tokens = reply.split('.');
	if (tokens[0] !== '$JS' || tokens[1] !== 'ACK') return undefined;
	const at = tokens.length === 9 ? 5 : 7;
	return { sequence: Number(tokens[at]), delivered: Number(tokens[at + 1]), pending: Number(tokens[at + 3]) };
}
