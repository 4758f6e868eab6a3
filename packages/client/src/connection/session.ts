import type { Duplex } from 'node:stream';

import { encodePayload, encodeRequestTail, type FuncName, type Push, SpockError } from '@spock/protocol';
import { ageClockOf, isInteger, messageOf, type TimerHandle } from '@spock/protocol/internal';
import { FramedSocket } from '@spock/protocol/node';
import { BACKGROUND, type CallClock, type CallTraits, callClock, OutgoingCall } from '../calls/outgoing-call.ts';
import { RequestChannel } from '../calls/request-channel.ts';
import { defaultName } from '../foundation/default-name.ts';
import type { FaultMessage } from '../foundation/diagnostics.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import { OneTimer } from '../foundation/timers.ts';
import { failedTransport } from '../foundation/transport.ts';
import { ClockDifference } from './clock-difference.ts';
import { type Greeting, helloData, readGreeting, readGreetingFailure } from './greeting.ts';
import { Heartbeat } from './heartbeat.ts';

/** Notified by a session. `closed` is the last call. */
export interface SessionListener {
	/** Hello was answered; `session.greeting` is set. */
	greeted(session: Session): void;
	/** The sidecar shares no version with this client. The session is being destroyed; `closed` follows. */
	refused(session: Session, error: SpockError): void;
	push(session: Session, push: Push): void;
	/** So many may be in flight on it from now on. */
	windowed(inFlightMax: number, narrowed: boolean): void;
	fault(kind: FaultMessage['kind'], message: string): void;
	/** No caller waits for anything on it any more; only after `channel.drain()`. */
	emptied(session: Session): void;
	/** The socket is gone. Its channel still holds the calls that were in flight: the listener takes them. */
	closed(session: Session, error: SpockError): void;
}

/** One socket to a sidecar: opened and greeted at once, checked by a heartbeat, closed by its owner or by the peer. */
export class Session {
	readonly channel: RequestChannel;
	/** The sidecar's answer to hello; undefined until it has come. */
	greeting: Greeting | undefined = undefined;
	readonly #options: ResolvedOptions;
	readonly #clock: CallClock;
	readonly #listener: SessionListener;
	readonly #secret: string;
	readonly #isQuiet: boolean;
	readonly #socket: Duplex;
	readonly #framed: FramedSocket;
	readonly #heartbeat: Heartbeat;
	/** Undefined for a sidecar on the same machine, which has the same clock. */
	readonly #difference: ClockDifference | undefined;
	#error: SpockError | undefined;
	/** Runs while the option `token` is called. */
	#tokenTimer: TimerHandle | undefined;
	/** True once this side has ended it. */
	#endedHere = false;
	readonly #ending: OneTimer;

	/** `secret` is that of its client, and known to the sidecar alone. A quiet session has no heartbeat. */
	constructor(options: ResolvedOptions, secret: string, listener: SessionListener, isQuiet = false) {
		const { clock, transport, address, unref, frameBytesMax } = options;
		this.#options = options;
		this.#clock = callClock(options);
		this.#secret = secret;
		this.#isQuiet = isQuiet;
		this.#listener = listener;
		this.#ending = new OneTimer(clock, () => this.#framed.destroy());
		this.#difference = 'path' in address ? undefined : new ClockDifference(clock);
		this.channel = new RequestChannel(
			{
				write: (line) => this.#framed.write(line),
				bufferedBytes: () => this.#framed.bufferedBytes,
				push: (push) => this.#push(push),
				fault: (kind, message) => listener.fault(kind, message),
				timedOut: () => this.#heartbeat.doubt(),
				emptied: () => listener.emptied(this),
			},
			clock,
			options,
		);
		try {
			this.#socket = transport(address, (chunk) => this.#framed.receive(chunk));
		} catch (error) {
			this.#socket = failedTransport(error);
		}
		this.#framed = new FramedSocket(
			this.#socket,
			{
				chunkCame: () => this.#heartbeat.heard(),
				frame: (text) => this.channel.receive(text),
				numbered: (id, rest) => this.channel.receiveNumbered(id, rest),
				fault: (code, message) => listener.fault('frame', `${code}: ${message}`),
				// No reply can come any more, and half a connection is of no use.
				ended: () => this.#framed.destroy(),
				closed: (error) => this.#closed(error),
			},
			{ frameBytesMax },
		);
		if (unref) (this.#socket as { unref?(): void }).unref?.();
		this.#heartbeat = new Heartbeat(clock, options.heartbeatMs, {
			bytesRead: () => this.#framed.bytesRead,
			ping: () => this.#ping(options.heartbeatMs),
			dead: () => this.#dead(),
		});
		this.#hello();
	}

	/**
	 * Sends a call of this session: it ends with the session. Without callbacks its outcome is ignored. The sidecar is given `waitMs`, where
	 * its caller waits for less or more than by default.
	 */
	send(
		func: FuncName,
		data: unknown,
		traits: CallTraits,
		timeoutMs: number,
		resolve: (value: unknown) => void = ignore,
		reject: (error: SpockError) => void = ignore,
		waitMs?: number,
	): void {
		const tail = encodeRequestTail(func, encodePayload(data), waitMs);
		this.channel.send(
			new OutgoingCall({ func, tail, traits, timeoutMs, signal: undefined }, this.#clock, resolve, reject),
		);
	}

	/** When the sidecar sent the last of its bytes that were read, by the age clock: at this time or later. */
	get heardAtMs(): number {
		return this.#heartbeat.heardAtMs;
	}

	/** False for an older sidecar on another machine: its times are by a clock which may differ. */
	get knowsTime(): boolean {
		return this.#difference?.isKnown ?? true;
	}

	/** A snapshot of this sidecar with its times by the wall clock of this machine. */
	inOwnTime<S extends { readonly verifiedAt: number; readonly liveAt?: number }>(snapshot: S): S {
		const aheadMs = this.#difference?.aheadMs ?? 0;
		if (aheadMs === 0) return snapshot;
		const { verifiedAt, liveAt } = snapshot;
		return Object.freeze({
			...snapshot,
			...(verifiedAt !== 0 && { verifiedAt: verifiedAt - aheadMs }),
			...(liveAt !== undefined && { liveAt: liveAt - aheadMs }),
		});
	}

	/** Calls back once everything that the sidecar had sent before now has been read: it answers in order. Not after the end. */
	afterRoundTrip(callback: () => void): void {
		this.#ping(this.#options.timeoutMs, callback, (error) => {
			// Slow, or overloaded; what is silent is found by the heartbeat.
			if (error.code === 'TIMEOUT') this.afterRoundTrip(callback);
		});
	}

	/** Bytes that the sidecar has not taken: only those that have left the process outlive it. */
	get bufferedBytes(): number {
		return this.#framed.bufferedBytes;
	}

	/** Sends a line that is never answered, with the others of this tick. */
	write(line: string): void {
		this.#framed.write(line);
	}

	/** Sends whole lines at once, behind what was written before. Nobody may change the bytes any more. */
	writeBytes(lines: Uint8Array): void {
		this.#framed.writeBytes(lines);
	}

	/**
	 * Ends the socket when what was written is sent, or cannot be sent for as long as a call may take: to a sidecar that does not read, or
	 * over a network that is cut. `closed` follows.
	 */
	end(): void {
		this.#endedHere = true;
		this.#ending.arm(this.#options.timeoutMs);
		// Once our side is sent nothing is left to do: waiting for the peer's end would let it hold us.
		this.#socket.once('finish', () => this.#framed.destroy());
		this.#framed.end();
	}

	/** Drops the socket; `closed` follows, with this error if none came before. */
	destroy(error?: SpockError): void {
		this.#error ??= error;
		this.#endedHere = true;
		this.#framed.destroy();
	}

	#ping(timeoutMs: number, resolve: () => void = ignore, reject: (error: SpockError) => void = ignore): void {
		const asked = this.#difference?.ask();
		const answered = (data: unknown): void => {
			asked?.(data);
			resolve();
		};
		this.send('ping', asked === undefined ? null : { time: true }, BACKGROUND, timeoutMs, answered, reject);
	}

	#hello(): void {
		const { token, clock, dialTimeoutMs } = this.#options;
		if (typeof token !== 'function') {
			this.#sayHello(token);
			return;
		}
		const fail = (why: string, cause?: unknown): void =>
			this.destroy(new SpockError('DISCONNECTED', `the option token ${why}`, { cause }));
		this.#tokenTimer = clock.setTimeout(() => fail(`returned no token within ${dialTimeoutMs} ms`), dialTimeoutMs);
		if (this.#options.unref) this.#tokenTimer.unref?.();
		const settle = (say: () => void): void => {
			clock.clearTimeout(this.#tokenTimer);
			if (!this.#framed.closed) say();
		};
		new Promise<string>((resolve) => resolve(token())).then(
			(given) => settle(() => this.#sayHello(given?.trim())),
			(cause: unknown) => settle(() => fail('failed', cause)),
		);
	}

	#sayHello(token: string | undefined): void {
		const { name: client = defaultName(), frameBytesMax, heartbeatMs, dialTimeoutMs, sidecar } = this.#options;
		const asked = this.#difference?.ask();
		// Settled in the tick of its reply, and not by a promise: a push in the same chunk must find a greeted session.
		this.send(
			'hello',
			helloData({
				client,
				frameBytesMax,
				// Without it the sidecar expects no sign of life.
				...(!this.#isQuiet && { heartbeatMs }),
				secret: this.#secret,
				...(token && { token }),
				...(sidecar && { sidecar }),
			}),
			BACKGROUND,
			dialTimeoutMs,
			(data) => {
				asked?.(data);
				this.#greet(() => readGreeting(data));
			},
			(error) => this.#greet(() => readGreetingFailure(error)),
		);
	}

	#greet(read: () => Greeting): void {
		if (this.#framed.closed) return;
		let greeting: Greeting;
		try {
			greeting = read();
		} catch (error) {
			const reason = SpockError.from(error);
			this.destroy(reason);
			if (reason.code === 'PROTOCOL') this.#listener.refused(this, reason);
			return;
		}
		this.greeting = greeting;
		this.channel.sendsCancel = !greeting.baseline;
		this.channel.frameBytesMax = greeting.frameBytesMax;
		this.channel.narrow(greeting.inFlightMax);
		if (!this.#isQuiet) this.#heartbeat.start();
		this.#listener.greeted(this);
	}

	#push(push: Push): void {
		if (push.event !== 'window') {
			this.#listener.push(this, push);
			return;
		}
		const { inFlightMax } = (push.data ?? {}) as { inFlightMax?: unknown };
		if (isInteger(inFlightMax, 1)) {
			this.channel.setWindow(inFlightMax);
			this.#listener.windowed(inFlightMax, this.channel.window !== null);
		} else this.#listener.fault('push', 'window without a usable inFlightMax');
	}

	#dead(): void {
		const silentMs = Math.round(ageClockOf(this.#options.clock).now() - this.heardAtMs);
		const message = `the sidecar has not sent a byte for ${silentMs} ms, although it was pinged`;
		this.destroy(new SpockError('DISCONNECTED', message, { details: { silentMs } }));
	}

	#closed(cause: Error | undefined): void {
		this.#heartbeat.stop();
		this.#ending.cancel();
		this.#options.clock.clearTimeout(this.#tokenTimer);
		const end = this.#endedHere ? 'this client ended the connection' : 'the sidecar ended the connection';
		const why = cause === undefined ? end : messageOf(cause);
		this.#listener.closed(this, this.#error ?? new SpockError('DISCONNECTED', why, { cause }));
	}
}

function ignore(): void {
	// A ping is answered by its bytes, not by its reply; an unwatch that fails leaves pushes that are ignored.
}
