import {
	encodeFailure,
	encodeReplyPieces,
	encodeReplyTail,
	fitsFrame,
	frameTooLargeError,
	isId,
	type PayloadText,
	type Request,
	SpockError,
	splitTrace,
	type TraceContext,
	type WireError,
} from '@spock/protocol';
import { type Clock, FrameHeads } from '@spock/protocol/internal';
import { SLICE_CHARACTERS } from '@spock/protocol/node';

import type { ResolvedLimits } from '../foundation/limits.ts';
import type { LimitName, SidecarObserver } from '../foundation/observer.ts';
import type { Overload } from '../overload/overload.ts';
import { type Answered, type Caller, PartedAnswer } from './answer.ts';
import type { Dispatcher, PreparedRequest, RequestMemo } from './dispatcher.ts';
import { RequestCall } from './request-call.ts';
import { TracedRequests } from './traced-requests.ts';

/** A waiting request that is longer than this counts with its bytes; the others are bounded by their number. */
const LONG_BYTES = 1024;
/** Its payloads wait within the window of its producer. */
const OWN_WINDOW = 'publish';

/** Characters of a message that fit into the shortest frame. */
const FAILURE_LENGTH_MAX = 128;

/** What the requests of a connection need. */
export interface RequestsContext {
	readonly dispatcher: Dispatcher;
	readonly memo: RequestMemo;
	readonly limits: ResolvedLimits;
	readonly clock: Clock;
	readonly observer: SidecarObserver;
	/** The load of all connections together. */
	readonly overload: Overload;
	readonly limited: (limit: LimitName) => void;
}

/** The connection that sends the answers. */
export interface RequestsPort extends Caller {
	/** Sends a line, or one of its pieces, which all go in one turn. */
	send(text: string): void;
	/** A waiting request was answered. */
	settled(): void;
}

/**
 * The requests of one connection: answers at once if possible, and tracks the others until they are answered or cancelled, or the
 * connection ends.
 */
export class Requests {
	readonly #context: RequestsContext;
	readonly #port: RequestsPort;
	readonly #heads = new FrameHeads();
	readonly #waiting = new Map<number, RequestCall>();
	/** Requests with a trace context; created for the first. */
	#traced: TracedRequests | undefined;
	// Requests answered at once within the current chunk: counted together, with one reading of the clock.
	#answeredFunc = '';
	#answeredCount = 0;
	#chunkStartedMs = -1;
	/** Most that may wait; narrowed in an overload. */
	inFlightMax: number;
	/** Requests answered or begun, since the start; those of the current chunk may be missing. */
	handled = 0;

	constructor(context: RequestsContext, port: RequestsPort) {
		this.#context = context;
		this.#port = port;
		this.inFlightMax = context.limits.inFlightMax;
	}

	/** Requests that wait for an answer. */
	get waiting(): number {
		return this.#waiting.size;
	}

	/** Handles the common request: an id, and a rest of the frame that was seen before. False for any other. */
	acceptKnown(id: number, rest: string): boolean {
		const prepared = this.#context.memo.find(rest);
		if (prepared === undefined) return this.#acceptTraced(id, rest);
		if (this.#mayStart(id, prepared.func)) this.#handle(prepared, id);
		return true;
	}

	/** The same for a request with a trace, which makes its frame unique: the text behind the trace was seen before. */
	#acceptTraced(id: number, rest: string): boolean {
		const split = splitTrace(rest);
		const prepared = split && this.#context.memo.find(split.rest);
		if (prepared === undefined) return false;
		this.#beginTraced(id, prepared.func, split?.trace);
		if (this.#mayStart(id, prepared.func)) this.#handle(prepared, id);
		this.#endTraced(id);
		return true;
	}

	/** Handles any request, of so many bytes; `rest` is the text behind its id, if its frame begins with that. */
	accept(request: Request, bytes: number, rest: string | undefined): void {
		const { id, func, data, timeoutMs, trace } = request;
		const { dispatcher, memo } = this.#context;
		const known = dispatcher.knows(func) ? func : 'other';
		this.#beginTraced(id, known, trace);
		const heldBytes = bytes > LONG_BYTES && func !== OWN_WINDOW ? bytes : 0;
		if (!this.#mayStart(id, known, heldBytes)) return;
		let prepared: PreparedRequest;
		try {
			prepared = dispatcher.prepare(func, data, timeoutMs);
		} catch (error) {
			this.#answerFailure(id, known, error, this.#startedMs());
			return;
		}
		const plain = trace !== undefined && rest !== undefined ? splitTrace(rest)?.rest : rest;
		if (plain !== undefined) memo.remember(plain, request, prepared);
		this.#handle(prepared, id, heldBytes);
		this.#endTraced(id);
	}

	/** The caller cancels this request; does nothing if it is answered. */
	cancel(id: unknown): void {
		if (!isId(id)) return;
		const call = this.#waiting.get(id);
		this.#traced?.end(id, 'cancelled');
		if (call === undefined) return;
		this.#waiting.delete(id);
		this.#left(call);
		call.controller.abort();
		// It may have been the last request that an ending connection waited for.
		this.#port.settled();
	}

	/** The connection has ended: cancels every request. */
	cancelAll(): void {
		for (const call of this.#waiting.values()) {
			this.#left(call);
			call.controller.abort();
		}
		this.#waiting.clear();
		this.#traced?.endAll();
	}

	/** A chunk of input was read: reports the requests answered meanwhile to the observer. */
	chunkRead(): void {
		if (this.#answeredCount > 0) this.#tellAnswered();
		this.#chunkStartedMs = -1;
	}

	/** Sends a failure; `id` is null for a frame whose id is not known. */
	fail(id: number | null, { code, message, retryable, details }: WireError): void {
		const line = encodeFailure(id, { code, message, retryable, details });
		if (fitsFrame(line, this.#port.frameBytesMax)) this.#port.send(line);
		else {
			// The code matters more than the whole message.
			const words = message.slice(0, FAILURE_LENGTH_MAX);
			this.#port.send(encodeFailure(id, { code, message: words, retryable, details: {} }));
		}
	}

	#beginTraced(id: number, func: string, trace: TraceContext | undefined): void {
		// Skip duplicates of an in-flight id, so that the first request keeps its trace.
		if (trace === undefined || this.#waiting.has(id)) return;
		const { observer, clock } = this.#context;
		this.#traced ??= new TracedRequests({ observer, clock, connection: this.#port.id });
		this.#traced.begin(id, func, trace);
	}

	/** A traced request was handled: reports its end if it was answered at once; a failure reports its own. */
	#endTraced(id: number): void {
		if (this.#traced !== undefined && !this.#waiting.has(id)) this.#traced.end(id, 'ok');
	}

	/** It waits no longer. */
	#left({ heldShare, heldBytes }: RequestCall): void {
		const { overload } = this.#context;
		overload.inFlight--;
		if (heldBytes > 0) overload.inFlightBytes.add(heldShare, -heldBytes);
	}

	#mayStart(id: number, func: string, heldBytes = 0): boolean {
		if (this.#waiting.size === 0 && heldBytes === 0) return true;
		if (this.#waiting.has(id)) {
			// Not counted as an answer: the first request with this id continues, and its end must find its entry.
			const error = new SpockError('BAD_REQUEST', `the id ${id} is already in flight`, {
				details: { path: 'id' },
				isStackless: true,
			});
			this.fail(id, error.toWire());
			return false;
		}
		const { overload, limits } = this.#context;
		if (heldBytes > 0 && !overload.inFlightBytes.hasRoom(this.#port.share, heldBytes)) {
			const { inFlightBytesMax } = limits;
			const message = `the long requests that wait have ${inFlightBytesMax} bytes together, or those of this client half of it, which is the limit`;
			const error = new SpockError('OVERLOADED', message, { details: { inFlightBytesMax }, isStackless: true });
			this.#refuse(id, func, 'inFlightBytesMax', error);
			return false;
		}
		if (this.#waiting.size === 0) return true;
		const { inFlightMax } = this;
		if (this.#waiting.size >= inFlightMax) {
			const message = `${inFlightMax} requests are in flight on this connection, which is the limit`;
			this.#refuse(
				id,
				func,
				'inFlightMax',
				new SpockError('OVERLOADED', message, { details: { inFlightMax }, isStackless: true }),
			);
			return false;
		}
		const { inFlightTotalMax } = limits;
		if (overload.inFlight < inFlightTotalMax) return true;
		const message = `${inFlightTotalMax} requests are in flight on all connections, which is the limit`;
		const error = new SpockError('OVERLOADED', message, { details: { inFlightTotalMax }, isStackless: true });
		this.#refuse(id, func, 'inFlightTotalMax', error);
		return false;
	}

	#refuse(id: number, func: string, limit: LimitName, error: SpockError): void {
		this.#context.limited(limit);
		this.#answerFailure(id, func, error, this.#startedMs());
	}

	#handle(prepared: PreparedRequest, id: number, heldBytes = 0): void {
		const startedMs = this.#startedMs();
		const call = new RequestCall(this.#port, prepared.timeoutMs, heldBytes);
		try {
			const payload = prepared.handler(prepared.data, call);
			if (payload instanceof Promise) this.#wait(prepared, id, call, payload, startedMs);
			else if (this.#answer(prepared.func, id, payload, startedMs)) this.#countAnswered(prepared.func);
		} catch (error) {
			this.#answerFailure(id, prepared.func, error, startedMs);
		}
	}

	#wait(
		{ func }: PreparedRequest,
		id: number,
		call: RequestCall,
		payload: Promise<Answered<unknown>>,
		startedMs: number,
	): void {
		const { observer, clock, overload } = this.#context;
		this.#waiting.set(id, call);
		overload.inFlight++;
		if (call.heldBytes > 0) {
			call.heldShare = this.#port.share;
			overload.inFlightBytes.add(call.heldShare, call.heldBytes);
		}
		this.handled++;
		const settle = (send: () => void): void => {
			// Cancelled, or the connection is gone: the id may already belong to another request.
			if (this.#waiting.get(id) !== call) return;
			this.#waiting.delete(id);
			this.#left(call);
			send();
			this.#port.settled();
		};
		payload.then(
			(text) =>
				settle(() => {
					if (!this.#answer(func, id, text, startedMs)) return;
					observer.answered?.(func, 'ok', clock.now() - startedMs, 1);
					this.#traced?.end(id, 'ok');
				}),
			(error: unknown) => settle(() => this.#answerFailure(id, func, error, startedMs)),
		);
	}

	/** Sends a reply; false if it is too long, which is a failure. */
	#answer(func: string, id: number, answered: Answered<unknown>, startedMs: number): boolean {
		const isParted = answered instanceof PartedAnswer;
		if (isParted) for (const line of answered.lines) this.#port.send(line);
		const payload = isParted ? answered.last : answered;
		// A longer one is queued as it is, and not copied into its reply.
		if (payload.length > SLICE_CHARACTERS) return this.#answerInPieces(func, id, payload, startedMs);
		const line = this.#heads.head(id) + encodeReplyTail(payload);
		const { frameBytesMax } = this.#port;
		if (!fitsFrame(line, frameBytesMax)) return this.#answerTooLong(func, id, Buffer.byteLength(line), startedMs);
		this.#port.send(line);
		return true;
	}

	#answerInPieces(func: string, id: number, payload: PayloadText, startedMs: number): boolean {
		const pieces = [this.#heads.head(id), ...encodeReplyPieces(payload)];
		const bytes = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
		if (bytes - 1 > this.#port.frameBytesMax) return this.#answerTooLong(func, id, bytes, startedMs);
		for (const piece of pieces) this.#port.send(piece);
		return true;
	}

	#answerTooLong(func: string, id: number, lineBytes: number, startedMs: number): false {
		this.#context.limited('frameBytesMax');
		const error = frameTooLargeError('the answer', lineBytes - 1, this.#port.frameBytesMax);
		this.#answerFailure(id, func, error, startedMs);
		return false;
	}

	#answerFailure(id: number, func: string, reason: unknown, startedMs: number): void {
		const { observer, clock } = this.#context;
		const error = SpockError.from(reason);
		if (error.code === 'INTERNAL') observer.fault?.(func, reason);
		// CLOSED is local to a client and would be sent as INTERNAL; the client can retry at the next sidecar.
		const answered =
			error.code === 'CLOSED' ? new SpockError('UNAVAILABLE', 'the sidecar is shutting down', { cause: error }) : error;
		const wire = answered.toWire();
		this.fail(id, wire);
		observer.answered?.(func, wire.code, clock.now() - startedMs, 1);
		this.#traced?.end(id, wire.code);
	}

	/** When the current chunk began: reading the clock twice for each request was a tenth of its cost. */
	#startedMs(): number {
		if (this.#chunkStartedMs < 0) {
			this.#chunkStartedMs = this.#context.clock.now();
			this.#context.overload.touch();
		}
		return this.#chunkStartedMs;
	}

	#countAnswered(func: string): void {
		if (this.#answeredFunc !== func) {
			if (this.#answeredCount > 0) this.#tellAnswered();
			this.#answeredFunc = func;
		}
		this.#answeredCount++;
	}

	#tellAnswered(): void {
		const { observer, clock } = this.#context;
		observer.answered?.(this.#answeredFunc, 'ok', clock.now() - this.#chunkStartedMs, this.#answeredCount);
		this.handled += this.#answeredCount;
		this.#answeredCount = 0;
	}
}
