import { SpockError } from '@spock/protocol';
import type { Batch, RecordBlocks } from '../segments/record-blocks.ts';
import type { Segment } from '../segments/segment.ts';
import { type SegmentName, segmentFileName } from '../segments/segment-header.ts';
import { type NewPreamble, SegmentWriter } from '../segments/segment-writer.ts';
import type { EventLogOptions } from './log-options.ts';
import { asFailure, takeEpoch } from './open-log.ts';

/** Most bytes that are written and synced together. */
const BATCH_BYTES_MAX = 1024 * 1024;

/** What the log decides about its commits, and is told of them. */
export interface CommitsHost {
	/** False while nothing may be written. */
	readonly mayWrite: () => boolean;
	/** True once another process may have the directory: nothing counts any more. */
	readonly isReleased: () => boolean;
	/** Every record below is on disk, and the directory is still ours. */
	readonly committed: (next: number) => void;
	/** A batch of this segment could not be written; its file is left alone from now on. */
	readonly failed: (segment: Segment, error: unknown) => void;
	/** The directory is not ours any more, and why. */
	readonly fenced: (reason: string) => void;
	/** After `fenced`: which of the reasons it is. */
	readonly lossFound: (reason: string) => void;
	/** A file was made. */
	readonly fileMade: () => void;
	/** Nothing is being written any more. */
	readonly settled: () => void;
}

/** Group commit: a batch is what was appended while the last one was written and synced. Between them the owner is looked at. */
export class LogCommits {
	readonly #options: EventLogOptions;
	readonly #blocks: RecordBlocks;
	readonly #segmentBytes: number;
	readonly #host: CommitsHost;
	/** Of segments that have no file yet. */
	readonly #preambles: Map<Segment, NewPreamble> = new Map();
	#writer: SegmentWriter | undefined;
	/** Undefined if the next segment needs another one. */
	#epoch: number | undefined;
	#isBusy = false;

	constructor(options: EventLogOptions, segmentBytes: number, blocks: RecordBlocks, host: CommitsHost) {
		this.#options = options;
		this.#segmentBytes = segmentBytes;
		this.#blocks = blocks;
		this.#host = host;
	}

	/** True while a batch is being written, or the last file is being sealed. */
	get isBusy(): boolean {
		return this.#isBusy;
	}

	/** The segment that has a file which is written to. */
	get segment(): Segment | undefined {
		return this.#writer?.segment;
	}

	/** The directory was claimed with this epoch; `previous` is its newest segment, and `ended` the same if its owner has ended it. */
	open(epoch: number, previous: SegmentName, ended: Segment | undefined): void {
		const { files, directory } = this.#options;
		this.#epoch = epoch;
		this.#writer = new SegmentWriter(files, directory, this.#segmentBytes, previous, ended);
	}

	/** A segment was begun in memory; its file begins with this. */
	begin(segment: Segment, preamble: NewPreamble): void {
		this.#preambles.set(segment, preamble);
	}

	/** There is something to write, or writing is allowed again. */
	kick(): void {
		if (this.#isBusy || !this.#host.mayWrite()) return;
		this.#isBusy = true;
		void this.#commitAll();
	}

	/** Seals the last file; nothing is written after it. */
	async end(): Promise<void> {
		this.#isBusy = true;
		await this.#seal();
	}

	/** As `end`, but a write that hangs is left alone, and its file with it. */
	async endIfIdle(): Promise<void> {
		if (!this.#isBusy) await this.#seal();
	}

	/** Closes the file as it is. */
	async abandon(): Promise<void> {
		await this.#writer?.abandon().catch(this.#report);
	}

	async #seal(): Promise<void> {
		await this.#writer?.seal().catch(this.#report);
	}

	readonly #report = (error: unknown): void => this.#options.listener.failed(asFailure(error));

	async #commitAll(): Promise<void> {
		// What else comes in this tick belongs to the first batch.
		await undefined;
		for (;;) {
			const batch = this.#host.mayWrite() ? this.#blocks.batch(BATCH_BYTES_MAX) : undefined;
			if (batch === undefined || !(await this.#commit(batch))) break;
		}
		this.#isBusy = false;
		this.#host.settled();
	}

	/** Whether the batch is on disk and the directory still ours. */
	async #commit(batch: Batch): Promise<boolean> {
		const { owner, listener, clock } = this.#options;
		const startedAt = clock.now();
		let isOurs: boolean;
		try {
			const isWritten = await this.#write(batch);
			if (isWritten) listener.synced?.(clock.now() - startedAt, batch.bytes);
			isOurs = isWritten && (await owner.isOurs());
		} catch (error) {
			// The file is left as it is: after a failed sync the kernel takes pages for clean that are not on disk.
			this.#epoch = undefined;
			await this.abandon();
			this.#host.failed(batch.segment, error);
			return false;
		}
		if (this.#host.isReleased()) return false;
		if (!isOurs) {
			// The directory may hang, so why it is so is looked for afterwards.
			this.#host.fenced('another process has claimed the log, or its files are gone');
			this.#host.lossFound(await this.#lossOf(batch.segment));
			return false;
		}
		this.#blocks.commit(batch);
		this.#preambles.delete(batch.segment);
		this.#host.committed(batch.next);
		return true;
	}

	async #lossOf(segment: Segment): Promise<string> {
		const { directory, files } = this.#options;
		try {
			const names = await files.list(directory);
			const isThere = segment.fileBytes === 0 || names.includes(segmentFileName(segment));
			return isThere ? 'another process has claimed the log' : 'the files of the log are gone from its directory';
		} catch {
			return 'the directory of the log cannot be read any more: it was moved or removed';
		}
	}

	/** False if it was not written, because the directory is not ours. */
	async #write(batch: Batch): Promise<boolean> {
		const { segment } = batch;
		const { directory, files, owner } = this.#options;
		const writer = this.#writer;
		if (writer === undefined) throw new SpockError('INTERNAL', 'the log was not opened');
		if (writer.segment !== segment) {
			await writer.seal();
			// Nothing is made in a directory that is another one's.
			if (this.#epoch === undefined && !(await owner.isOurs())) return false;
			this.#epoch ??= await takeEpoch(files, directory, segment.epoch);
			// A file of an epoch that began after another owner's claim would supersede that owner's.
			if (!(await owner.isOurs())) return false;
			segment.epoch = this.#epoch;
			await writer.create(segment, this.#preambles.get(segment));
			this.#host.fileMade();
		}
		await writer.write(batch);
		return true;
	}
}
