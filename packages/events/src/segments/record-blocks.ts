import { SpockError } from '@spock/protocol';

import type { NewRecord } from '../foundation/log-record.ts';
import {
	decodeRecord,
	hasIdAt,
	kindAt,
	lengthAt,
	positionAt,
	signRecord,
	streamAt,
	timeAt,
	writeRecord,
} from './record.ts';
import type { PageBuilder, Segment } from './segment.ts';

/** Memory is taken in pieces of this size; a longer record has a piece of its own. */
const BLOCK_BYTES = 128 * 1024;

interface Block {
	readonly buffer: Buffer;
	/** Position of its first record, and the one behind its last. */
	readonly first: number;
	next: number;
	/** Bytes that hold records. */
	used: number;
	/** Bytes of them that are on disk. */
	committed: number;
	/** Where its records go. */
	segment: Segment;
}

/** Records of one segment that are written together. */
export interface Batch {
	readonly segment: Segment;
	/** Where in the file they go. */
	readonly offset: number;
	readonly chunks: readonly Buffer[];
	readonly bytes: number;
	/** The position behind the last of them. */
	readonly next: number;
}

/**
 * The encoded records that are not on disk, and the newest of those that are: a block is written, and later read, where it was
 * encoded. Blocks of committed records beyond `recentBytesMax` are used again.
 */
export class RecordBlocks {
	readonly #recentBytesMax: number;
	readonly #blocks: Block[] = [];
	readonly #spare: Buffer[] = [];
	#heldBytes = 0;
	#pendingBytes = 0;

	constructor(recentBytesMax: number) {
		this.#recentBytesMax = recentBytesMax;
	}

	/** Bytes of records that are not on disk. */
	get pendingBytes(): number {
		return this.#pendingBytes;
	}

	/** The oldest position that is in memory; `undefined` if none is. */
	get first(): number | undefined {
		return this.#blocks[0]?.first;
	}

	/** Puts a record behind the others; gives its length. */
	append(
		record: NewRecord,
		place: { readonly position: number; readonly time: number; readonly behind: number; readonly segment: Segment },
		size: { readonly bytes: number; readonly textBytes: number },
	): void {
		const { position, time, behind, segment } = place;
		const block = this.#blockFor(segment, position, size.bytes);
		const { textBytes } = size;
		const end = writeRecord(block.buffer, block.used, record, { position, time, behind, textBytes }, segment.seed);
		if (end - block.used !== size.bytes)
			throw new SpockError('INTERNAL', 'a record has another length than it was given');
		block.used = end;
		block.next = position + 1;
		this.#pendingBytes += size.bytes;
		const isEvent = record.kind === 'event';
		segment.add(position, time, size.bytes, isEvent ? record.stream : undefined, isEvent && record.id !== undefined);
	}

	/** The oldest records that are not on disk, of one segment; at least one block of them. */
	batch(bytesMax: number): Batch | undefined {
		const chunks: Buffer[] = [];
		let bytes = 0;
		let next = 0;
		let segment: Segment | undefined;
		for (let index = this.#firstPending(); index < this.#blocks.length; index++) {
			const block = this.#blocks[index] as Block;
			if (segment !== undefined && block.segment !== segment) break;
			const length = block.used - block.committed;
			if (bytes > 0 && bytes + length > bytesMax) break;
			segment = block.segment;
			if (length > 0) chunks.push(block.buffer.subarray(block.committed, block.used));
			bytes += length;
			next = block.next;
		}
		if (segment === undefined || bytes === 0) return undefined;
		return { segment, offset: segment.length - this.#pendingOf(segment), chunks, bytes, next };
	}

	/** A batch is on disk. */
	commit(batch: Batch): void {
		let left = batch.bytes;
		for (let index = this.#firstPending(); left > 0; index++) {
			const block = this.#blocks[index] as Block;
			const length = Math.min(left, block.used - block.committed);
			block.committed += length;
			left -= length;
		}
		this.#pendingBytes -= batch.bytes;
		this.#dropOld();
	}

	/** What is not on disk of one segment becomes part of another one, which is new: its file cannot be written further. */
	move(from: Segment, to: Segment): void {
		const moved: { stream: string; bytes: number }[] = [];
		const index = this.#blocks.findIndex((block) => block.segment === from && block.committed < block.used);
		// A file fails at what is not on disk.
		const block = this.#blocks[index] as Block;
		const cut = positionAt(block.buffer, block.committed);
		const offset = from.length - this.#pendingOf(from);
		// A block belongs to one segment alone.
		if (block.committed > 0) this.#split(index, cut);
		for (const each of this.#blocks) {
			if (each.segment !== from || each.committed === each.used) continue;
			each.segment = to;
			for (const { at, bytes, stream, position, time } of recordsOf(each)) {
				signRecord(each.buffer, at, at + bytes, to.seed);
				to.add(position, time, bytes, stream, stream !== undefined && hasIdAt(each.buffer, at));
				if (stream !== undefined) moved.push({ stream, bytes });
			}
		}
		from.cut(cut, offset, moved);
	}

	/** Adds events from a position on, and below a limit, to a page; gives the position behind the last one that was looked at. */
	read(from: number, below: number, page: PageBuilder): number {
		let index = this.#blocks.findLastIndex((block) => block.first <= from);
		for (let position = from; ; index++) {
			const block = this.#blocks[index];
			if (block === undefined || block.first >= below) return Math.min(position, below);
			for (let at = 0; at < block.used; ) {
				const { buffer } = block;
				const length = lengthAt(buffer, at);
				const found = positionAt(buffer, at);
				if (found >= below) return found;
				if (found >= from) {
					if (kindAt(buffer, at) === 'event' && (page.stream === undefined || streamAt(buffer, at) === page.stream)) {
						if (!page.hasRoomFor(length)) return found;
						const event = decodeRecord(buffer, at, length);
						if (event.kind === 'event') page.add(event, length);
						if (page.isFull) return found + 1;
					}
					position = found + 1;
				}
				at += length;
			}
		}
	}

	#blockFor(segment: Segment, position: number, bytes: number): Block {
		const last = this.#blocks.at(-1);
		if (last !== undefined && last.segment === segment && last.buffer.length - last.used >= bytes) return last;
		// Not from Node's pool: these are kept, and a slice would keep the whole of it.
		const buffer =
			bytes > BLOCK_BYTES ? Buffer.allocUnsafeSlow(bytes) : (this.#spare.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES));
		const block: Block = { buffer, first: position, next: position, used: 0, committed: 0, segment };
		this.#blocks.push(block);
		this.#heldBytes += buffer.length;
		return block;
	}

	#split(index: number, cut: number): void {
		const block = this.#blocks[index] as Block;
		const rest = Buffer.from(block.buffer.subarray(block.committed, block.used));
		const { segment, next } = block;
		this.#blocks.splice(index + 1, 0, { buffer: rest, first: cut, next, used: rest.length, committed: 0, segment });
		this.#heldBytes += rest.length;
		block.used = block.committed;
		block.next = cut;
	}

	#firstPending(): number {
		// From the end: committed blocks may be many, those to be written are few.
		let index = this.#blocks.length;
		while (index > 0) {
			const block = this.#blocks[index - 1] as Block;
			if (block.committed === block.used) break;
			index--;
		}
		return index;
	}

	#pendingOf(segment: Segment): number {
		let bytes = 0;
		for (let index = this.#blocks.length - 1; index >= 0; index--) {
			const block = this.#blocks[index] as Block;
			if (block.committed === block.used) break;
			if (block.segment === segment) bytes += block.used - block.committed;
		}
		return bytes;
	}

	#dropOld(): void {
		for (let [block] = this.#blocks; block !== undefined; [block] = this.#blocks) {
			const isRecent = this.#heldBytes - block.buffer.length < this.#recentBytesMax;
			if (isRecent || block.committed < block.used) return;
			this.#blocks.shift();
			this.#heldBytes -= block.buffer.length;
			const isReusable = block.buffer.length === BLOCK_BYTES && this.#spare.length * BLOCK_BYTES < this.#recentBytesMax;
			if (isReusable) this.#spare.push(block.buffer);
		}
	}
}

function* recordsOf({ buffer, used }: Block): Generator<{
	readonly at: number;
	readonly bytes: number;
	readonly position: number;
	readonly time: number;
	readonly stream: string | undefined;
}> {
	for (let at = 0; at < used; ) {
		const bytes = lengthAt(buffer, at);
		const stream = kindAt(buffer, at) === 'event' ? streamAt(buffer, at) : undefined;
		yield { at, bytes, position: positionAt(buffer, at), time: timeAt(buffer, at), stream };
		at += bytes;
	}
}
