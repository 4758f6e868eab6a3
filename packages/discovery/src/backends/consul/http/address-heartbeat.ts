import type { Clock, Random, TimerHandle } from '@spock/protocol/internal';

import type { ConsulCall } from '../client/consul-call.ts';
import { PROBE_MS } from '../client/consul-probe.ts';

/** A request is sent this long after the last proof, so that there are six a minute; the first one earlier, not all in step. */
const HEARTBEAT_MS = 10_000;
const FIRST_MIN = 0.5;
/** And after one that failed, until the address answers in time again. */
const LATE_HEARTBEAT_MS = 2000;
/** What was sent so long before, and is not answered yet, is asked again then. */
const HUNG_MS = 500;
/** A heartbeat that fails later than this, well after its deadline, says only that this process stood still: it is repeated. */
const BEAT_MS_MAX = 4000;

/** What an {@link AddressHeartbeat} needs. */
export interface AddressHeartbeatOptions {
	readonly clock: Clock;
	/** Default `Math.random`. */
	readonly random?: Random | undefined;
	/** One tiny request: resolves if the address reaches the servers; rejects by a deadline of its own, and when the signal aborts. */
	readonly beat: (signal: AbortSignal) => Promise<void>;
	/** It answers in time again. */
	readonly timely?: () => void;
}

/**
 * Whether one address still speaks for the servers while it holds calls, and without delay. A process that is stopped, a machine
 * that is cut off, and an agent that has lost its servers end no connection: a query that it holds would wait for a minute, and what
 * is served would be called live until then. So one request is sent every {@link HEARTBEAT_MS}, whatever the number of calls; if it
 * fails, all of them are ended as broken. Nothing is sent, and no timer runs, while no call is held.
 */
export class AddressHeartbeat {
	readonly #options: AddressHeartbeatOptions;
	/** Since when each is on its way. */
	readonly #held = new Map<ConsulCall, number>();
	/** Since when it answers too late; undefined while it answers in time. */
	#lateSinceMs: number | undefined;
	/** When the last request was sent that was answered in time; undefined before there is one. */
	#provenAtMs: number | undefined;
	#dueAtMs = Number.NEGATIVE_INFINITY;
	#timer: TimerHandle | undefined;
	#beat: AbortController | undefined;

	constructor(options: AddressHeartbeatOptions) {
		this.#options = options;
	}

	/** False from the moment that something was answered too late until something is answered in time. */
	get isTimely(): boolean {
		return this.#lateSinceMs === undefined;
	}

	/** Calls wait for it. */
	get isInUse(): boolean {
		return this.#held.size > 0;
	}

	/** Ends the call when the address is silent; call what is returned when it has ended otherwise. */
	hold(call: ConsulCall): () => void {
		const { clock, random = Math.random } = this.#options;
		const nowMs = clock.now();
		// After a short rest, between one query and the next, the heartbeat is still due.
		if (this.#held.size === 0 && nowMs - this.#dueAtMs > HEARTBEAT_MS) {
			this.#dueAtMs = nowMs + HEARTBEAT_MS * (FIRST_MIN + (1 - FIRST_MIN) * random());
		}
		this.#held.set(call, nowMs);
		this.#arm();
		return () => {
			this.#held.delete(call);
			if (this.#held.size === 0) this.#rest();
		};
	}

	/** A request that only a server can answer, sent then, was answered now. */
	answered(sentAtMs: number): void {
		const { clock } = this.#options;
		const isTimely = clock.now() - sentAtMs < PROBE_MS;
		if (isTimely && sentAtMs >= (this.#provenAtMs ?? sentAtMs)) {
			this.#provenAtMs = sentAtMs;
			this.#dueAtMs = sentAtMs + HEARTBEAT_MS;
		}
		this.#judge(isTimely);
	}

	#judge(isTimely: boolean): void {
		const wasTimely = this.isTimely;
		const nowMs = this.#options.clock.now();
		this.#lateSinceMs = isTimely ? undefined : (this.#lateSinceMs ?? nowMs);
		if (!isTimely) this.#dueAtMs = Math.min(this.#dueAtMs, nowMs + LATE_HEARTBEAT_MS);
		if (wasTimely || !isTimely) return;
		// What was sent while it was late may wait for a server that is gone.
		this.#break((sentAtMs) => nowMs - sentAtMs >= HUNG_MS, new Error('this address did not answer in time'));
		this.#options.timely?.();
	}

	#break(isConcerned: (sentAtMs: number) => boolean, error: Error): void {
		for (const [call, sentAtMs] of [...this.#held]) if (isConcerned(sentAtMs)) call.emit('broken', error);
	}

	#rest(): void {
		this.#options.clock.clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#beat?.abort();
		this.#beat = undefined;
	}

	#arm(): void {
		if (this.#held.size === 0 || this.#timer !== undefined || this.#beat !== undefined) return;
		const { clock } = this.#options;
		this.#timer = clock.setTimeout(
			() => {
				this.#timer = undefined;
				if (clock.now() < this.#dueAtMs) this.#arm();
				else void this.#ask();
			},
			Math.max(0, this.#dueAtMs - clock.now()),
		);
		// The calls that are held hold the process.
		this.#timer.unref?.();
	}

	async #ask(): Promise<void> {
		const beat = new AbortController();
		const { clock } = this.#options;
		const askedAtMs = clock.now();
		this.#dueAtMs = askedAtMs + HEARTBEAT_MS;
		this.#beat = beat;
		const failure = await this.#options.beat(beat.signal).then(
			() => undefined,
			(reason: unknown) => reason as Error,
		);
		if (beat.signal.aborted) return;
		this.#beat = undefined;
		if (failure === undefined) this.answered(askedAtMs);
		else if (clock.now() - askedAtMs >= BEAT_MS_MAX) this.#dueAtMs = clock.now();
		// Another request that was sent since and answered in time says as much.
		else if (this.#provenAtMs === undefined || this.#provenAtMs < askedAtMs) this.#fail(failure);
		this.#arm();
	}

	#fail(cause: Error): void {
		const provenAtMs = this.#provenAtMs;
		this.#judge(false);
		const since = provenAtMs === undefined ? '' : ` for ${Math.round(this.#options.clock.now() - provenAtMs)} ms`;
		const error = new Error(`no response from the Consul servers through this address${since}: ${cause.message}`, {
			cause,
		});
		// What was sent to an address that was known to be late is not held, and may be answered late.
		const lateSinceMs = this.#lateSinceMs as number;
		this.#break((sentAtMs) => sentAtMs <= lateSinceMs, error);
	}
}
