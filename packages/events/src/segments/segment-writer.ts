import { join } from 'node:path';

import type { Files, WritableFile } from '../foundation/files.ts';
import { encodeSeal } from './record.ts';
import type { Batch } from './record-blocks.ts';
import type { Segment } from './segment.ts';
import { encodeHeader, HEADER_BYTES, type SegmentName, segmentFileName } from './segment-header.ts';

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
	#open: OpenFile | undefined;

	/** `previous`: the newest segment that is there already; epoch 0 for none. */
	constructor(files: Files, directory: string, segmentBytes: number, previous: SegmentName) {
		this.#files = files;
		this.#directory = directory;
		this.#segmentBytes = segmentBytes;
		this.#previous = previous;
	}

	/** The segment whose file is open. */
	get segment(): Segment | undefined {
		return this.#open?.segment;
	}

	/** Makes the file of a segment; what is in it is durable after the first `write`. */
	async create(segment: Segment, checkpoint: Buffer | undefined): Promise<void> {
		const file = await this.#files.create(join(this.#directory, segmentFileName(segment)));
		const header = encodeHeader({
			...nameOf(segment),
			time: segment.time,
			salt: segment.salt,
			previous: this.#previous,
		});
		const last = { offset: HEADER_BYTES + (checkpoint?.length ?? 0), next: segment.first };
		this.#open = { file, segment, preamble: checkpoint === undefined ? [header] : [header, checkpoint], end: 0, last };
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
	}

	/** Ends the open segment: who reads it looks for nothing behind. */
	async seal(): Promise<void> {
		const open = this.#open;
		if (open === undefined) return;
		const { segment, last } = open;
		if (open.preamble.length === 0) {
			const seal = encodeSeal({ position: last.next, time: segment.lastTime }, segment.seed);
			await this.write({ ...last, chunks: [seal], bytes: seal.length });
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
