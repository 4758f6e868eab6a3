import type { Duplex } from 'node:stream';

import {
	encodeFailure,
	encodePayload,
	encodePush,
	encodeReply,
	type GoawayData,
	isId,
	type PayloadText,
	type Request,
	readClientMessage,
	type ServiceQuery,
	type ServiceSource,
	SpockError,
	type WireError,
} from '@spock/protocol';
import type { Clock, TimerHandle } from '@spock/protocol/internal';
import { FramedSocket } from '@spock/protocol/node';

import type { ResolvedLimits } from '../options.ts';
import type { CloseReason, SidecarObserver } from '../sidecar-observer.ts';
import type { Answer, Call, Caller } from './answer.ts';
import type { Dispatcher } from './dispatcher.ts';
import { snapshotPayload, snapshotPush } from './snapshot-text.ts';
import { Subscriptions } from './subscriptions.ts';

/** Unread output above which pushes wait for the client, newest only; replies are not held back by it. */
const PUSH_BUSY_BYTES = 65_536;
/** How long a client that is closed for what it sent may take to end its own side. */
const LINGER_MS = 1000;

/** What every connection shares. */
export interface ConnectionContext {
	readonly source: ServiceSource;
	readonly dispatcher: Dispatcher;
	readonly limits: ResolvedLimits;
	readonly clock: Clock;
	readonly observer: SidecarObserver;
	/** Called once, when the connection is gone. */
	readonly closed: (connection: Connection, reason: CloseReason) => void;
}

/** One client: its frames, its requests in flight, its subscriptions. Nothing it sends can throw past this class. */
export class Connection implements Caller {
	readonly id: number;
	readonly #context: ConnectionContext;
	readonly #framed: FramedSocket;
	readonly #inFlight = new Map<number, AbortController>();
	readonly #subscriptions: Subscriptions;
	#reason: CloseReason = 'client';
	#badFramesInARow = 0;
	#peerEnded = false;
	#ending = false;
	#features: readonly string[] = [];
	#endTimer: TimerHandle | undefined;
	#partialSinceMs: number | undefined;
	// Made when first needed: most connections never wait for anything.
	#alive: AbortController | undefined;

	constructor(id: number, socket: Duplex, context: ConnectionContext) {
		this.id = id;
		this.#context = context;
		this.#subscriptions = new Subscriptions(
			context.source,
			{
				isBusy: () => this.#framed.bufferedBytes > PUSH_BUSY_BYTES,
				push: (snapshot) => {
					context.observer.pushed?.('sent');
					this.#send(snapshotPush(snapshot));
				},
				superseded: () => context.observer.pushed?.('superseded'),
			},
			context.limits.subscriptionsMax,
		);
		this.#framed = new FramedSocket(
			socket,
			{
				frame: (text) => this.#onFrame(text),
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
		return this.#subscriptions.size;
	}

	/** Requests that wait for an answer. */
	get inFlight(): number {
		return this.#inFlight.size;
	}

	get bytesRead(): number {
		return this.#framed.bytesRead;
	}

	get bytesWritten(): number {
		return this.#framed.bytesWritten;
	}

	greet(features: readonly string[]): void {
		this.#features = features;
	}

	subscribe(query: ServiceQuery): Promise<Answer<never>> | Answer<never> {
		const found = this.#subscriptions.add(query, this.#aliveSignal(), undefined);
		if (found instanceof Promise) return found.then((snapshot) => snapshotPayload(snapshot) as Answer<never>);
		return snapshotPayload(found) as Answer<never>;
	}

	unsubscribe(query: ServiceQuery): void {
		this.#subscriptions.remove(query);
	}

	/** Asks the client to go elsewhere, if it understands that. */
	goaway(data: GoawayData): void {
		if (this.#features.includes('goaway')) this.#send(encodePush('goaway', encodePayload(data)));
	}

	/** Sends what is pending and ends the connection once every request in flight is answered. */
	end(reason: CloseReason): void {
		if (!this.#ending) this.#reason = reason;
		this.#ending = true;
		this.#subscriptions.clear();
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

	#onFrame(text: string): void {
		this.#partialSinceMs = undefined;
		const message = readClientMessage(text);
		if (message.kind === 'request') {
			this.#badFramesInARow = 0;
			this.#onRequest(message);
		} else if (message.kind === 'notice') {
			this.#badFramesInARow = 0;
			this.#onCancel(message.data);
		} else {
			this.#fail(message.id, { ...message, retryable: false });
			if (message.code !== 'BAD_FRAME') this.#badFramesInARow = 0;
			else this.#countBadFrame();
		}
	}

	#onFault(code: 'BAD_FRAME' | 'FRAME_TOO_LARGE', message: string): void {
		const { limits } = this.#context;
		const details = code === 'FRAME_TOO_LARGE' ? { frameBytesMax: limits.frameBytesMax } : {};
		this.#fail(null, { code, message, retryable: false, details });
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
		for (const controller of this.#inFlight.values()) controller.abort();
		this.#inFlight.clear();
		this.#subscriptions.clear();
		// Ended and then read to nowhere for a while: a close with unread input would reset the connection, and the client
		// might never see the failure.
		this.#framed.discardInput();
		this.#framed.end();
		this.#armEndTimer(LINGER_MS);
	}

	#onRequest(request: Request): void {
		if (this.#ending && this.#reason !== 'shutdown') return;
		const { limits, dispatcher } = this.#context;
		if (this.#inFlight.has(request.id)) {
			// Not through #answerFailure: the first request with this id goes on, and its end must find its entry.
			const error = new SpockError('BAD_REQUEST', `the id ${request.id} is in flight`, { details: { path: 'id' } });
			this.#fail(request.id, error.toWire());
			return;
		}
		const startedAtMs = this.#context.clock.now();
		if (this.#inFlight.size >= limits.inFlightMax) {
			const message = `${limits.inFlightMax} requests are in flight on this connection, which is the limit`;
			const error = new SpockError('OVERLOADED', message, { details: { inFlightMax: limits.inFlightMax } });
			this.#answerFailure(request, error, startedAtMs);
			return;
		}
		const call = new RequestCall(this, request.timeoutMs);
		try {
			const payload = dispatcher.dispatch(request.func, request.data, call);
			if (payload instanceof Promise) this.#wait(request, call, payload, startedAtMs);
			else this.#answer(request, payload, startedAtMs);
		} catch (error) {
			this.#answerFailure(request, error, startedAtMs);
		}
	}

	#wait(request: Request, call: RequestCall, payload: Promise<PayloadText>, startedAtMs: number): void {
		const { controller } = call;
		this.#inFlight.set(request.id, controller);
		const settle = (send: () => void): void => {
			// Cancelled, or the connection is gone: the id may already belong to another request.
			if (this.#inFlight.get(request.id) !== controller) return;
			this.#inFlight.delete(request.id);
			send();
			if (this.#ending || this.#peerEnded) this.#endIfIdle();
		};
		payload.then(
			(text) => settle(() => this.#answer(request, text, startedAtMs)),
			(error: unknown) => settle(() => this.#answerFailure(request, error, startedAtMs)),
		);
	}

	#answer(request: Request, payload: PayloadText, startedAtMs: number): void {
		const line = encodeReply(request.id, payload);
		const { limits, observer, clock } = this.#context;
		if (line.length * 3 > limits.frameBytesMax && Buffer.byteLength(line) - 1 > limits.frameBytesMax) {
			const message = 'the answer is longer than a frame may be';
			const error = new SpockError('FRAME_TOO_LARGE', message, { details: { frameBytesMax: limits.frameBytesMax } });
			this.#answerFailure(request, error, startedAtMs);
			return;
		}
		this.#send(line);
		observer.answered?.(request.func, 'ok', clock.now() - startedAtMs);
	}

	#answerFailure(request: Request, reason: unknown, startedAtMs: number): void {
		const { observer, clock, dispatcher } = this.#context;
		const error = SpockError.from(reason);
		if (error.code === 'INTERNAL') observer.fault?.(request.func, reason);
		this.#fail(request.id, error.toWire());
		observer.answered?.(
			dispatcher.knows(request.func) ? request.func : 'other',
			error.toWire().code,
			clock.now() - startedAtMs,
		);
	}

	#fail(id: number | null, { code, message, retryable, details }: WireError): void {
		this.#send(encodeFailure(id, { code, message, retryable, details }));
	}

	#onCancel(data: unknown): void {
		const id: unknown = typeof data === 'object' && data !== null ? (data as { id?: unknown }).id : undefined;
		if (!isId(id)) return;
		const controller = this.#inFlight.get(id);
		this.#inFlight.delete(id);
		controller?.abort();
	}

	#send(line: string): void {
		this.#framed.write(line);
		if (this.#framed.bufferedBytes > this.#context.limits.outputBytesMax && this.#endTimer === undefined) {
			// The client's own requests make the output: not reading them is what bounds the memory.
			this.#framed.pause();
			this.#armEndTimer(this.#context.limits.slowConsumerMs);
		}
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
		this.#subscriptions.flush();
	}

	/** The client has sent its last request: it gets every answer, then we end too. */
	#onPeerEnded(): void {
		this.#peerEnded = true;
		this.#subscriptions.clear();
		this.#endIfIdle();
	}

	#endIfIdle(): void {
		if (this.#inFlight.size > 0) return;
		this.#ending = true;
		this.#framed.end();
		// A peer that never ends its own side must not keep the connection for ever.
		if (!this.#peerEnded) this.#armEndTimer(this.#context.limits.slowConsumerMs);
	}

	#onClosed(error: Error | undefined): void {
		this.#context.clock.clearTimeout(this.#endTimer);
		for (const controller of this.#inFlight.values()) controller.abort();
		this.#inFlight.clear();
		this.#subscriptions.clear();
		this.#alive?.abort();
		if (error !== undefined && this.#reason === 'client') this.#reason = 'error';
		this.#context.closed(this, this.#reason);
	}

	#aliveSignal(): AbortSignal {
		this.#alive ??= new AbortController();
		return this.#alive.signal;
	}
}

/** A call whose abort signal is made only when its handler asks for it: most are answered before anybody could cancel. */
class RequestCall implements Call {
	readonly caller: Caller;
	readonly timeoutMs: number | undefined;
	#controller: AbortController | undefined;

	constructor(caller: Caller, timeoutMs: number | undefined) {
		this.caller = caller;
		this.timeoutMs = timeoutMs;
	}

	get controller(): AbortController {
		this.#controller ??= new AbortController();
		return this.#controller;
	}

	get signal(): AbortSignal {
		return this.controller.signal;
	}
}
