import type { EventPage, ReadEvents } from '../foundation/event-log.ts';
import type { RecordBlocks } from '../segments/record-blocks.ts';
import { PageBuilder, type Segment } from '../segments/segment.ts';
import { segmentFileName } from '../segments/segment-header.ts';
import { findTime, readSegment, type SegmentPlace } from '../segments/segment-read.ts';
import type { LogDamage } from '../segments/segment-recovery.ts';
import { asFailure } from './open-log.ts';

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
			if (segment === undefined) {
				// What was behind the last file that can be read is lost.
				next = persisted();
				break;
			}
			next = Math.max(next, segment.first);
			const below = Math.min(segment.next, persisted());
			if (stream !== undefined && !segment.mayHold(stream, next)) {
				next = below;
				continue;
			}
			const range = { from: next, below, bytesMax: Math.min(bytesMax, LOOK_BYTES_MAX - looked) };
			const read = await this.#readOrGone(segment, () => readSegment(segment, range, page, this.#options));
			if (read === 'trimmed') continue;
			if (read === 'deleted') {
				this.#foundDeleted(segment, below);
				next = below;
				continue;
			}
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
			const found = await this.#readOrGone(segment, () => findTime(segment, time, below, this.#options));
			if (found === 'trimmed') continue;
			if (found !== 'deleted') return found;
			this.#foundDeleted(segment, below);
			return below;
		}
	}

	/** `trimmed` if the segment was deleted meanwhile because it is not needed, `deleted` if its file was by somebody else. */
	async #readOrGone<T>(segment: Segment, read: () => Promise<T>): Promise<T | 'trimmed' | 'deleted'> {
		const { directory, files, segments } = this.#options;
		try {
			return await read();
		} catch (error) {
			if (!segments.includes(segment)) return 'trimmed';
			// With its whole directory it may come back.
			const names = await files.list(directory).catch(() => undefined);
			if (!segments.includes(segment)) return 'trimmed';
			if (names?.includes(segmentFileName(segment)) === false) return 'deleted';
			throw asFailure(error);
		}
	}

	/** Nothing of a segment can be read, below a position. */
	#foundDeleted(segment: Segment, below: number): void {
		const from = segment.lost.at(-1)?.to ?? segment.first;
		if (from < below) this.#foundLost(segment, { from, to: below });
	}

	#foundLost(segment: Segment, { from, to }: { readonly from: number; readonly to: number }): void {
		if (segment.lost.some((known) => known.from <= from && known.to >= to)) return;
		segment.lost.push({ from, to });
		this.#options.damaged({ file: segmentFileName(segment), from, to });
	}
}
