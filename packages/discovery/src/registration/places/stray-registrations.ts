import { Backoff, type Clock, type Random, type TimerHandle } from '@spock/protocol/internal';

import type { RegistrationPlace } from '../../foundation/registration-place.ts';

/** Delays between attempts at places that could not be reached. An agent that starts is seen in the registry before it answers. */
const DELAY_MS_MIN = 250;
const DELAY_MS_MAX = 15_000;
/** Strays remembered at once: the registry itself takes out what is not renewed. */
const STRAYS_MAX = 4096;

interface Stray {
	readonly id: string;
	readonly owner: string;
	readonly place: number;
	/** The registry has taken it out by itself by then. */
	readonly untilMs: number;
}

/** Registrations that may still stand at places where they must not: taken out as soon as those can be reached. */
export class StrayRegistrations {
	readonly #places: readonly RegistrationPlace[];
	readonly #clock: Clock;
	readonly #strays = new Map<string, Stray>();
	readonly #sweeping = new Map<string, Promise<void>>();
	readonly #backoff: Backoff;
	#timer: TimerHandle | undefined;
	#isClosed = false;

	constructor(places: readonly RegistrationPlace[], clock: Clock, random: Random | undefined) {
		this.#places = places;
		this.#clock = clock;
		this.#backoff = new Backoff({ delayMsMin: DELAY_MS_MIN, delayMsMax: DELAY_MS_MAX, ...(random && { random }) });
	}

	/** It may stand there for `forMs` more, unless it is taken out. */
	add({ id, owner }: { readonly id: string; readonly owner: string }, place: number, forMs: number): void {
		const key = keyOf(id, place);
		if (this.#isClosed || (this.#strays.size >= STRAYS_MAX && !this.#strays.has(key))) return;
		this.#strays.set(key, { id, owner, place, untilMs: this.#clock.now() + forMs });
	}

	/** It is registered there again. Resolves when nothing takes it out there any more. */
	async claim(id: string, place: number): Promise<void> {
		const key = keyOf(id, place);
		this.#strays.delete(key);
		await this.#sweeping.get(key);
	}

	/** Takes out now what can be reached of this id, and the rest as soon as it can be. */
	sweep(id: string): void {
		this.#backoff.reset();
		this.#clock.clearTimeout(this.#timer);
		this.#timer = undefined;
		for (const [key, stray] of this.#strays) if (stray.id === id) this.#takeOut(key, stray);
		this.#arm();
	}

	/** Idempotent. A call in progress is completed. */
	close(): void {
		this.#isClosed = true;
		this.#clock.clearTimeout(this.#timer);
		this.#strays.clear();
	}

	#takeOut(key: string, stray: Stray): void {
		if (this.#sweeping.has(key)) return;
		if (this.#clock.now() >= stray.untilMs) {
			this.#strays.delete(key);
			return;
		}
		const taken = (this.#places[stray.place] as RegistrationPlace).deregister(stray.id, stray.owner).then(
			() => {
				if (this.#strays.get(key) === stray) this.#strays.delete(key);
			},
			// Its place is away: it is asked again.
			() => undefined,
		);
		this.#sweeping.set(
			key,
			taken.finally(() => this.#sweeping.delete(key)),
		);
	}

	#arm(): void {
		if (this.#timer !== undefined || this.#strays.size === 0 || this.#isClosed) return;
		this.#timer = this.#clock.setTimeout(() => {
			this.#timer = undefined;
			for (const [key, stray] of this.#strays) this.#takeOut(key, stray);
			this.#arm();
		}, this.#backoff.next());
		this.#timer.unref?.();
	}
}

function keyOf(id: string, place: number): string {
	return `${place} ${id}`;
}
