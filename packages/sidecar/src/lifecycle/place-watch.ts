import type { Clock, TimerHandle } from '@spock/protocol/internal';

import type { PublicPlace } from '../listen/listener.ts';

/** How often it is looked whether the sockets still stand at their paths. */
export const PLACE_LOOK_MS = 1000;

/** What a {@link PlaceWatch} needs. */
export interface PlaceWatchContext {
	readonly clock: Clock;
	readonly places: () => readonly PublicPlace[];
	/** A socket was gone from its path: it stands there `again`, or it could not be put back, and why. */
	readonly told: (outcome: 'again' | 'gone', reason: string | null) => void;
}

/**
 * Puts back the socket files that somebody has deleted, while a sidecar serves: who is connected would notice nothing, and nobody
 * new could come. The socket of another process that stands there is left alone.
 */
export class PlaceWatch {
	readonly #context: PlaceWatchContext;
	#timer: TimerHandle | undefined;
	#isRunning = false;
	#reason: string | null = null;

	constructor(context: PlaceWatchContext) {
		this.#context = context;
	}

	/** Why nobody new can come by a path; null while all stand there. */
	get reason(): string | null {
		return this.#reason;
	}

	start(): void {
		if (this.#context.places().length === 0) return;
		this.#isRunning = true;
		this.#arm();
	}

	/** Looks no more. Idempotent. */
	stop(): void {
		this.#isRunning = false;
		this.#context.clock.clearTimeout(this.#timer);
		this.#reason = null;
	}

	#arm(): void {
		this.#timer = this.#context.clock.setTimeout(() => void this.#look(), PLACE_LOOK_MS);
		this.#timer.unref?.();
	}

	async #look(): Promise<void> {
		const { places, told } = this.#context;
		const outcomes = await Promise.all(places().map((place) => place.restore().catch((error: Error) => error)));
		if (!this.#isRunning) return;
		const [failure] = outcomes.filter((outcome) => outcome instanceof Error);
		const isTaken = outcomes.includes('taken');
		const reason = failure?.message ?? (isTaken ? "another process listens at this sidecar's path" : null);
		if (reason !== null && this.#reason === null) told('gone', reason);
		else if (reason === null && (this.#reason !== null || outcomes.includes('restored'))) told('again', null);
		this.#reason = reason;
		this.#arm();
	}
}
