import type { Random } from '@spock/protocol/internal';

import { encodeCheckpoint, RECORD_HEAD_BYTES, seedOf } from './record.ts';
import { Segment } from './segment.ts';
import { SALT_BYTES } from './segment-header.ts';
import type { NewPreamble } from './segment-writer.ts';

/** The segments of a log, oldest first, and the one that is appended to. */
export class SegmentList {
	readonly all: Segment[] = [];
	readonly #random: Random;
	readonly #segmentBytes: number;
	/** What is appended to; undefined before the first record. */
	#tail: Segment | undefined;

	constructor(random: Random, segmentBytes: number) {
		this.#random = random;
		this.#segmentBytes = segmentBytes;
	}

	/** What their files take on disk. */
	get fileBytes(): number {
		return this.all.reduce((sum, { fileBytes }) => sum + fileBytes, 0);
	}

	/**
	 * What a record of so many bytes is appended to; undefined if a new segment must be begun for it. One that goes on where a file could not be
	 * written has no checkpoint, and holds what is in front of it: in a log that got full by then nothing could ever be deleted.
	 */
	tailFor(bytes: number): Segment | undefined {
		const tail = this.#tail;
		const fits =
			tail?.hasCheckpoint === true && (tail.length + bytes <= this.#segmentBytes || tail.next === tail.first);
		return fits ? tail : undefined;
	}

	#newSalt(): Uint8Array {
		return Uint8Array.from({ length: SALT_BYTES }, () => Math.floor(this.#random() * 256));
	}

	/** Begins a segment, which is appended to from now on; gives what its file begins with. */
	begin(first: number, time: number, checkpointText: string): { segment: Segment; preamble: NewPreamble } {
		const salt = this.#newSalt();
		const checkpoint = encodeCheckpoint(checkpointText, { position: first, time }, seedOf(salt));
		const previous = this.all.at(-1);
		// What lies between them could only be found by reading it.
		const summed = previous?.next === first ? previous : undefined;
		const summary = summed && JSON.stringify(summed.summary());
		const summaryBytes = summary === undefined ? 0 : RECORD_HEAD_BYTES + Buffer.byteLength(summary);
		const segment = new Segment({
			...{ first, epoch: 0, time, salt },
			...{ checkpointBytes: checkpoint.length, summaryBytes },
		});
		this.all.push(segment);
		this.#tail = segment;
		return { segment, preamble: { checkpoint, summed, summary } };
	}

	/** Puts a segment behind one whose file cannot be written further, for its records from `first` on. */
	continueAfter(segment: Segment, first: number, time: number): Segment {
		const rest = new Segment({ first, epoch: 0, time, salt: this.#newSalt(), checkpointBytes: 0 });
		this.all.splice(this.all.indexOf(segment) + 1, 0, rest);
		if (this.#tail === segment) this.#tail = rest;
		return rest;
	}

	/** The last position of a stream, as far as it is known which that is; 0 if it has none. */
	lastOf(stream: string): number {
		for (const segment of [...this.all].reverse()) {
			const last = segment.streams.get(stream)?.last;
			if (last !== undefined) return last;
			// It has more streams than it counts: this may be one of them.
			if (segment.mayHold(stream, segment.first)) return segment.next - 1;
		}
		return 0;
	}

	/**
	 * Takes out the oldest segments that are below a position. `persisted`: records below are on disk; `written` has the file that is written
	 * to.
	 */
	takeBelow(limit: number, persisted: number, written: Segment | undefined): readonly Segment[] {
		const isDone = (segment: Segment): boolean =>
			segment.next <= Math.min(limit, persisted) && segment !== this.#tail && segment !== written;
		const kept = this.all.findIndex((segment) => !isDone(segment));
		// The newest that is on disk stays in any case, as it says where the log is; and it must begin with what is remembered of the rest.
		let count = kept === -1 ? this.all.length - 1 : kept;
		while (count > 0 && !isBeginning(this.all[count] as Segment, persisted)) count--;
		return count <= 0 ? [] : this.all.splice(0, count);
	}
}

/** True if a log may begin with this segment: its file is on disk, and has a checkpoint. */
function isBeginning({ first, hasCheckpoint }: Segment, persisted: number): boolean {
	return hasCheckpoint && first < persisted;
}
