import { join } from 'node:path';

import type { Files, WritableFile } from '../foundation/files.ts';
import { encodeSeal, encodeSummary } from './record.ts';
import type { Batch } from './record-blocks.ts';
import type { Segment } from './segment.ts';
import { encodeHeader, type SegmentName, segmentFileName } from './segment-header.ts';

/**
 * A sync that must make the file longer costs 1.3 to 2 times as much as one that overwrites (ext4, batches of 300 bytes to 256 KiB:
 * medians of 0.28 to 0.52 ms, against 0.19 to 0.39). So a small batch also writes zeros ahead, as many as the file has bytes, up to this. Reusing
 * the files of old segments gains the same, and only once there are such files.
 */
const AHEAD_BYTES_MAX = 1024 * 1024;
const AHEAD_BYTES_MIN = 4096;
/** A larger batch costs more than the longer file. */
const SMALL_BATCH_BYTES_MAX = 256 * 1024;
const ZEROS = Buffer.alloc(AHEAD_BYTES_MAX);

/** What the file of a new segment begins with, behind its header. */
export interface NewPreamble {
	readonly checkpoint: Buffer;
	/** The segment in front of it, and what that holds; undefined if nothing can be said. */
	readonly summed: Segment | undefined;
	readonly summary: string | undefined;
}

interface OpenFile {
	readonly file: WritableFile;
	readonly segment: Segment;
	/** Header and checkpoint, which go with the first batch. */
	preamble: readonly Buffer[];
	/** The offset behind everything that was written, zeros included. */
	end: number;
	/** Behind the last durable record: its offset and its position. */
	last: { readonly offset: number; readonly next: number };
}

/** Writes one segment after the other, each into a file of its own. One call at a time. */
export class SegmentWriter {
	readonly #files: Files;
	readonly #directory: string;
	readonly #segmentBytes: number;
	#previous: SegmentName;
	/** The same, if all of its records are known to be on disk: nobody writes it any more, and none of its syncs has failed. */
	#ended: Segment | undefined;
	#open: OpenFile | undefined;

	/** `previous`: the newest segment that is there already, epoch 0 for none; `ended`: the same, if its owner has ended it. */
	constructor(
		files: Files,
		directory: string,
		segmentBytes: number,
		previous: SegmentName,
		ended: Segment | undefined,
	) {
		this.#files = files;
		this.#directory = directory;
		this.#segmentBytes = segmentBytes;
		this.#previous = previous;
		this.#ended = ended;
	}

	/** The segment whose file is open. */
	get segment(): Segment | undefined {
		return this.#open?.segment;
	}

	/** Makes the file of a segment; what is in it is durable after the first `write`. */
	async create(segment: Segment, preamble: NewPreamble | undefined): Promise<void> {
		const file = await this.#files.create(join(this.#directory, segmentFileName(segment)));
		const header = encodeHeader({
			...nameOf(segment),
			time: segment.time,
			salt: segment.salt,
			previous: this.#previous,
		});
		const all = [header, ...(preamble === undefined ? [] : [preamble.checkpoint, ...this.#summary(segment, preamble)])];
		const last = { offset: all.reduce((sum, { length }) => sum + length, 0), next: segment.first };
		this.#open = { file, segment, preamble: all, end: 0, last };
	}

	/** Has the length that was made room for, also where nothing is to be believed of the segment in front. */
	#summary({ first, time, seed }: Segment, { summed, summary }: NewPreamble): Buffer[] {
		if (summary === undefined) return [];
		const isTrue = summed === this.#ended && summed?.lost.length === 0;
		const text = isTrue ? summary : 'null'.padEnd(Buffer.byteLength(summary));
		return [encodeSummary(text, { position: first, time }, seed)];
	}

	/** Writes records of the open segment and waits until they are durable, their file's name included. */
	async write({ offset, chunks, bytes, next }: Omit<Batch, 'segment'>): Promise<void> {
		const open = this.#open;
		if (open === undefined) throw new Error('no segment is open');
		const { file, preamble, segment } = open;
		const isFirst = preamble.length > 0;
		const end = offset + bytes;
		const all = [...preamble, ...chunks];
		if (end > open.end) {
			const zeros = bytes > SMALL_BATCH_BYTES_MAX ? 0 : this.#aheadOf(end);
			if (zeros > 0) all.push(ZEROS.subarray(0, zeros));
			open.end = end + zeros;
		}
		segment.fileBytes = open.end;
		await file.write(all, isFirst ? 0 : offset);
		await file.sync();
		open.last = { offset: end, next };
		if (!isFirst) return;
		await this.#files.syncDirectory(this.#directory);
		open.preamble = [];
		this.#previous = nameOf(segment);
		this.#ended = undefined;
	}

	/** Ends the open segment: who reads it looks for nothing behind. */
	async seal(): Promise<void> {
		const open = this.#open;
		if (open === undefined) return;
		const { segment, last } = open;
		if (open.preamble.length === 0) {
			const seal = encodeSeal({ position: last.next, time: segment.lastTime }, segment.seed);
			await this.write({ ...last, chunks: [seal], bytes: seal.length });
			this.#ended = segment;
		}
		this.#open = undefined;
		await open.file.close();
	}

	/** Leaves the open file as it is; it is never written again. */
	async abandon(): Promise<void> {
		const open = this.#open;
		this.#open = undefined;
		await open?.file.close();
	}

	#aheadOf(end: number): number {
		const wanted = Math.min(AHEAD_BYTES_MAX, Math.max(AHEAD_BYTES_MIN, end));
		return Math.max(0, Math.min(wanted, this.#segmentBytes - end));
	}
}

function nameOf({ first, epoch }: Segment): SegmentName {
	return { first, epoch };
}
