import type { EventPage, ReadEvents } from '../foundation/event-log.ts';
import { asFailure } from './open-log.ts';
import type { RecordBlocks } from './record-blocks.ts';
import { PageBuilder, type Segment } from './segment.ts';
import { segmentFileName } from './segment-header.ts';
import { findTime, readSegment, type SegmentPlace } from './segment-read.ts';
import type { LogDamage } from './segment-recovery.ts';

/** Most bytes that one read looks at on disk before it answers, found or not. */
const LOOK_BYTES_MAX = 4 * 1024 * 1024;

interface LogReaderOptions extends SegmentPlace {
	readonly blocks: RecordBlocks;
	/** Oldest first; may lose its oldest ones while a read runs. */
	readonly segments: readonly Segment[];
	/** Nothing from here on is shown. */
	readonly persisted: () => number;
	/** Records were found damaged: told once. */
	readonly damaged: (damage: LogDamage) => void;
}

/** Reads what is on disk: the newest records from memory, the others from their segments. */
export class LogReader {
	readonly #options: LogReaderOptions;

	constructor(options: LogReaderOptions) {
		this.#options = options;
	}

	async read(from: number, { stream, bytesMax, eventsMax }: ReadEvents): Promise<EventPage> {
		const { blocks, persisted, segments } = this.#options;
		const page = new PageBuilder(stream, bytesMax, eventsMax);
		let next = Math.max(from, segments[0]?.first ?? from);
		for (let looked = 0; looked < LOOK_BYTES_MAX && next < persisted() && !page.isFull; ) {
			const inMemory = blocks.first;
			if (inMemory !== undefined && next >= inMemory) {
				next = blocks.read(next, persisted(), page);
				break;
			}
			const segment = segments.find((each) => each.next > next);
			if (segment === undefined) break;
			next = Math.max(next, segment.first);
			const below = Math.min(segment.next, persisted());
			if (stream !== undefined && !segment.mayHold(stream, next)) {
				next = below;
				continue;
			}
			const range = { from: next, below, bytesMax: Math.min(bytesMax, LOOK_BYTES_MAX - looked) };
			const read = await this.#readOrTrimmed(segment, () => readSegment(segment, range, page, this.#options));
			if (read === undefined) continue;
			for (const lost of read.lost) this.#foundLost(segment, lost);
			looked += read.bytes;
			if (read.next === next) break;
			next = read.next;
		}
		return { events: page.events, next: Math.max(next, from) };
	}

	async positionAt(time: number): Promise<number> {
		const { persisted, segments } = this.#options;
		for (;;) {
			const segment = segments.find(({ first, next, lastTime }) => lastTime >= time && next > first);
			if (segment === undefined || segment.first >= persisted()) return persisted();
			const below = Math.min(segment.next, persisted());
			const found = await this.#readOrTrimmed(segment, () => findTime(segment, time, below, this.#options));
			if (found !== undefined) return found;
		}
	}

	/** Undefined if the segment was deleted meanwhile. */
	async #readOrTrimmed<T>(segment: Segment, read: () => Promise<T>): Promise<T | undefined> {
		try {
			return await read();
		} catch (error) {
			if (!this.#options.segments.includes(segment)) return undefined;
			throw asFailure(error);
		}
	}

	#foundLost(segment: Segment, { from, to }: { readonly from: number; readonly to: number }): void {
		if (segment.lost.some((known) => known.from <= from && known.to >= to)) return;
		segment.lost.push({ from, to });
		this.#options.damaged({ file: segmentFileName(segment), from, to });
	}
}
