import { SpockError } from '@spock/protocol';
import { CallQueue } from '../calls/call-queue.ts';
import type { OutgoingCall } from '../calls/outgoing-call.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import type { ConnectionState } from '../foundation/status.ts';
import { whyNotReady } from './address-report.ts';

/** What the calls that a connection cannot send need to know of it. */
export interface ConnectionStatus {
	readonly state: ConnectionState;
	readonly lastError: SpockError | undefined;
}

/** Calls that there is no connection for: those that may wait for the next one, and how the others fail. */
export class DisconnectedCalls {
	readonly waiting: CallQueue;
	readonly #options: ResolvedOptions;
	readonly #connection: ConnectionStatus;

	constructor(options: ResolvedOptions, connection: ConnectionStatus) {
		this.#options = options;
		this.#connection = connection;
		this.waiting = new CallQueue(options.clock, options.waitingMax, () => this.whyNotReady());
	}

	/** True when nothing new is begun any more. */
	get isEnding(): boolean {
		const { state } = this.#connection;
		return state === 'draining' || state === 'closed';
	}

	/** True while a call that lost its connection may go to the next one. */
	get retries(): boolean {
		return !this.isEnding && this.#options.whileDisconnected === 'wait';
	}

	/** Queues a call, or rejects it. */
	hold(call: OutgoingCall): void {
		const refusal = this.refusal(call.func);
		if (refusal === undefined) this.waiting.add(call);
		else call.reject(refusal);
	}

	/** The client has ended: no call waits any more. */
	rejectWaiting(): void {
		for (const call of this.waiting.takeAll()) call.reject(this.closedError());
	}

	/** Why a call of this function could not even wait now; undefined if it could. */
	refusal(func: string): SpockError | undefined {
		if (this.isEnding) return this.closedError();
		if (this.#connection.state === 'ready' || this.#options.whileDisconnected === 'wait') return undefined;
		return this.#disconnectedError({ func, sent: false });
	}

	/** Of a call whose connection is gone. */
	lostError(call: OutgoingCall): SpockError {
		return this.#connection.state === 'closed' ? this.closedError() : this.#disconnectedError(call);
	}

	closedError(): SpockError {
		const { state, lastError } = this.#connection;
		if (state === 'closed' && lastError?.code === 'PROTOCOL') return lastError;
		return new SpockError('CLOSED', state === 'draining' ? 'the client is draining' : 'the client was closed');
	}

	/** For people: why there is no connection now. */
	whyNotReady(): string {
		return whyNotReady(this.#options.address, this.#connection.lastError);
	}

	#disconnectedError({ func, sent }: Pick<OutgoingCall, 'func' | 'sent'>): SpockError {
		const message = sent ? `${func}: the connection was lost before the reply came` : `${func}: ${this.whyNotReady()}`;
		return new SpockError('DISCONNECTED', message, {
			details: { func, sent },
			cause: this.#connection.lastError,
			isStackless: true,
		});
	}
}
