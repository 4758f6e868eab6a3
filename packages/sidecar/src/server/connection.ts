import type { Duplex } from 'node:stream';

import {
	type ClientMessage,
	encodePayload,
	encodePush,
	type Fault,
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
import type { TokenCheck } from './accepted-tokens.ts';
import type { Answer, Call } from './answer.ts';
import type { ConnectionFacts } from './connection-facts.ts';
import { Intake, type IntakeContext, NEW_FRAME_COST } from './intake.ts';
import type { LoadedConnection } from './overload.ts';
import { Pushes } from './pushes.ts';
import { registrationPush } from './registration-push.ts';
import { Requests, type RequestsContext, type RequestsPort } from './requests.ts';
import { snapshotPayload } from './snapshot-text.ts';
import { denial, TOKEN_HELLO_BYTES_MAX } from './token-gate.ts';

/** Unread output above which pushes wait for the client, newest only; replies are not held back by it. */
const PUSH_BUSY_BYTES = 65_536;
/** How long a client that is closed for what it sent may take to end its own side. */
const LINGER_MS = 1000;

/** What every connection shares. */
export interface ConnectionContext extends RequestsContext, IntakeContext {
	readonly source: ServiceSource;
	/** Called once, when the connection is gone. */
	readonly closed: (connection: Connection, reason: CloseReason) => void;
}

/** One client: its frames, its requests in flight, its subscriptions. Nothing it sends can throw past this class. */
export class Connection implements RequestsPort, LoadedConnection {
	readonly id: number;
	frameBytesMax: number;
	readonly #context: ConnectionContext;
	readonly #framed: FramedSocket;
	readonly #requests: Requests;
	readonly #pushes: Pushes;
	readonly #intake: Intake;
	readonly #openedAtMs: number;
	/** The window it was told last. */
	#window: number;
	#handledBefore = 0;
	#reason: CloseReason = 'client';
	#badFramesInARow = 0;
	#peerEnded = false;
	#ending = false;
	#hello: HelloData | undefined;
	/** Why the client is to go, also one that says hello only later. */
	#away: GoawayData | undefined;
	#endTimer: TimerHandle | undefined;
	#partialSinceMs: number | undefined;
	/** True while requests are answered. */
	#accepts: boolean;
	/** What its hello must pass before anything else is answered; undefined once it has, or needs not. */
	#tokens: TokenCheck | undefined;

	/** With `tokens`, nothing is answered before a hello with one of them. */
	constructor(id: number, socket: Duplex, context: ConnectionContext, tokens: TokenCheck | undefined) {
		this.id = id;
		this.frameBytesMax = context.limits.frameBytesMax;
		this.#tokens = tokens;
		this.#accepts = tokens === undefined;
		this.#context = context;
		this.#openedAtMs = context.clock.now();
		this.#window = context.limits.inFlightMax;
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
				longestFrame: () => this.frameBytesMax,
				oversize: (name, refusal) => context.observer.oversize?.(id, name, refusal),
				now: () => context.clock.now(),
				full: () => context.limited('subscriptionsMax'),
			},
			context.limits.subscriptionsMax,
		);
		this.#framed = new FramedSocket(
			socket,
			{
				frame: (text) => this.#onFrame(text, undefined),
				numbered: (id, rest) => this.#onNumbered(id, rest),
				chunkRead: () => {
					this.#requests.chunkRead();
					this.#intake.chunkRead();
				},
				fault: (code, message) => this.#onFault(code, message),
				drained: () => this.#onDrained(),
				ended: () => this.#onPeerEnded(),
				closed: (error) => this.#onClosed(error),
			},
			{
				frameBytesMax: tokens === undefined ? this.frameBytesMax : Math.min(this.frameBytesMax, TOKEN_HELLO_BYTES_MAX),
			},
		);
		this.#intake = new Intake(
			this.#framed,
			context,
			() => this.destroy('slow-consumer'),
			() => {
				if (this.#ending || this.#peerEnded) this.#endIfIdle();
			},
		);
	}

	/** Subscriptions of this client. */
	get subscriptions(): number {
		return this.#pushes.size;
	}

	/** Of those, and of those that were refused, how many are too long for this client. */
	get oversizeSubscriptions(): number {
		return this.#pushes.oversizeCount;
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

	get outputBytes(): number {
		return this.#framed.bufferedBytes;
	}

	get window(): number | undefined {
		return this.#hello?.features?.includes('window') ? this.#window : undefined;
	}

	facts(): ConnectionFacts {
		const { id, subscriptions, inFlight, outputBytes, bytesRead, bytesWritten } = this;
		const { client = null, pid = null } = this.#hello ?? {};
		const requests = this.#requests.handled;
		const openedAtMs = this.#openedAtMs;
		return { id, client, pid, openedAtMs, subscriptions, inFlight, outputBytes, requests, bytesRead, bytesWritten };
	}

	sample(): number {
		// What was told a sample ago has been read by now.
		this.#requests.inFlightMax = this.#window;
		const count = this.#requests.handled - this.#handledBefore;
		this.#handledBefore = this.#requests.handled;
		return count;
	}

	tellWindow(inFlightMax: number): void {
		this.#window = inFlightMax;
		if (inFlightMax > this.#requests.inFlightMax) this.#requests.inFlightMax = inFlightMax;
		this.send(encodePush('window', encodePayload({ inFlightMax })));
	}

	greet(hello: HelloData): void {
		this.#hello = hello;
		const { frameBytesMax } = this.#context.limits;
		this.frameBytesMax = Math.min(frameBytesMax, hello.frameBytesMax ?? frameBytesMax);
		// Behind the answer to hello: before it, the client has nothing yet that it could move.
		if (this.#away !== undefined) queueMicrotask(() => this.#tellAway());
	}

	/** Who this client is, if it subscribes to just this query, or wants to. */
	watcher(key: string): WatcherStatus | undefined {
		const { services } = this.#pushes;
		const oversize = services.isOversize(key);
		if (!services.has(key) && !oversize) return undefined;
		const { client = null, pid = null } = this.#hello ?? {};
		return { connection: this.id, client, pid, ...(oversize && { oversize }) };
	}

	subscribe(query: ServiceQuery, call: Call): Promise<Answer<ServiceSnapshot>> | Answer<ServiceSnapshot> {
		return payloadOf(this.#pushes.services.add(query, call));
	}

	unsubscribe(query: ServiceQuery): void {
		this.#pushes.services.remove(query);
	}

	subscribeKey(query: KeyQuery, call: Call): Promise<Answer<KeySnapshot>> | Answer<KeySnapshot> {
		return payloadOf(this.#pushes.keys.add(query, call));
	}

	unsubscribeKey(query: KeyQuery): void {
		this.#pushes.keys.remove(query);
	}

	told(registration: RegistrationReply): void {
		if (!this.#hello?.features?.includes('push')) return;
		const line = registrationPush(registration, this.frameBytesMax);
		if (line !== undefined) this.send(line);
	}

	/** Sends a line with the others of this tick. */
	send(line: string): void {
		this.#framed.write(line);
		// The client's own requests make the output: not reading them is what bounds the memory.
		this.#intake.sent();
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
		// On a shutdown up to its last byte: a client cannot know yet that it must go elsewhere.
		this.#accepts = this.#reason === 'shutdown' && this.#tokens === undefined;
		this.#pushes.clear();
		this.#endIfIdle();
	}

	/** Drops the connection at once, for this reason unless it was ending anyway. */
	destroy(reason: CloseReason): void {
		if (!this.#ending) this.#reason = reason;
		this.#framed.destroy();
	}

	/** Closes a connection that takes too long to say something; called now and then for all connections. */
	checkTimes(nowMs: number): void {
		const { limits, limited } = this.#context;
		const isSilent = this.#tokens !== undefined || this.#framed.bytesRead === this.#framed.partialBytes;
		if (isSilent && nowMs - this.#openedAtMs >= limits.handshakeMs) {
			limited('handshakeMs');
			this.destroy('handshake');
			return;
		}
		if (this.#framed.partialBytes === 0) {
			this.#partialSinceMs = undefined;
		} else {
			this.#partialSinceMs ??= nowMs;
			if (nowMs - this.#partialSinceMs < limits.partialFrameMs) return;
			limited('partialFrameMs');
			this.destroy('partial-frame');
		}
	}

	#onNumbered(id: number, rest: string): void {
		if (this.#accepts && this.#requests.acceptKnown(id, rest)) {
			this.#partialSinceMs = undefined;
			this.#badFramesInARow = 0;
			this.#intake.frameRead(1);
		} else this.#onFrame(`{"id":${id}${rest}`, rest);
	}

	/** Any frame; `rest` is what stands behind its id, if it begins with one. */
	#onFrame(text: string, rest: string | undefined): void {
		this.#partialSinceMs = undefined;
		const message = readClientMessage(text);
		if (this.#tokens !== undefined && !this.#mayEnter(message, this.#tokens)) return;
		if (message.kind === 'request') {
			this.#badFramesInARow = 0;
			if (this.#accepts) this.#requests.accept(message, rest);
		} else if (message.kind === 'notice') {
			this.#badFramesInARow = 0;
			this.#requests.cancel((message.data as { id?: unknown } | null)?.id);
		} else {
			this.#requests.fail(message.id, { ...message, retryable: false });
			if (message.code !== 'BAD_FRAME') this.#badFramesInARow = 0;
			else this.#countBadFrame();
		}
		this.#intake.frameRead(NEW_FRAME_COST);
	}

	/** Whether this frame is the hello that lets it in; the connection is closed if not. */
	#mayEnter(message: ClientMessage | Fault, tokens: TokenCheck): boolean {
		const error = denial(message, tokens);
		if (error === undefined) {
			this.#tokens = undefined;
			this.#framed.frameBytesMax = this.#context.limits.frameBytesMax;
			this.#accepts = !this.#ending || this.#reason === 'shutdown';
			return true;
		}
		this.#requests.fail(message.kind === 'request' ? message.id : null, error.toWire());
		this.#closeForInput('denied');
		return false;
	}

	#onFault(code: 'BAD_FRAME' | 'FRAME_TOO_LARGE', message: string): void {
		if (this.#tokens !== undefined) {
			this.#mayEnter({ kind: 'fault', id: null, code, message, details: {} }, this.#tokens);
			return;
		}
		const { limits, limited } = this.#context;
		const details = code === 'FRAME_TOO_LARGE' ? { frameBytesMax: limits.frameBytesMax } : {};
		this.#requests.fail(null, { code, message, retryable: false, details });
		if (code === 'FRAME_TOO_LARGE') {
			limited('frameBytesMax');
			this.#closeForInput('frame-too-large');
		} else this.#countBadFrame();
	}

	#countBadFrame(): void {
		const { limits, limited } = this.#context;
		if (++this.#badFramesInARow < limits.badFramesInARowMax || this.#ending) return;
		limited('badFramesInARowMax');
		this.#closeForInput('bad-frames');
	}

	/** The client is told why before the end; what else it sends is not looked at. */
	#closeForInput(reason: CloseReason): void {
		if (this.#ending) return;
		this.#reason = reason;
		this.#ending = true;
		this.#accepts = false;
		this.#requests.cancelAll();
		this.#pushes.clear();
		// Ended and then read to nowhere for a while: a close with unread input would reset the connection, and the client
		// might never see the failure.
		this.#framed.discardInput();
		this.#intake.open();
		this.#framed.end();
		this.#armEndTimer(LINGER_MS);
	}

	#armEndTimer(delayMs: number): void {
		const { clock } = this.#context;
		clock.clearTimeout(this.#endTimer);
		this.#endTimer = clock.setTimeout(() => this.#framed.destroy(), delayMs);
		this.#endTimer.unref?.();
	}

	#onDrained(): void {
		this.#intake.drained();
		this.#pushes.flush();
	}

	/** The client has sent its last request: it gets every answer, then we end too. */
	#onPeerEnded(): void {
		this.#peerEnded = true;
		this.#pushes.clear();
		this.#endIfIdle();
	}

	#endIfIdle(): void {
		// Requests that were read before its end and held are answered too.
		if (this.#endTimer !== undefined || this.#requests.waiting > 0 || this.#intake.isPaused) return;
		this.#ending = true;
		if (this.#reason !== 'shutdown') this.#accepts = false;
		this.#framed.end();
		// A peer that never ends its own side must not keep the connection for ever.
		if (!this.#peerEnded) this.#armEndTimer(this.#context.limits.slowConsumerMs);
	}

	#onClosed(error: Error | undefined): void {
		this.#context.clock.clearTimeout(this.#endTimer);
		this.#intake.close();
		this.#requests.cancelAll();
		this.#pushes.clear();
		if (error !== undefined && this.#reason === 'client') this.#reason = 'error';
		this.#context.closed(this, this.#reason);
	}
}

function payloadOf<S extends ServiceSnapshot | KeySnapshot>(found: S | Promise<S>): Answer<S> | Promise<Answer<S>> {
	return found instanceof Promise ? found.then(snapshotPayload) : snapshotPayload(found);
}
