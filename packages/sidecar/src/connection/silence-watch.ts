import type { Clock, TimerHandle } from '@spock/protocol/internal';

/** Heartbeats in a row that a client may miss; after the next look it counts as silent. */
export const MISSED_HEARTBEATS_MAX = 3;

/** The shortest time between two looks, in milliseconds, however short the client's interval is. */
const LOOK_MS_MIN = 500;

/** What a {@link SilenceWatch} needs of its connection. */
export interface SilencePort {
	/** Every byte is a sign of life, not only a ping. */
	bytesRead(): number;
	/** The client was silent for this long. */
	silent(silentMs: number): void;
	/** The client is heard again. */
	heard(): void;
}

/**
 * Detects a client that is stopped, blocked, or gone with its machine while its connection looks healthy: one that promised to send
 * something at least once in each interval, and does not. It counts looks and not milliseconds: after a pause of this process, the
 * input that arrived meanwhile is read before the next look.
 */
export class SilenceWatch {
	readonly #clock: Clock;
	readonly #port: SilencePort;
	#timer: TimerHandle | undefined;
	#bytesRead = 0;
	#heardAtMs = 0;
	#missed = 0;

	constructor(clock: Clock, port: SilencePort) {
		this.#clock = clock;
		this.#port = port;
	}

	/** True from being silent to the next byte. */
	get isSilent(): boolean {
		return this.#missed >= MISSED_HEARTBEATS_MAX;
	}

	/** Looks once in each interval of this many milliseconds, which the client promised. A second call replaces the interval. */
	start(heartbeatMs: number): void {
		this.stop();
		this.#note();
		this.#arm(Math.max(LOOK_MS_MIN, heartbeatMs));
	}

	/** Input was read: cheap, because it is called for every chunk. */
	chunkRead(): void {
		if (!this.isSilent) return;
		this.#missed = 0;
		// The next look starts a new count, however soon it comes.
		this.#bytesRead = -1;
		this.#port.heard();
	}

	stop(): void {
		this.#clock.clearTimeout(this.#timer);
		this.#timer = undefined;
	}

	#note(): void {
		this.#missed = 0;
		this.#bytesRead = this.#port.bytesRead();
		this.#heardAtMs = this.#clock.now();
	}

	#arm(lookMs: number): void {
		this.#timer = this.#clock.setTimeout(() => {
			this.#arm(lookMs);
			this.#look();
		}, lookMs);
		this.#timer.unref?.();
	}

	#look(): void {
		if (this.#port.bytesRead() !== this.#bytesRead) this.#note();
		else if (++this.#missed === MISSED_HEARTBEATS_MAX) this.#port.silent(this.#clock.now() - this.#heardAtMs);
	}
}
