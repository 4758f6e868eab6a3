import type { Clock, Random, TimerHandle } from '@spock/protocol/internal';

import type { ConsulCall } from './consul-call.ts';

/** A request is sent after this much silence, and up to a fifth later, so that many sidecars do not ask in step. */
const PULSE_MS = 5000;
const PULSE_JITTER = 0.2;
/** A pulse that fails later than this, well after its deadline, says only that this process stood still: it is repeated. */
const BEAT_MS_MAX = 4000;

/** What an {@link AddressPulse} needs. */
export interface AddressPulseOptions {
	readonly clock: Clock;
	/** Default `Math.random`. */
	readonly random?: Random | undefined;
	/** One tiny request: resolves if anybody answers, whatever it is; rejects by a deadline of its own, and when the signal aborts. */
	readonly beat: (signal: AbortSignal) => Promise<void>;
}

/**
 * Whether one address is still there while it holds calls. A process that is stopped, and a machine that is cut off, end no
 * connection: a query that it holds would wait for its own deadline, a minute, and what is served would be called live until
 * then. So after a silence of {@link PULSE_MS} one request is sent, whatever the number of calls; if nobody answers it, all of
 * them are ended as broken. Nothing is sent, and no timer runs, while no call is held.
 */
export class AddressPulse {
	readonly #options: AddressPulseOptions;
	readonly #held = new Set<ConsulCall>();
	#heardAtMs = 0;
	#timer: TimerHandle | undefined;
	#beat: AbortController | undefined;

	constructor(options: AddressPulseOptions) {
		this.#options = options;
	}

	/** Ends the call when the address is silent; call what is returned when it has ended otherwise. */
	hold(call: ConsulCall): () => void {
		if (this.#held.size === 0) this.heard();
		this.#held.add(call);
		this.#arm();
		return () => {
			this.#held.delete(call);
			if (this.#held.size === 0) this.#rest();
		};
	}

	/** Somebody has answered there. */
	heard(): void {
		this.#heardAtMs = this.#options.clock.now();
	}

	#rest(): void {
		this.#options.clock.clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#beat?.abort();
		this.#beat = undefined;
	}

	#arm(): void {
		if (this.#held.size === 0 || this.#timer !== undefined || this.#beat !== undefined) return;
		const { clock, random = Math.random } = this.#options;
		const dueAtMs = this.#heardAtMs + PULSE_MS * (1 + PULSE_JITTER * random());
		this.#timer = clock.setTimeout(() => {
			this.#timer = undefined;
			if (clock.now() - this.#heardAtMs < PULSE_MS) this.#arm();
			else void this.#ask();
		}, dueAtMs - clock.now());
		// The calls that are held hold the process.
		this.#timer.unref?.();
	}

	async #ask(): Promise<void> {
		const beat = new AbortController();
		const { clock } = this.#options;
		const silentSinceMs = this.#heardAtMs;
		const askedAtMs = clock.now();
		this.#beat = beat;
		const isThere = await this.#options.beat(beat.signal).then(
			() => true,
			() => false,
		);
		if (beat.signal.aborted) return;
		this.#beat = undefined;
		if (isThere) this.heard();
		// An answer to another call while this one was on its way says as much.
		else if (this.#heardAtMs === silentSinceMs && clock.now() - askedAtMs < BEAT_MS_MAX) this.#endAll(silentSinceMs);
		this.#arm();
	}

	#endAll(silentSinceMs: number): void {
		const silentMs = Math.round(this.#options.clock.now() - silentSinceMs);
		const error = new Error(`nothing was heard from this address for ${silentMs} ms, and nobody answered a pulse`);
		for (const call of [...this.#held]) call.emit('broken', error);
	}
}
