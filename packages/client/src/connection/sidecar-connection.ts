import type { CallOptions, Push, SpockError } from '@spock/protocol';
import { ageClockOf, inNeutralContext, isInteger, step } from '@spock/protocol/internal';
import { formatAddress } from '@spock/protocol/node';
import {
	type CallClock,
	type CallRequest,
	callClock,
	captured,
	captureSettlers,
	OutgoingCall,
} from '../calls/outgoing-call.ts';
import { Waiters } from '../calls/waiters.ts';
import {
	type FaultMessage,
	goawayChannel,
	goawayMessage,
	stateChannel,
	windowChannel,
} from '../foundation/diagnostics.ts';
import { abortedError, overloadedError, throwIfAborted } from '../foundation/errors.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import type { Closed, ConnectionEvent, ConnectionState } from '../foundation/status.ts';
import { OneTimer } from '../foundation/timers.ts';
import { notReadyError } from './address-report.ts';
import { type ConnectionAction, connectionMachine } from './connection-machine.ts';
import { type ConnectionCounts, ConnectionReport } from './connection-report.ts';
import { DisconnectedCalls } from './disconnected-calls.ts';
import type { Greeting } from './greeting.ts';
import { LOOK_MS, RetrySchedule, spreadMsOf } from './retry-schedule.ts';
import { Session, type SessionListener } from './session.ts';
import { Sessions } from './sessions.ts';

/** The connection to a sidecar: the owner of socket, back-off and phase. Decisions are in {@link connectionMachine}. */
export class SidecarConnection implements SessionListener {
	/** Settles, never rejecting, when the connection is closed and its last socket is gone. */
	readonly closedPromise: Promise<Closed>;
	readonly #options: ResolvedOptions;
	/** By it a sidecar recognises this client on any of its connections. */
	readonly #secret = crypto.randomUUID();
	readonly #listener: ConnectionListener;
	readonly #clock: CallClock;
	readonly #retry: RetrySchedule;
	/** Until hello is answered: one that hangs never does, and may be replaced meanwhile. */
	readonly #watch: OneTimer;
	readonly #disconnected: DisconnectedCalls;
	readonly #report: ConnectionReport;
	readonly #ready: Waiters;
	#resolveClosed: (closed: Closed) => void = () => undefined;
	#state: ConnectionState = 'idle';
	readonly #sessions = new Sessions();
	/** Calls on their way from a retired session to its successor. */
	#moving: OutgoingCall[] = [];
	#readyAtMs = 0;
	#lastError: SpockError | undefined;
	#outcome: Closed | undefined;

	/** The actions of the table. */
	readonly #actions: Readonly<Record<ConnectionAction, (event: ConnectionEvent) => void>> = {
		dial: () => this.#dial(),
		adopt: () => {
			this.#sessions.adopt();
			this.#readyAtMs = this.#options.clock.now();
			this.greeting = this.#sessions.current?.greeting;
			this.#retry.spreadMs = spreadMsOf(this.greeting?.clients);
			this.#report.connected(this.greeting?.sidecar ?? null);
		},
		'retire the first': () => {
			const retired = this.#sessions.current?.channel;
			// What waits for its window was never sent: it goes to the successor.
			this.#moving = retired?.takeWaiting() ?? [];
			retired?.drain();
		},
		resubscribe: () => {
			const { current } = this.#sessions;
			if (current !== undefined) this.#listener.adopted(current);
			this.#ready.resolveAll();
			this.#placeAnew(this.#moving.splice(0));
		},
		'flush waiting': () => {
			this.#placeAnew(this.#disconnected.waiting.takeAll());
		},
		'reset backoff if stable': () => {
			if (this.#isStable()) this.#retry.reset();
		},
		'reject in flight': () => {
			// While this client lives on, sockets that finish after a goaway still bring the answers to their calls.
			const { lost } = this.#sessions;
			const gone = this.#state === 'closed' ? this.#sessions.all : [];
			if (lost !== undefined) this.#release(lost);
			for (const session of gone) this.#release(session);
		},
		'mark snapshots stale': () =>
			this.#listener.lost(this.#sessions.lost?.heardAtMs ?? ageClockOf(this.#options.clock).now()),
		'schedule retry': () => this.#retry.schedule(this.#lastError),
		'dial or schedule': () => {
			// A sidecar that says goaway to every new connection must not make this client dial without pause.
			if (this.#sessions.dialled !== undefined || this.#retry.pending) return;
			if (this.#isStable() && this.#retry.spreadMs === 0) this.#dial();
			else this.#retry.schedule(undefined);
		},
		'cancel dial': () => this.#sessions.cancelDial(),
		'cancel timer': () => this.#retry.cancel(),
		'refuse new': () => this.#sessions.drain(),
		'reject waiting': () => this.#disconnected.rejectWaiting(),
		'end socket': () => this.#sessions.end(),
		'destroy socket': () => this.#sessions.destroy(),
		settle: (event) => this.#settle(event),
	};

	constructor(options: ResolvedOptions, listener: ConnectionListener) {
		this.#options = options;
		this.#listener = listener;
		this.#clock = callClock(options);
		const { transport, address } = options;
		const mark = transport.mark && (() => transport.mark?.(address));
		this.#retry = new RetrySchedule(options, () => this.#dispatch('retry due'), mark);
		this.#watch = new OneTimer(options.clock, () => this.#lookAgain(), options.unref);
		this.#disconnected = new DisconnectedCalls(options, this);
		this.#report = new ConnectionReport(address);
		// Also with `unref` the process lives while an app waits for its first connection: it would end without a word.
		this.#ready = new Waiters(options.clock, false);
		this.closedPromise = new Promise((resolve) => {
			this.#resolveClosed = resolve;
		});
	}

	get state(): ConnectionState {
		return this.#state;
	}

	/** The last sidecar's answer to hello; retained while it is away. */
	greeting: Greeting | undefined = undefined;

	get lastError(): SpockError | undefined {
		return this.#lastError;
	}

	counts(): ConnectionCounts {
		const { inFlight, waiting, window } = this.#sessions.counts();
		const { lateReplies, protocolFaults, connects } = this.#report;
		return {
			inFlight,
			waiting: waiting + this.#disconnected.waiting.count,
			window,
			lateReplies,
			protocolFaults,
			reconnects: Math.max(0, connects - 1),
		};
	}

	/** Dials, unless it has begun; idempotent. */
	start(): void {
		this.#dispatch('start');
	}

	/** Resolves when hello is answered. Rejects with TIMEOUT (saying what is at the address), ABORTED, CLOSED, PROTOCOL. */
	async ready({ timeoutMs = this.#options.readyTimeoutMs, signal }: CallOptions = {}): Promise<void> {
		throwIfAborted(signal, 'ready');
		if (this.#state === 'ready') return;
		if (this.#disconnected.isEnding) throw this.#disconnected.closedError();
		const { waitingMax } = this.#options;
		if (this.#ready.count >= waitingMax) throw overloadedError('ready', 'waitingMax', waitingMax);
		this.start();
		return this.#ready.wait('ready', { timeoutMs, signal }, () =>
			notReadyError(this.#options.address, this.#lastError, timeoutMs),
		);
	}

	/**
	 * Sends a call now, or when there is a connection. Rejects with what the sidecar answers, or TIMEOUT, ABORTED,
	 * DISCONNECTED, OVERLOADED, FRAME_TOO_LARGE, CLOSED.
	 */
	call(request: CallRequest): Promise<unknown> {
		const { signal, func } = request;
		if (signal?.aborted) return Promise.reject(abortedError(signal, func));
		const promise = new Promise(captureSettlers);
		this.#place(new OutgoingCall(request, this.#clock, captured.resolve, captured.reject));
		return promise;
	}

	/** A socket to this sidecar. The listener owns it. */
	open(listener: SessionListener, isQuiet?: boolean): Session {
		// A call may begin it; it outlives that.
		return inNeutralContext(() => new Session(this.#options, this.#secret, listener, isQuiet));
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
		return this.#disconnected.refusal(func);
	}

	/** For people: why there is no connection now. */
	whyNotReady(): string {
		return this.#disconnected.whyNotReady();
	}

	greeted(session: Session): void {
		if (session !== this.#sessions.dialled) return;
		this.#watch.cancel();
		this.#dispatch('connected');
	}

	refused(session: Session, error: SpockError): void {
		if (session !== this.#sessions.dialled || this.#report.connects > 0) return;
		this.#lastError = error;
		this.#dispatch('refused');
	}

	push(session: Session, push: Push): void {
		if (push.event === 'goaway') {
			if (goawayChannel.hasSubscribers)
				goawayChannel.publish(goawayMessage(formatAddress(this.#options.address), push.data));
			if (session !== this.#sessions.current) return;
			const { clients } = (push.data ?? {}) as { clients?: unknown };
			if (isInteger(clients, 1)) this.#retry.spreadMs = spreadMsOf(clients);
			this.#dispatch('goaway');
		} else this.#listener.push(session, push);
	}

	windowed(inFlightMax: number, narrowed: boolean): void {
		if (windowChannel.hasSubscribers)
			windowChannel.publish({ address: formatAddress(this.#options.address), inFlightMax, narrowed });
	}

	fault(kind: FaultMessage['kind'], message: string): void {
		this.#report.fault(kind, message);
	}

	emptied(session: Session): void {
		if (this.#state !== 'draining') session.end();
		else this.#endDrain();
	}

	closed(session: Session, error: SpockError): void {
		const place = this.#sessions.remove(session);
		if (place !== undefined) {
			this.#lastError = error;
			this.#report.disconnected(error, place === 'current');
		}
		this.#sessions.lose(session);
		if (place === 'current') this.#dispatch('lost');
		else if (place === 'dialled') this.#dispatch(this.#state === 'ready' ? 'successor lost' : 'lost');
		// It has no owner now, unless the events above have taken its calls already.
		this.#release(session);
		this.#endDrain();
		if (this.#sessions.dialled === undefined) this.#watch.cancel();
		this.#finish();
	}

	/** They have waited: an app may have called again since. */
	#placeAnew(calls: Iterable<OutgoingCall>): void {
		for (const call of calls) {
			call.renew();
			this.#place(call);
		}
	}

	#place(call: OutgoingCall): void {
		// A diagnostics listener may have aborted it on its way from one connection to the next.
		if (call.ended) return;
		const { current } = this.#sessions;
		if (current !== undefined && this.#state === 'ready') current.channel.send(call);
		else this.#disconnected.hold(call);
	}

	#dispatch(event: ConnectionEvent): void {
		const { state, actions } = step(connectionMachine, this.#state, event);
		const from = this.#state;
		this.#state = state;
		if (state !== from && stateChannel.hasSubscribers) {
			stateChannel.publish({ address: formatAddress(this.#options.address), from, to: state, event });
		}
		for (const action of actions) this.#actions[action](event);
	}

	#dial(): void {
		this.#retry.attempt();
		this.#sessions.dial(this.open(this));
		if (this.#options.transport.mark !== undefined) this.#watch.arm(LOOK_MS);
	}

	#lookAgain(): void {
		const { dialled } = this.#sessions;
		if (dialled === undefined) return;
		if (!this.#retry.seesAnother) this.#watch.arm(LOOK_MS);
		else dialled.destroy();
	}

	/** A drain ends when no caller waits for anything any more. */
	#endDrain(): void {
		if (this.#sessions.isIdle) this.#dispatch('emptied');
	}

	#isStable(): boolean {
		return this.#options.clock.now() - this.#readyAtMs >= this.#options.stableMs;
	}

	/** Takes the calls of a session that is gone, or going: they are rejected, or wait for the next connection. */
	#release(session: Session): void {
		const { retries } = this.#disconnected;
		for (const call of session.channel.takeAll()) {
			if (retries && (call.traits.idempotent || !call.sent)) this.#placeAnew([call]);
			else call.reject(this.#disconnected.lostError(call));
		}
	}

	#settle(event: ConnectionEvent): void {
		if (this.#outcome === undefined) {
			if (event === 'refused' && this.#lastError !== undefined) {
				this.#outcome = { reason: 'refused', error: this.#lastError };
			} else this.#outcome = { reason: event === 'close' ? 'close' : 'drain' };
			this.#ready.rejectAll(this.#disconnected.closedError());
		}
		this.#finish();
	}

	#finish(): void {
		if (this.#outcome !== undefined && this.#sessions.isEmpty) this.#resolveClosed(this.#outcome);
	}
}

/** Notified by a connection of what its subscriptions need to know. */
export interface ConnectionListener {
	/** New calls go to this session from now on: what is wanted must be subscribed to again. It has been greeted. */
	adopted(session: Session): void;
	/** There is no connection; what is known was true at `verifiedAtMs` of the age clock, when the sidecar sent its last byte. */
	lost(verifiedAtMs: number): void;
	push(session: Session, push: Push): void;
}
