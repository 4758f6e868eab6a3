import { type CallOptions, type Push, SpockError } from '@spock/protocol';
import { step } from '@spock/protocol/internal';
import { formatAddress } from '@spock/protocol/node';

import { abortedError, Call, type CallRequest } from './call.ts';
import {
	type ConnectionAction,
	type ConnectionEvent,
	type ConnectionState,
	connectionMachine,
} from './connection-machine.ts';
import { connectChannel, disconnectChannel, type FaultMessage, faultChannel } from './diagnostics.ts';
import type { Greeting } from './greeting.ts';
import { notReadyError, whyNotReady } from './not-ready.ts';
import type { ResolvedOptions } from './options.ts';
import { RetrySchedule } from './retry-schedule.ts';
import { Session, type SessionListener } from './session.ts';
import { Waiters } from './waiters.ts';
import { WaitingCalls } from './waiting-calls.ts';

/** Told by a connection of what its subscriptions need to know. */
export interface ConnectionListener {
	/** New calls go to this session from now on: what is wanted must be subscribed to again. */
	adopted(session: Session, greeting: Greeting): void;
	/** There is no connection; what is known was true at `verifiedAtMs` of the clock. */
	lost(verifiedAtMs: number): void;
	push(session: Session, push: Push): void;
}

/** Why a client ended. `refused`: the sidecar speaks another version of the protocol; `error` says so. */
export interface Closed {
	readonly reason: 'drain' | 'close' | 'refused';
	readonly error?: SpockError;
}

/** Counts of one connection since it was made, and what it does now. */
export interface ConnectionCounts {
	readonly inFlight: number;
	readonly waiting: number;
	readonly lateReplies: number;
	readonly protocolFaults: number;
	readonly reconnects: number;
}

/** The connection to a sidecar: the owner of socket, back-off and phase. Decisions are in {@link connectionMachine}. */
export class Connection implements SessionListener {
	/** Settles, never rejecting, when the connection is closed and its last socket is gone. */
	readonly closedPromise: Promise<Closed>;
	readonly #options: ResolvedOptions;
	readonly #listener: ConnectionListener;
	readonly #retry: RetrySchedule;
	readonly #waiting: WaitingCalls;
	readonly #ready: Waiters;
	#resolveClosed: (closed: Closed) => void = () => undefined;
	#state: ConnectionState = 'idle';
	/** Every socket that is not closed: the current one, one being dialled, and those that finish after a goaway. */
	readonly #sessions = new Set<Session>();
	#current: Session | undefined;
	#dialled: Session | undefined;
	#lost: Session | undefined;
	#readyAtMs = 0;
	#lastError: SpockError | undefined;
	#outcome: Closed | undefined;
	#connects = 0;
	#lateReplies = 0;
	#protocolFaults = 0;

	/** What the words of the table mean here. */
	readonly #actions: Readonly<Record<ConnectionAction, (event: ConnectionEvent) => void>> = {
		dial: () => this.#dial(),
		adopt: () => this.#adopt(),
		'retire the first': () => this.#current?.channel.drain(),
		resubscribe: () => this.#resubscribe(),
		'flush waiting': () => {
			for (const call of this.#waiting.takeAll()) this.#place(call);
		},
		'reset backoff if stable': () => {
			if (this.#isStable()) this.#retry.reset();
		},
		'reject in flight': () => this.#rejectInFlight(),
		'mark views stale': () => this.#listener.lost(this.#lost?.silentSinceMs ?? this.#options.clock.now()),
		'schedule retry': () => this.#retry.schedule(this.#lastError),
		'dial or schedule': () => this.#dialOrSchedule(),
		'cancel dial': () => this.#cancelDial(),
		'cancel timer': () => this.#retry.cancel(),
		'refuse new': () => this.#drainSessions(),
		'reject waiting': () => {
			for (const call of this.#waiting.takeAll()) call.reject(this.#closedError());
		},
		'end socket': () => {
			for (const session of this.#sessions) session.end();
		},
		'destroy socket': () => {
			for (const session of this.#sessions) session.destroy();
		},
		settle: (event) => this.#settle(event),
	};

	constructor(options: ResolvedOptions, listener: ConnectionListener) {
		this.#options = options;
		this.#listener = listener;
		this.#retry = new RetrySchedule(options, () => this.#dispatch('retry due'));
		this.#waiting = new WaitingCalls(options.clock, options.waitingMax, () => this.whyNotReady());
		this.#ready = new Waiters(options.clock, options.unref);
		this.closedPromise = new Promise((resolve) => {
			this.#resolveClosed = resolve;
		});
	}

	get state(): ConnectionState {
		return this.#state;
	}

	/** What the last sidecar said of itself; kept while it is away. */
	greeting: Greeting | undefined = undefined;

	get lastError(): SpockError | undefined {
		return this.#lastError;
	}

	counts(): ConnectionCounts {
		let inFlight = 0;
		for (const session of this.#sessions) inFlight += session.channel.inFlight;
		return {
			inFlight,
			waiting: this.#waiting.count,
			lateReplies: this.#lateReplies,
			protocolFaults: this.#protocolFaults,
			reconnects: Math.max(0, this.#connects - 1),
		};
	}

	/** Dials, if nobody has yet; idempotent. */
	start(): void {
		this.#dispatch('start');
	}

	/** Resolves when hello is answered. Rejects with TIMEOUT (saying what is at the address), ABORTED, CLOSED, PROTOCOL. */
	ready(options: CallOptions = {}): Promise<void> {
		if (options.signal?.aborted) return Promise.reject(abortedError(options.signal, 'ready'));
		if (this.#state === 'ready') return Promise.resolve();
		if (this.#state === 'draining' || this.#state === 'closed') return Promise.reject(this.#closedError());
		const { waitingMax } = this.#options;
		if (this.#ready.count >= waitingMax) {
			const message = `ready: ${waitingMax} callers wait for a connection, which is the limit`;
			return Promise.reject(new SpockError('OVERLOADED', message, { details: { waitingMax } }));
		}
		this.start();
		const { timeoutMs = this.#options.readyTimeoutMs, signal } = options;
		return this.#ready.wait('ready', { timeoutMs, signal }, () =>
			notReadyError(this.#options.address, this.#lastError, timeoutMs),
		);
	}

	/**
	 * Sends a call now, or when there is a connection. Rejects with what the sidecar answers, or TIMEOUT, ABORTED,
	 * DISCONNECTED, OVERLOADED, FRAME_TOO_LARGE, CLOSED.
	 */
	call(request: CallRequest): Promise<unknown> {
		return new Promise((resolve, reject) => {
			const { signal } = request;
			if (signal?.aborted) reject(abortedError(signal, request.func));
			else this.#place(new Call(request, this.#options.clock, resolve, reject));
		});
	}

	/** Refuses new calls, waits for those in flight (their deadlines bound that), and closes. Idempotent. */
	drain(): Promise<Closed> {
		this.#dispatch('drain');
		return this.closedPromise;
	}

	/** Rejects every call with CLOSED and closes. Idempotent; also ends a drain. */
	close(): Promise<Closed> {
		this.#dispatch('close');
		return this.closedPromise;
	}

	/** Why a call of this function could not even wait now; undefined if it could. */
	refusal(func: string): SpockError | undefined {
		if (this.#state === 'draining' || this.#state === 'closed') return this.#closedError();
		if (this.#state === 'ready' || this.#options.whileDisconnected === 'wait') return undefined;
		return this.#disconnectedError({ func, sent: false });
	}

	/** For people: why there is no connection now. */
	whyNotReady(): string {
		return whyNotReady(this.#options.address, this.#lastError);
	}

	greeted(session: Session): void {
		if (session === this.#dialled) this.#dispatch('connected');
	}

	refused(session: Session, error: SpockError): void {
		if (session !== this.#dialled || this.#connects > 0) return;
		this.#lastError = error;
		this.#dispatch('refused');
	}

	push(session: Session, push: Push): void {
		if (push.event === 'goaway') {
			if (session === this.#current) this.#dispatch('goaway');
		} else this.#listener.push(session, push);
	}

	fault(kind: FaultMessage['kind'], message: string): void {
		if (kind === 'late reply') this.#lateReplies++;
		else this.#protocolFaults++;
		if (faultChannel.hasSubscribers) {
			faultChannel.publish({ address: formatAddress(this.#options.address), kind, message });
		}
	}

	emptied(session: Session): void {
		if (this.#state !== 'draining') session.end();
		else if (this.counts().inFlight === 0) this.#dispatch('emptied');
	}

	closed(session: Session, error: SpockError): void {
		this.#sessions.delete(session);
		const wasReady = session === this.#current;
		const wasDialled = session === this.#dialled;
		if (wasReady || wasDialled) {
			this.#lastError = error;
			if (disconnectChannel.hasSubscribers) {
				disconnectChannel.publish({ address: formatAddress(this.#options.address), error, wasReady });
			}
		}
		this.#lost = session;
		if (wasReady) this.#current = undefined;
		if (wasDialled) this.#dialled = undefined;
		if (wasReady) this.#dispatch('lost');
		else if (wasDialled) this.#dispatch(this.#state === 'ready' ? 'successor lost' : 'lost');
		// Nobody's any more, unless the events above have taken its calls already.
		this.#release(session);
		if (this.#state === 'draining' && this.counts().inFlight === 0) this.#dispatch('emptied');
		this.#finish();
	}

	#place(call: Call): void {
		if (this.#current !== undefined && this.#state === 'ready') this.#current.channel.send(call);
		else {
			const refusal = this.refusal(call.func);
			if (refusal === undefined) this.#waiting.add(call);
			else call.reject(refusal);
		}
	}

	#dispatch(event: ConnectionEvent): void {
		const { state, actions } = step(connectionMachine, this.#state, event);
		this.#state = state;
		for (const action of actions) this.#actions[action](event);
	}

	#dial(): void {
		this.#dialled = new Session(this.#options, this);
		this.#sessions.add(this.#dialled);
	}

	/** A sidecar that says goaway to every new connection must not make this client dial without pause. */
	#dialOrSchedule(): void {
		if (this.#dialled !== undefined || this.#retry.pending) return;
		if (this.#isStable()) this.#dial();
		else this.#retry.schedule(undefined);
	}

	#isStable(): boolean {
		return this.#options.clock.now() - this.#readyAtMs >= this.#options.stableMs;
	}

	#cancelDial(): void {
		const dialled = this.#dialled;
		this.#dialled = undefined;
		dialled?.destroy();
	}

	#adopt(): void {
		this.#current = this.#dialled;
		this.#dialled = undefined;
		this.#readyAtMs = this.#options.clock.now();
		this.#connects++;
		this.greeting = this.#current?.greeting;
		if (connectChannel.hasSubscribers) {
			const address = formatAddress(this.#options.address);
			connectChannel.publish({ address, sidecar: this.greeting?.sidecar ?? null, again: this.#connects > 1 });
		}
	}

	#resubscribe(): void {
		if (this.#current !== undefined && this.greeting !== undefined)
			this.#listener.adopted(this.#current, this.greeting);
		this.#ready.resolveAll();
	}

	#drainSessions(): void {
		for (const session of [...this.#sessions]) session.channel.drain();
	}

	#rejectInFlight(): void {
		// While this client lives on, sockets that finish after a goaway still bring the answers to their calls.
		const gone = this.#state === 'closed' ? [...this.#sessions] : [];
		if (this.#lost !== undefined) this.#release(this.#lost);
		for (const session of gone) this.#release(session);
	}

	/** Takes the calls of a session that is gone, or going: they are rejected, or wait for the next connection. */
	#release(session: Session): void {
		const goesOn = this.#state !== 'draining' && this.#state !== 'closed';
		const retries = goesOn && this.#options.whileDisconnected === 'wait';
		for (const call of session.channel.takeAll()) {
			if (retries && call.traits.idempotent) this.#place(call);
			else call.reject(this.#state === 'closed' ? this.#closedError() : this.#disconnectedError(call));
		}
	}

	#settle(event: ConnectionEvent): void {
		if (this.#outcome === undefined) {
			if (event === 'refused' && this.#lastError !== undefined) {
				this.#outcome = { reason: 'refused', error: this.#lastError };
			} else this.#outcome = { reason: event === 'close' ? 'close' : 'drain' };
			this.#ready.rejectAll(this.#closedError());
			if (event !== 'emptied') {
				for (const session of [...this.#sessions]) {
					this.#release(session);
					session.destroy();
				}
			}
		}
		this.#finish();
	}

	#finish(): void {
		if (this.#outcome !== undefined && this.#sessions.size === 0) this.#resolveClosed(this.#outcome);
	}

	#closedError(): SpockError {
		if (this.#outcome?.error !== undefined) return this.#outcome.error;
		if (this.#state === 'closed' && this.#lastError?.code === 'PROTOCOL') return this.#lastError;
		return new SpockError('CLOSED', this.#state === 'draining' ? 'the client is draining' : 'the client was closed');
	}

	#disconnectedError({ func, sent }: Pick<Call, 'func' | 'sent'>): SpockError {
		const message = sent ? `${func}: the connection was lost before the reply came` : `${func}: ${this.whyNotReady()}`;
		return new SpockError('DISCONNECTED', message, { details: { func, sent }, cause: this.#lastError });
	}
}
