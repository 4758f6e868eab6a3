import { setMaxListeners } from 'node:events';
import type { Duplex } from 'node:stream';

import {
	encodePayload,
	encodePush,
	type GoawayData,
	type HelloData,
	type KeyQuery,
	type KeySnapshot,
	type RegistrationReply,
	readClientMessage,
	type ServiceQuery,
	type ServiceSnapshot,
	type ServiceSource,
	type WatcherStatus,
} from '@spock/protocol';
import type { TimerHandle } from '@spock/protocol/internal';
import { FramedSocket } from '@spock/protocol/node';

import type { CloseReason } from '../sidecar-observer.ts';
import type { Answer } from './answer.ts';
import { Pushes } from './pushes.ts';
import { Requests, type RequestsContext, type RequestsPort } from './requests.ts';
import { snapshotPayload } from './snapshot-text.ts';

/** Unread output above which pushes wait for the client, newest only; replies are not held back by it. */
const PUSH_BUSY_BYTES = 65_536;
/** How long a client that is closed for what it sent may take to end its own side. */
const LINGER_MS = 1000;

/** What every connection shares. */
export interface ConnectionContext extends RequestsContext {
	readonly source: ServiceSource;
	/** Called once, when the connection is gone. */
	readonly closed: (connection: Connection, reason: CloseReason) => void;
}

/** One client: its frames, its requests in flight, its subscriptions. Nothing it sends can throw past this class. */
export class Connection implements RequestsPort {
	readonly id: number;
	readonly #context: ConnectionContext;
	readonly #framed: FramedSocket;
	readonly #requests: Requests;
	readonly #pushes: Pushes;
	#reason: CloseReason = 'client';
	#badFramesInARow = 0;
	#peerEnded = false;
	#ending = false;
	#hello: HelloData | undefined;
	/** Why the client is to go, also one that says hello only later. */
	#away: GoawayData | undefined;
	#endTimer: TimerHandle | undefined;
	#partialSinceMs: number | undefined;
	// Made when first needed: most connections never wait for anything.
	#alive: AbortController | undefined;

	constructor(id: number, socket: Duplex, context: ConnectionContext) {
		this.id = id;
		this.#context = context;
		this.#requests = new Requests(context, this);
		this.#pushes = new Pushes(
			context.source,
			{
				isBusy: () => this.#framed.bufferedBytes > PUSH_BUSY_BYTES,
				push: (line) => {
					context.observer.pushed?.('sent');
					this.send(line);
				},
				superseded: () => context.observer.pushed?.('superseded'),
			},
			context.limits.subscriptionsMax,
		);
		this.#framed = new FramedSocket(
			socket,
			{
				frame: (text) => this.#onFrame(text, undefined),
				numbered: (id, rest) => this.#onNumbered(id, rest),
				chunkRead: () => this.#requests.chunkRead(),
				fault: (code, message) => this.#onFault(code, message),
				drained: () => this.#onDrained(),
				ended: () => this.#onPeerEnded(),
				closed: (error) => this.#onClosed(error),
			},
			{ frameBytesMax: context.limits.frameBytesMax },
		);
	}

	/** Subscriptions of this client. */
	get subscriptions(): number {
		return this.#pushes.size;
	}

	/** Requests that wait for an answer. */
	get inFlight(): number {
		return this.#requests.waiting;
	}

	get bytesRead(): number {
		return this.#framed.bytesRead;
	}

	get bytesWritten(): number {
		return this.#framed.bytesWritten;
	}

	greet(hello: HelloData): void {
		this.#hello = hello;
		// Behind the answer to hello: before it, the client has nothing yet that it could move.
		if (this.#away !== undefined) queueMicrotask(() => this.#tellAway());
	}

	/** Who this client is, if it subscribes to just this query. */
	watcher(key: string): WatcherStatus | undefined {
		if (!this.#pushes.services.has(key)) return undefined;
		return { connection: this.id, client: this.#hello?.client ?? null, pid: this.#hello?.pid ?? null };
	}

	subscribe(query: ServiceQuery): Promise<Answer<ServiceSnapshot>> | Answer<ServiceSnapshot> {
		return payloadOf(this.#pushes.services.add(query, this.#aliveSignal(), undefined));
	}

	unsubscribe(query: ServiceQuery): void {
		this.#pushes.services.remove(query);
	}

	subscribeKey(query: KeyQuery): Promise<Answer<KeySnapshot>> | Answer<KeySnapshot> {
		return payloadOf(this.#pushes.keys.add(query, this.#aliveSignal(), undefined));
	}

	unsubscribeKey(query: KeyQuery): void {
		this.#pushes.keys.remove(query);
	}

	told(registration: RegistrationReply): void {
		if (this.#hello?.features?.includes('push')) this.send(encodePush('registration', encodePayload(registration)));
	}

	/** Sends a line with the others of this tick. */
	send(line: string): void {
		this.#framed.write(line);
		if (this.#framed.bufferedBytes > this.#context.limits.outputBytesMax && this.#endTimer === undefined) {
			// The client's own requests make the output: not reading them is what bounds the memory.
			this.#framed.pause();
			this.#armEndTimer(this.#context.limits.slowConsumerMs);
		}
	}

	/** A request that had to wait is answered. */
	settled(): void {
		if (this.#ending || this.#peerEnded) this.#endIfIdle();
	}

	/** Asks the client to go elsewhere, if it understands that. */
	goaway(data: GoawayData): void {
		this.#away = data;
		this.#tellAway();
	}

	#tellAway(): void {
		if (this.#away === undefined || !this.#hello?.features?.includes('goaway')) return;
		this.send(encodePush('goaway', encodePayload(this.#away)));
	}

	/** Sends what is pending and ends the connection once every request in flight is answered. */
	end(reason: CloseReason): void {
		if (!this.#ending) this.#reason = reason;
		this.#ending = true;
		this.#pushes.clear();
		this.#endIfIdle();
	}

	/** Drops the connection at once. */
	destroy(reason: CloseReason): void {
		if (!this.#ending) this.#reason = reason;
		this.#framed.destroy();
	}

	/** Closes a connection whose frame takes too long; called now and then for all connections. */
	checkPartialFrame(nowMs: number): void {
		if (this.#framed.partialBytes === 0) {
			this.#partialSinceMs = undefined;
		} else {
			this.#partialSinceMs ??= nowMs;
			if (nowMs - this.#partialSinceMs >= this.#context.limits.partialFrameMs) this.destroy('partial-frame');
		}
	}

	#onNumbered(id: number, rest: string): void {
		if (this.#acceptsRequests() && this.#requests.acceptKnown(id, rest)) {
			this.#partialSinceMs = undefined;
			this.#badFramesInARow = 0;
		} else this.#onFrame(`{"id":${id}${rest}`, rest);
	}

	/** Any frame; `rest` is what stands behind its id, if it begins with one. */
	#onFrame(text: string, rest: string | undefined): void {
		this.#partialSinceMs = undefined;
		const message = readClientMessage(text);
		if (message.kind === 'request') {
			this.#badFramesInARow = 0;
			if (this.#acceptsRequests()) this.#requests.accept(message, rest);
		} else if (message.kind === 'notice') {
			this.#badFramesInARow = 0;
			this.#requests.cancel((message.data as { id?: unknown } | null)?.id);
		} else {
			this.#requests.fail(message.id, { ...message, retryable: false });
			if (message.code !== 'BAD_FRAME') this.#badFramesInARow = 0;
			else this.#countBadFrame();
		}
	}

	/** Until its end, and on a shutdown up to its last byte: a client cannot know yet that it must go elsewhere. */
	#acceptsRequests(): boolean {
		return !this.#ending || this.#reason === 'shutdown';
	}

	#onFault(code: 'BAD_FRAME' | 'FRAME_TOO_LARGE', message: string): void {
		const { limits } = this.#context;
		const details = code === 'FRAME_TOO_LARGE' ? { frameBytesMax: limits.frameBytesMax } : {};
		this.#requests.fail(null, { code, message, retryable: false, details });
		if (code === 'FRAME_TOO_LARGE') this.#closeForInput('frame-too-large');
		else this.#countBadFrame();
	}

	#countBadFrame(): void {
		if (++this.#badFramesInARow >= this.#context.limits.badFramesInARowMax) this.#closeForInput('bad-frames');
	}

	/** The client is told why before the end; what else it sends is not looked at. */
	#closeForInput(reason: CloseReason): void {
		if (this.#ending) return;
		this.#reason = reason;
		this.#ending = true;
		this.#requests.cancelAll();
		this.#pushes.clear();
		// Ended and then read to nowhere for a while: a close with unread input would reset the connection, and the client
		// might never see the failure.
		this.#framed.discardInput();
		this.#framed.end();
		this.#armEndTimer(LINGER_MS);
	}

	#armEndTimer(delayMs: number): void {
		const { clock } = this.#context;
		clock.clearTimeout(this.#endTimer);
		this.#endTimer = clock.setTimeout(() => {
			if (!this.#ending) this.#reason = 'slow-consumer';
			this.#framed.destroy();
		}, delayMs);
		this.#endTimer.unref?.();
	}

	#onDrained(): void {
		if (!this.#ending) {
			this.#context.clock.clearTimeout(this.#endTimer);
			this.#endTimer = undefined;
			this.#framed.resume();
		}
		this.#pushes.flush();
	}

	/** The client has sent its last request: it gets every answer, then we end too. */
	#onPeerEnded(): void {
		this.#peerEnded = true;
		this.#pushes.clear();
		this.#endIfIdle();
	}

	#endIfIdle(): void {
		if (this.#requests.waiting > 0) return;
		this.#ending = true;
		this.#framed.end();
		// A peer that never ends its own side must not keep the connection for ever.
		if (!this.#peerEnded) this.#armEndTimer(this.#context.limits.slowConsumerMs);
	}

	#onClosed(error: Error | undefined): void {
		this.#context.clock.clearTimeout(this.#endTimer);
		this.#requests.cancelAll();
		this.#pushes.clear();
		this.#alive?.abort();
		if (error !== undefined && this.#reason === 'client') this.#reason = 'error';
		this.#context.closed(this, this.#reason);
	}

	#aliveSignal(): AbortSignal {
		if (this.#alive === undefined) {
			this.#alive = new AbortController();
			// Every first subscription waits with it: more than ten at once are no leak.
			setMaxListeners(0, this.#alive.signal);
		}
		return this.#alive.signal;
	}
}

function payloadOf<S extends ServiceSnapshot | KeySnapshot>(found: S | Promise<S>): Answer<S> | Promise<Answer<S>> {
	return found instanceof Promise ? found.then(snapshotPayload) : snapshotPayload(found);
}
