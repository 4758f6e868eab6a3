import type { Clock, TimerHandle } from '@spock/protocol/internal';
import type { FramedSocket } from '@spock/protocol/node';

import type { CloseReason } from '../foundation/observer.ts';
import type { ReadGate } from '../overload/read-gate.ts';
import type { Pushes } from './pushes.ts';
import type { Requests } from './requests.ts';

/** How long a client that is closed for its input may take to end its own side. */
const LINGER_MS = 1000;

/** The parts of a connection that end with it. */
export interface EndedParts {
	readonly framed: FramedSocket;
	readonly requests: Requests;
	readonly pushes: Pushes;
	readonly readGate: ReadGate;
	readonly clock: Clock;
	/** Whether the client is on this machine, so that no network can break the connection. */
	readonly isLocal: boolean;
	/** How long a client may take to end its own side once it has everything. */
	readonly slowConsumerMs: number;
}

/** How one connection ends, and why: every accepted request is answered first, unless it is closed for its input. */
export class ConnectionEnd {
	/** True while requests are answered, and notices other than `cancel` handled. */
	takesRequests = true;
	readonly #parts: EndedParts;
	#reason: CloseReason = 'client';
	#isEnding = false;
	#isUplink = false;
	#peerEnded = false;
	#timer: TimerHandle | undefined;

	constructor(parts: EndedParts) {
		this.#parts = parts;
	}

	/** True once it is ending. */
	get isEnding(): boolean {
		return this.#isEnding;
	}

	/** From now on nothing is answered and nothing written; what comes is read to its end. */
	becomeUplink(): void {
		const { framed, requests, pushes } = this.#parts;
		this.#isUplink = true;
		this.takesRequests = false;
		requests.cancelAll();
		pushes.clear();
		framed.mute();
	}

	/** Sends what is pending and ends the connection once every request in flight is answered; drops an uplink whose token was removed. */
	begin(reason: CloseReason): void {
		if (this.#isUplink && reason === 'token') {
			// No answer is due, and no more of its events may be taken.
			this.drop(reason);
			return;
		}
		if (!this.#isEnding) this.#reason = reason;
		this.#isEnding = true;
		// On a shutdown, read up to the last byte: the client cannot know yet that it must leave.
		this.takesRequests = this.#reason === 'shutdown' && !this.#isUplink;
		this.#parts.pushes.clear();
		this.#endIfIdle();
	}

	/** Drops the connection at once, for this reason unless it was ending anyway. */
	drop(reason: CloseReason): void {
		if (!this.#isEnding) this.#reason = reason;
		this.#parts.framed.destroy();
	}

	/** Sends the client the reason before the end; ignores all further input. */
	forInput(reason: CloseReason): void {
		if (this.#isEnding) return;
		const { framed, requests, pushes, readGate } = this.#parts;
		this.#reason = reason;
		this.#isEnding = true;
		this.takesRequests = false;
		requests.cancelAll();
		pushes.clear();
		// After the end, discard input for a while: a close with unread input would reset the connection, and the client might
		// never see the failure.
		framed.discardInput();
		readGate.open();
		framed.end();
		this.#armTimer(LINGER_MS);
	}

	/** The client has sent its last request: it gets every answer, then we end too. */
	peerEnded(): void {
		this.#peerEnded = true;
		this.#parts.pushes.clear();
		this.#endIfIdle();
	}

	/** A waiting request was answered, or held output was sent: perhaps it was the last. */
	settled(): void {
		if (this.#isEnding || this.#peerEnded) this.#endIfIdle();
	}

	/** The socket is gone: releases everything. Returns the reason. */
	closed(error: Error | undefined): CloseReason {
		const { clock, requests, pushes, readGate } = this.#parts;
		clock.clearTimeout(this.#timer);
		readGate.close();
		requests.cancelAll();
		pushes.clear();
		return error !== undefined && this.#reason === 'client' && !this.#isPeersEnd(error) ? 'error' : this.#reason;
	}

	/** The last push met a socket that the client had closed: it has left. */
	#isPeersEnd({ code }: NodeJS.ErrnoException): boolean {
		return this.#peerEnded || code === 'EPIPE' || (this.#parts.isLocal && code === 'ECONNRESET');
	}

	#endIfIdle(): void {
		const { framed, requests, readGate, slowConsumerMs } = this.#parts;
		// Requests that were read before its end and are held are answered too.
		if (this.#timer !== undefined || requests.waiting > 0 || readGate.isPaused) return;
		this.#isEnding = true;
		if (this.#reason !== 'shutdown') this.takesRequests = false;
		framed.end();
		// A peer that never ends its own side must not keep the connection for ever.
		if (!this.#peerEnded) this.#armTimer(slowConsumerMs);
	}

	#armTimer(delayMs: number): void {
		const { clock, framed } = this.#parts;
		clock.clearTimeout(this.#timer);
		this.#timer = clock.setTimeout(() => framed.destroy(), delayMs);
		this.#timer.unref?.();
	}
}
