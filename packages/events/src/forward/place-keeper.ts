import { SpockError } from '@spock/protocol';
import type { Clock, TimerHandle } from '@spock/protocol/internal';

import type { RecordLog } from '../foundation/event-log.ts';
import type { ForwardPlace, ForwardPlaces } from './forward-places.ts';

const KEEP_PLACE_MS = 1000;

/** Keeps places in the log: of a stream that moves once a second. */
export class PlaceKeeper {
	readonly #log: Pick<RecordLog, 'append'>;
	readonly #clock: Clock;
	readonly #places: ForwardPlaces;
	/** Whose place has changed since it was kept. */
	readonly #unkept = new Set<ForwardPlace>();
	#timer: TimerHandle | undefined;

	constructor(log: Pick<RecordLog, 'append'>, clock: Clock, places: ForwardPlaces) {
		this.#log = log;
		this.#clock = clock;
		this.#places = places;
	}

	moved(place: ForwardPlace): void {
		this.#unkept.add(place);
		this.#timer ??= this.#arm();
	}

	/** At once, if it has changed. A place that cannot be kept is asked of the store, or is a little older. */
	keep(place: ForwardPlace): void {
		if (!this.#unkept.delete(place)) return;
		try {
			this.#log.append(this.#places.noteOf(place));
		} catch (error) {
			if (!SpockError.is(error)) throw error;
		}
	}

	stop(): void {
		this.#clock.clearTimeout(this.#timer);
	}

	#arm(): TimerHandle {
		const timer = this.#clock.setTimeout(() => {
			this.#timer = undefined;
			for (const place of this.#unkept) this.keep(place);
		}, KEEP_PLACE_MS);
		timer.unref?.();
		return timer;
	}
}
