import { join } from 'node:path';

import { SpockError } from '@spock/protocol';
import { Backoff, type Random, step, type TimerHandle } from '@spock/protocol/internal';

import type { EventPage, ReadEvents, RecordLog } from '../foundation/event-log.ts';
import type { NewRecord } from '../foundation/log-record.ts';
import { type LogAction, type LogMachineEvent, type LogState, logMachine } from './log-machine.ts';
import { DEFAULT_LOG_LIMITS, type EventLogOptions, type LogLimits } from './log-options.ts';
import { LogReader } from './log-reader.ts';
import { LogSpace } from './log-space.ts';
import { asFailure, lostDirectory, openLog, takeEpoch, tidyLog } from './open-log.ts';
import { encodeCheckpoint, seedOf, sizeRecord } from './record.ts';
import { type Batch, RecordBlocks } from './record-blocks.ts';
import type { LogDamage } from './recovery.ts';
import { type LogSegment, Segment } from './segment.ts';
import { SALT_BYTES, segmentFileName } from './segment-header.ts';
import { SegmentWriter } from './segment-writer.ts';

/** Most bytes that are written and synced together. */
const BATCH_BYTES_MAX = 1024 * 1024;
/** Delays before a new file is tried after a failure. */
const RETRY_DELAY_MS_MIN = 100;
const RETRY_DELAY_MS_MAX = 5000;

/** The log on disk: records are appended to segments, committed in groups, and read back. States and their changes: {@link logMachine}. */
export class EventLog implements RecordLog {
	readonly #options: EventLogOptions;
	readonly #limits: Required<Omit<LogLimits, 'freeBytesMin'>>;
	readonly #random: Random;
	readonly #backoff: Backoff;
	readonly #space: LogSpace;
	readonly #blocks: RecordBlocks;
	readonly #reader: LogReader;
	/** Oldest first; the last one is appended to. */
	readonly #segments: Segment[] = [];
	/** Checkpoints of segments that have no file yet. */
	readonly #checkpoints: Map<Segment, Buffer> = new Map();
	#state: LogState = 'recovering';
	#reason: string | undefined = 'the log is being read';
	/** Called when the log has let go of its directory. */
	readonly #whenReleased: (() => void)[] = [];
	#isReleased = false;
	#writer: SegmentWriter | undefined;
	/** Undefined if the next segment needs another one. */
	#epoch: number | undefined;
	/** What is appended to; undefined before the first record. */
	#tail: Segment | undefined;
	#next = 1;
	#persisted = 1;
	#lastTime = 0;
	#damaged = 0;
	#isCommitting = false;
	/** Armed while nothing may be written, after a failure. */
	#retry: TimerHandle | undefined;
	/** Deletions, one after the other. */
	#removals: Promise<void> = Promise.resolve();

	constructor(options: EventLogOptions) {
		this.#options = options;
		const { freeBytesMin, ...limits } = options.limits ?? {};
		this.#limits = { ...DEFAULT_LOG_LIMITS, ...limits };
		const { bytesMax, segmentBytes, recentBytesMax } = this.#limits;
		if (bytesMax < 4 * segmentBytes) {
			throw new RangeError(`bytesMax must be at least four segments of ${segmentBytes} bytes, not ${bytesMax}`);
		}
		this.#random = options.random ?? Math.random;
		this.#backoff = new Backoff({
			delayMsMin: RETRY_DELAY_MS_MIN,
			delayMsMax: RETRY_DELAY_MS_MAX,
			random: this.#random,
		});
		this.#blocks = new RecordBlocks(recentBytesMax);
		const { directory, files } = options;
		this.#reader = new LogReader({
			directory,
			files,
			blocks: this.#blocks,
			segments: this.#segments,
			persisted: () => this.#persisted,
			damaged: (damage) => this.#reportDamage(damage),
		});
		this.#space = new LogSpace({
			...options,
			bytesMax,
			freeBytesMin,
			changed: () => this.#lookAtRoom(),
			failed: (error) => options.listener.failed(asFailure(error)),
		});
	}

	get state(): LogState {
		return this.#state;
	}

	/** Why nothing is taken; undefined in `receiving`. */
	get reason(): string | undefined {
		return this.#reason;
	}

	/** What the log takes on disk, and will take once what waits is written. */
	get bytes(): number {
		return this.#segments.reduce((sum, { fileBytes }) => sum + fileBytes, this.#blocks.pendingBytes);
	}

	/** Positions that were lost, as far as known. */
	get damaged(): number {
		return this.#damaged;
	}

	get first(): number {
		return this.#segments[0]?.first ?? this.#next;
	}

	get next(): number {
		return this.#next;
	}

	get persisted(): number {
		return this.#persisted;
	}

	/** What each sealed and open segment holds, oldest first. */
	get segments(): readonly LogSegment[] {
		return this.#segments;
	}

	/**
	 * Claims the directory and reads it; resolves when the log takes records. With `takeOver` it is claimed from a living process, too.
	 * Rejects with UNAVAILABLE if it belongs to another process or to a newer program, and with the disk's error if it cannot be read.
	 */
	async open(takeOver: boolean): Promise<void> {
		const { directory, files, owner, listener } = this.#options;
		try {
			const { epoch, recovered } = await openLog(this.#options, this.#limits.replayMs, takeOver);
			const { segments, next, lastTime, damage } = recovered;
			this.#epoch = epoch;
			this.#segments.push(...segments);
			this.#next = next;
			this.#persisted = next;
			this.#lastTime = lastTime;
			for (const each of damage) this.#reportDamage(each);
			const { first, epoch: lastEpoch } = segments.at(-1) ?? { first: 0, epoch: 0 };
			const previous = { first, epoch: lastEpoch };
			this.#writer = new SegmentWriter(files, directory, this.#limits.segmentBytes, previous);
			// Not worth a start: a full disk must not keep the rest from its readers.
			await tidyLog(this.#options, recovered).catch((error: unknown) => listener.failed(asFailure(error)));
			await this.#space.look();
			if (!(await owner.isOurs())) throw lostDirectory(directory);
		} catch (error) {
			this.#handle('fenced', 'the log could not be opened');
			await this.#released();
			throw error;
		}
		this.#handle('recovered');
		this.#lookAtRoom();
	}

	append(record: NewRecord): number {
		if (this.#state === 'recovering' || this.#state === 'released') {
			throw new SpockError('UNAVAILABLE', `the log takes nothing: ${this.#reason}`);
		}
		const size = sizeRecord(record);
		const { pendingBytesMax, segmentBytes } = this.#limits;
		if (this.#blocks.pendingBytes + size.bytes > pendingBytesMax) {
			throw new SpockError('OVERLOADED', `more than ${pendingBytesMax} bytes wait for the disk: try again later`);
		}
		const time = Math.max(this.#lastTime, this.#options.clock.wallNow());
		this.#lastTime = time;
		const tail = this.#tail;
		const fits = tail !== undefined && (tail.length + size.bytes <= segmentBytes || tail.next === tail.first);
		const segment = fits ? tail : this.#begin(time);
		const position = this.#next++;
		const behind = position - this.#persisted;
		this.#blocks.append(record, { position, time, behind, segment }, size);
		if (!this.#isCommitting) this.#kick();
		return position;
	}

	read(from: number, options: ReadEvents): Promise<EventPage> {
		return this.#reader.read(from, options);
	}

	lastOf(stream: string): number {
		for (const segment of [...this.#segments].reverse()) {
			const last = segment.streams.get(stream)?.last;
			if (last !== undefined) return last;
			// It has more streams than it counts: this may be one of them.
			if (segment.mayHold(stream, segment.first)) return segment.next - 1;
		}
		return 0;
	}

	positionAt(time: number): Promise<number> {
		return this.#reader.positionAt(time);
	}

	trim(below: number): void {
		const limit = Math.min(below, this.#persisted);
		const isDone = (segment: Segment): boolean =>
			segment.next <= limit && segment !== this.#tail && segment !== this.#writer?.segment;
		const kept = this.#segments.findIndex((segment) => !isDone(segment));
		// What is left must begin with what is remembered of the rest. The newest stays in any case: it says where the log is.
		let count = kept === -1 ? this.#segments.length - 1 : kept;
		while (count > 0 && this.#segments[count]?.hasCheckpoint === false) count--;
		if (count <= 0) return;
		this.#remove(this.#segments.splice(0, count));
		this.#lookAtRoom();
	}

	/** Everything that was taken is written, the directory is released; resolves then. For a successor that waits for it. */
	handOver(): Promise<void> {
		this.#handle('hand over', 'the log is handed over');
		return this.#released();
	}

	/** Takes no more, waits up to `drainMs` for the disk, and releases the directory. Gives the number of records that are not on disk. */
	async close(drainMs: number): Promise<number> {
		const { clock } = this.#options;
		const deadline = clock.setTimeout(() => this.#handle('all stored, or drain deadline'), drainMs);
		this.#handle('end', 'the sidecar is stopping');
		this.#settle();
		await this.#released();
		clock.clearTimeout(deadline);
		return this.#next - this.#persisted;
	}

	#begin(time: number): Segment {
		const name = { first: this.#next, epoch: 0 };
		const salt = this.#newSalt();
		const place = { position: this.#next, time };
		const checkpoint = encodeCheckpoint(this.#options.memory.checkpoint(), place, seedOf(salt));
		const segment = new Segment({ ...name, salt, time, checkpointBytes: checkpoint.length });
		this.#checkpoints.set(segment, checkpoint);
		this.#segments.push(segment);
		this.#tail = segment;
		return segment;
	}

	#newSalt(): Uint8Array {
		return Uint8Array.from({ length: SALT_BYTES }, () => Math.floor(this.#random() * 256));
	}

	#kick(): void {
		if (this.#isCommitting || !this.#mayWrite) return;
		this.#isCommitting = true;
		void this.#commitAll();
	}

	get #mayWrite(): boolean {
		return this.#state !== 'recovering' && this.#state !== 'released' && this.#retry === undefined;
	}

	async #commitAll(): Promise<void> {
		// What else comes in this tick belongs to the first batch.
		await undefined;
		for (;;) {
			const batch = this.#mayWrite ? this.#blocks.batch(BATCH_BYTES_MAX) : undefined;
			if (batch === undefined || !(await this.#commit(batch))) break;
		}
		this.#isCommitting = false;
		this.#settle();
	}

	/** Whether the batch is on disk and the directory still ours. */
	async #commit(batch: Batch): Promise<boolean> {
		const { owner, listener, clock } = this.#options;
		const startedAt = clock.now();
		let isOurs: boolean;
		try {
			await this.#write(batch);
			listener.synced?.(clock.now() - startedAt, batch.bytes);
			isOurs = await owner.isOurs();
		} catch (error) {
			await this.#fail(batch.segment, error);
			return false;
		}
		if (this.#state === 'released') return false;
		if (!isOurs) {
			this.#handle('fenced', 'another process has claimed the log');
			return false;
		}
		this.#blocks.commit(batch);
		this.#checkpoints.delete(batch.segment);
		this.#persisted = batch.next;
		this.#backoff.reset();
		listener.committed(batch.next);
		this.#handle('written');
		this.#lookAtRoom();
		return true;
	}

	async #write(batch: Batch): Promise<void> {
		const { segment } = batch;
		const { directory, files, owner } = this.#options;
		const writer = this.#writer;
		if (writer === undefined) throw new SpockError('INTERNAL', 'the log was not opened');
		if (writer.segment !== segment) {
			await writer.seal();
			this.#epoch ??= await takeEpoch(files, directory, segment.epoch);
			// A file of an epoch that began after another owner's claim would supersede that owner's.
			if (!(await owner.isOurs())) return;
			segment.epoch = this.#epoch;
			await writer.create(segment, this.#checkpoints.get(segment));
			void this.#space.look();
		}
		await writer.write(batch);
	}

	/** The file is left as it is: after a failed sync the kernel takes pages for clean that are not on disk. */
	async #fail(segment: Segment, reason: unknown): Promise<void> {
		const { listener } = this.#options;
		this.#epoch = undefined;
		await this.#writer?.abandon().catch((error: unknown) => listener.failed(asFailure(error)));
		const hasFile = segment.fileBytes > 0;
		if (segment.first < this.#persisted) {
			const place = { first: this.#persisted, epoch: 0, time: this.#lastTime };
			const rest = new Segment({ ...place, salt: this.#newSalt(), checkpointBytes: 0 });
			this.#blocks.move(segment, rest);
			this.#segments.splice(this.#segments.indexOf(segment) + 1, 0, rest);
			if (this.#tail === segment) this.#tail = rest;
		} else if (hasFile) {
			this.#removeFile(segmentFileName(segment));
			segment.fileBytes = 0;
		}
		const error = asFailure(reason);
		listener.failed(error);
		const { code } = (error.cause ?? error) as NodeJS.ErrnoException;
		const isFull = code === 'ENOSPC' || code === 'EDQUOT';
		this.#handle(isFull ? 'disk full' : 'write failed', isFull ? 'the disk is full' : `the disk fails: ${code}`);
	}

	#lookAtRoom(): void {
		const lack = this.#space.lack(this.bytes);
		if (lack !== undefined) this.#handle('no room', lack);
		// After a full disk only a write that succeeds says that there is room.
		else if (this.#backoff.attempts === 0) this.#handle('room');
	}

	/** Nothing is being written: what waited for that. */
	#settle(): void {
		if (this.#isCommitting || this.#blocks.pendingBytes > 0) return;
		if (this.#state === 'draining') this.#handle('all stored, or drain deadline');
		if (this.#state !== 'handing over') return;
		const { listener } = this.#options;
		this.#isCommitting = true;
		void this.#writer
			?.seal()
			.catch((error: unknown) => listener.failed(asFailure(error)))
			.then(() => this.#handle('sealed'));
	}

	#handle(event: LogMachineEvent, reason?: string): void {
		const { state, actions } = step(logMachine, this.#state, event);
		const hasChanged = state !== this.#state;
		this.#state = state;
		if (hasChanged) {
			this.#reason = state === 'receiving' ? undefined : (reason ?? this.#reason);
			this.#options.listener.stateChanged(state, this.#reason);
		}
		for (const action of actions) this.#act(action);
	}

	#act(action: LogAction): void {
		const { clock, listener } = this.#options;
		switch (action) {
			case 'open windows':
				listener.windows(true, undefined);
				return;
			case 'close windows':
				listener.windows(false, this.#reason);
				return;
			case 'schedule':
				this.#retry = clock.setTimeout(() => {
					this.#retry = undefined;
					this.#handle('due');
				}, this.#backoff.next());
				this.#retry.unref?.();
				return;
			case 'cancel timer':
				clock.clearTimeout(this.#retry);
				this.#retry = undefined;
				return;
			case 'write again':
			case 'finish commit':
				this.#kick();
				this.#settle();
				return;
			case 'report the rest':
				if (this.#next > this.#persisted) listener.left(this.#next - this.#persisted);
				return;
			case 'seal':
				this.#removals = this.#removals.then(() => this.#sealAtEnd());
				return;
			case 'let go':
				void this.#removals.then(() => this.#release());
				return;
		}
	}

	async #sealAtEnd(): Promise<void> {
		// A write that hangs is left alone, and its file with it.
		if (this.#isCommitting) return;
		await this.#writer?.seal().catch((error: unknown) => this.#options.listener.failed(asFailure(error)));
	}

	async #release(): Promise<void> {
		const { owner, listener } = this.#options;
		this.#space.close();
		const failed = (error: unknown): void => listener.failed(asFailure(error));
		await owner.release().catch(failed);
		if (!this.#isCommitting || this.#blocks.pendingBytes === 0) await this.#writer?.abandon().catch(failed);
		this.#isReleased = true;
		for (const resolve of this.#whenReleased.splice(0)) resolve();
	}

	#released(): Promise<void> {
		if (this.#isReleased) return Promise.resolve();
		return new Promise((resolve) => this.#whenReleased.push(resolve));
	}

	#remove(segments: readonly Segment[]): void {
		for (const segment of segments) this.#removeFile(segmentFileName(segment));
		const { directory, files } = this.#options;
		this.#afterRemovals(() => files.syncDirectory(directory));
	}

	#removeFile(name: string): void {
		const { directory, files } = this.#options;
		this.#afterRemovals(() => files.remove(join(directory, name)));
	}

	/** A file that stays is removed, or read again, by the next start. */
	#afterRemovals(then: () => Promise<void>): void {
		const { listener } = this.#options;
		this.#removals = this.#removals.then(then).catch((error: unknown) => listener.failed(asFailure(error)));
	}

	#reportDamage(damage: LogDamage): void {
		this.#damaged += damage.to - damage.from;
		this.#options.listener.damaged(damage);
	}
}
