import type { Clock } from '@spock/protocol/internal';

/** A repetition of an event by its id is recognised for so long. */
export const ID_WINDOW_MS = 120_000;
/** Most ids that are remembered; some 40 MB. Above it the oldest go first, and are counted. */
export const ID_WINDOW_IDS_MAX = 262_144;

interface Sighting {
	readonly position: number;
	readonly time: number;
}

/**
 * The ids of the last two minutes, by stream. Two maps, each of one stretch of time: what is old goes as a whole, because a Map from
 * which the oldest are deleted one by one scans its holes at each of them. Times are monotonic: by those of records, which stand still while
 * the clock of the machine is set back, an id would be known for as long as it was set back, and a new event would count as a repetition.
 */
export class IdWindow {
	readonly #clock: Pick<Clock, 'now' | 'wallNow'>;
	readonly #idsMax: number;
	/** Of the event at hand. */
	#time = 0;
	/** Of the event that was looked for last. */
	#name = '';
	#young = new Map<string, Sighting>();
	#old = new Map<string, Sighting>();
	/** When the first of the young ones came. */
	#youngSince = 0;
	/** Ids that were forgotten within their time because there were too many. */
	forgotten = 0;

	constructor(clock: Pick<Clock, 'now' | 'wallNow'>, idsMax: number = ID_WINDOW_IDS_MAX) {
		this.#clock = clock;
		this.#idsMax = idsMax;
	}

	get size(): number {
		return this.#young.size + this.#old.size;
	}

	/** The position of the first event of this id, if that came within two minutes. */
	find(stream: string, id: string): number | undefined {
		this.#time = this.#clock.now();
		this.#name = `${stream}\n${id}`;
		return this.#find(this.#name);
	}

	/** The event that was looked for last, and not found, was appended now. Its name is not made and looked up again: half of the cost. */
	appended(position: number): void {
		this.#add(this.#name, position);
	}

	/** An event that was appended at this time, in milliseconds since 1970; a time to come counts as now. Of two with the same id within two minutes the first one counts. */
	replay(stream: string, id: string, position: number, time: number): void {
		this.#time = this.#clock.now() - Math.max(0, this.#clock.wallNow() - time);
		const name = `${stream}\n${id}`;
		if (this.#find(name) === undefined) this.#add(name, position);
	}

	#add(name: string, position: number): void {
		const time = this.#time;
		if (this.#young.size === 0) this.#youngSince = time;
		else if (time - this.#youngSince > ID_WINDOW_MS || this.#young.size >= this.#idsMax / 2) this.#rotate();
		this.#young.set(name, { position, time });
	}

	#find(name: string): number | undefined {
		const sighting = this.#young.get(name) ?? this.#old.get(name);
		return sighting !== undefined && this.#time - sighting.time <= ID_WINDOW_MS ? sighting.position : undefined;
	}

	#rotate(): void {
		for (const sighting of this.#old.values()) if (this.#time - sighting.time <= ID_WINDOW_MS) this.forgotten++;
		this.#old = this.#young;
		this.#young = new Map();
		this.#youngSince = this.#time;
	}
}
