import type { Clock, TimerHandle } from '@spock/protocol/internal';

import type { PublishedSocketPath } from '../listen/listener.ts';

/** How often the socket files are checked. */
export const SOCKET_PATH_CHECK_MS = 1000;

/** What a {@link SocketPathWatch} needs. */
export interface SocketPathWatchContext {
	readonly clock: Clock;
	readonly places: () => readonly Pick<PublishedSocketPath, 'restore'>[];
	/** A socket was missing at its path: it was restored (`again`), or could not be (`gone`), and why. */
	readonly changed: (outcome: 'again' | 'gone', reason: string | null) => void;
}

/**
 * Restores deleted socket files while a sidecar serves: connected clients would notice nothing, and no new one could connect. The
 * socket of another process at the path is left alone.
 */
export class SocketPathWatch {
	readonly #context: SocketPathWatchContext;
	#timer: TimerHandle | undefined;
	#isRunning = false;
	#reason: string | null = null;

	constructor(context: SocketPathWatchContext) {
		this.#context = context;
	}

	/** Why no client can connect by a path; null while all sockets exist. */
	get reason(): string | null {
		return this.#reason;
	}

	start(): void {
		if (this.#context.places().length === 0) return;
		this.#isRunning = true;
		this.#arm();
	}

	/** Stops checking. Idempotent. */
	stop(): void {
		this.#isRunning = false;
		this.#context.clock.clearTimeout(this.#timer);
		this.#reason = null;
	}

	#arm(): void {
		this.#timer = this.#context.clock.setTimeout(() => void this.#check(), SOCKET_PATH_CHECK_MS);
		this.#timer.unref?.();
	}

	async #check(): Promise<void> {
		const { places, changed } = this.#context;
		const outcomes = await Promise.all(places().map((place) => place.restore().catch((error: Error) => error)));
		if (!this.#isRunning) return;
		const [failure] = outcomes.filter((outcome) => outcome instanceof Error);
		const isTaken = outcomes.includes('taken');
		const reason = failure?.message ?? (isTaken ? "another process listens at this sidecar's path" : null);
		if (reason !== null && this.#reason === null) changed('gone', reason);
		else if (reason === null && (this.#reason !== null || outcomes.includes('restored'))) changed('again', null);
		this.#reason = reason;
		this.#arm();
	}
}
