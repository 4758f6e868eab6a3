import { SpockError } from '@spock/protocol';
import { Backoff, step, type TimerHandle } from '@spock/protocol/internal';

import type { EventPage, ReadEvents, RecordLog } from '../foundation/event-log.ts';
import type { NewRecord } from '../foundation/log-record.ts';
import { sizeRecord } from '../segments/record.ts';
import { RecordBlocks } from '../segments/record-blocks.ts';
import type { LogSegment, Segment } from '../segments/segment.ts';
import { segmentFileName } from '../segments/segment-header.ts';
import { SegmentList } from '../segments/segment-list.ts';
import type { LogDamage } from '../segments/segment-recovery.ts';
import { FileRemovals } from './file-removals.ts';
import { type CommitsHost, LogCommits } from './log-commits.ts';
import { type LogAction, type LogMachineEvent, type LogState, logMachine } from './log-machine.ts';
import { DEFAULT_LOG_LIMITS, type EventLogOptions, type LogLimits } from './log-options.ts';
import { LogReader } from './log-reader.ts';
import { LogSpace } from './log-space.ts';
import { asFailure, lostDirectory, openLog, readLogAhead, tidyLog } from './open-log.ts';
import type { ReadAhead } from './recovery.ts';

/** Delays before a new file is tried after a failure. */
const RETRY_DELAY_MS_MIN = 100;
const RETRY_DELAY_MS_MAX = 5000;

/** The log on disk: records are appended to segments, committed in groups, and read back. States and their changes: {@link logMachine}. */
export class EventLog implements RecordLog {
	readonly #options: EventLogOptions;
	readonly #limits: Required<Omit<LogLimits, 'freeBytesMin'>>;
	readonly #backoff: Backoff;
	readonly #space: LogSpace;
	readonly #blocks: RecordBlocks;
	readonly #reader: LogReader;
	readonly #segments: SegmentList;
	readonly #commits: LogCommits;
	readonly #removals: FileRemovals;
	#state: LogState = 'recovering';
	#reason: string | undefined = 'the log is being read';
	/** Called when the log has let go of its directory. */
	readonly #whenReleased: (() => void)[] = [];
	#isReleased = false;
	#next = 1;
	#persisted = 1;
	#lastTime = 0;
	#damaged = 0;
	#ahead: ReadAhead | undefined;
	/** Armed while nothing may be written, after a failure. */
	#retry: TimerHandle | undefined;
	constructor(options: EventLogOptions) {
		this.#options = options;
		const { freeBytesMin, ...limits } = options.limits ?? {};
		this.#limits = { ...DEFAULT_LOG_LIMITS, ...limits };
		const { bytesMax, segmentBytes, recentBytesMax } = this.#limits;
		if (bytesMax < 4 * segmentBytes) {
			throw new RangeError(`bytesMax must be at least four segments of ${segmentBytes} bytes, not ${bytesMax}`);
		}
		const random = options.random ?? Math.random;
		this.#backoff = new Backoff({
			delayMsMin: RETRY_DELAY_MS_MIN,
			delayMsMax: RETRY_DELAY_MS_MAX,
			random,
		});
		this.#blocks = new RecordBlocks(recentBytesMax);
		this.#segments = new SegmentList(random, segmentBytes);
		this.#commits = new LogCommits(options, segmentBytes, this.#blocks, this.#commitsHost);
		const { directory, files } = options;
		this.#removals = new FileRemovals(directory, files, this.#failed);
		this.#reader = new LogReader({
			directory,
			files,
			blocks: this.#blocks,
			segments: this.#segments.all,
			persisted: () => this.#persisted,
			damaged: (damage) => this.#reportDamage(damage),
		});
		this.#space = new LogSpace({
			...options,
			bytesMax,
			freeBytesMin,
			changed: () => this.#lookAtRoom(),
			failed: this.#failed,
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
		return this.#segments.fileBytes + this.#blocks.pendingBytes;
	}

	/** Positions that were lost, as far as known. */
	get damaged(): number {
		return this.#damaged;
	}

	get first(): number {
		return this.#segments.all[0]?.first ?? this.#next;
	}

	get next(): number {
		return this.#next;
	}

	get persisted(): number {
		return this.#persisted;
	}

	/** What each sealed and open segment holds, oldest first. */
	get segments(): readonly LogSegment[] {
		return this.#segments.all;
	}

	/**
	 * Reads what another process has written so far, and leaves it to that process: `open` then reads the rest. Once, and before `open`.
	 * Rejects as that does; this log is of no use then.
	 */
	async readAhead(): Promise<void> {
		this.#ahead = await readLogAhead(this.#options, this.#limits);
	}

	/**
	 * Claims the directory and reads it; resolves when the log takes records. With `takeOver` it is claimed from a living process, too.
	 * Rejects with UNAVAILABLE if it belongs to another process or to a newer program, or has changed since `readAhead`, and with the disk's error if it cannot be read.
	 */
	async open(takeOver: boolean): Promise<void> {
		const { directory, owner } = this.#options;
		try {
			const { epoch, recovered } = await openLog(this.#options, this.#limits, takeOver, this.#ahead);
			this.#ahead = undefined;
			const { segments, next, lastTime, damage } = recovered;
			this.#segments.all.push(...segments);
			this.#next = next;
			this.#persisted = next;
			this.#lastTime = lastTime;
			for (const each of damage) this.#reportDamage(each);
			const newest = segments.at(-1);
			const { first, epoch: lastEpoch } = newest ?? { first: 0, epoch: 0 };
			this.#commits.open(epoch, { first, epoch: lastEpoch }, recovered.unsynced === undefined ? newest : undefined);
			// Not worth a start: a full disk must not keep the rest from its readers.
			await tidyLog(this.#options, recovered).catch(this.#failed);
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

	append(record: NewRecord, textBytes?: number): number {
		if (this.#state === 'recovering' || this.#state === 'released') {
			throw new SpockError('UNAVAILABLE', `the log takes nothing: ${this.#reason}`);
		}
		const size = sizeRecord(record, textBytes);
		const { pendingBytesMax } = this.#limits;
		if (this.#blocks.pendingBytes + size.bytes > pendingBytesMax) {
			throw new SpockError('OVERLOADED', `more than ${pendingBytesMax} bytes wait for the disk: try again later`);
		}
		const time = Math.max(this.#lastTime, this.#options.clock.wallNow());
		this.#lastTime = time;
		const segment = this.#segments.tailFor(size.bytes) ?? this.#begin(time);
		const position = this.#next++;
		const behind = position - this.#persisted;
		this.#blocks.append(record, { position, time, behind, segment }, size);
		this.#commits.kick();
		return position;
	}

	read(from: number, options: ReadEvents): Promise<EventPage> {
		return this.#reader.read(from, options);
	}

	lastOf(stream: string): number {
		return this.#segments.lastOf(stream);
	}

	positionAt(time: number): Promise<number> {
		return this.#reader.positionAt(time);
	}

	/** Nothing once it is released: the files are another process's then. */
	trim(below: number): void {
		if (this.#state === 'released') return;
		const removed = this.#segments.takeBelow(below, this.#persisted, this.#commits.segment);
		if (removed.length === 0) return;
		for (const segment of removed) this.#removals.remove(segmentFileName(segment));
		this.#removals.sync();
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
		const { segment, preamble } = this.#segments.begin(this.#next, time, this.#options.memory.checkpoint());
		this.#commits.begin(segment, preamble);
		return segment;
	}

	get #mayWrite(): boolean {
		return this.#state !== 'recovering' && this.#state !== 'released' && this.#retry === undefined;
	}

	get #commitsHost(): CommitsHost {
		return {
			mayWrite: () => this.#mayWrite,
			isReleased: () => this.#state === 'released',
			committed: (next) => {
				this.#persisted = next;
				this.#backoff.reset();
				this.#options.listener.committed(next);
				this.#handle('written');
				this.#lookAtRoom();
			},
			failed: (segment, error) => this.#fail(segment, error),
			fenced: (reason) => this.#handle('fenced', reason),
			lossFound: (reason) => {
				this.#reason = reason;
			},
			fileMade: () => void this.#space.look(),
			settled: () => this.#settle(),
		};
	}

	readonly #failed = (error: unknown): void => this.#options.listener.failed(asFailure(error));

	/** What was not written goes to another file: at a retry the kernel might take pages for clean that are not on disk. */
	#fail(segment: Segment, reason: unknown): void {
		const hasFile = segment.fileBytes > 0;
		if (segment.first < this.#persisted) {
			this.#blocks.move(segment, this.#segments.continueAfter(segment, this.#persisted, this.#lastTime));
		} else if (hasFile) {
			this.#removals.remove(segmentFileName(segment));
			segment.fileBytes = 0;
		}
		const error = asFailure(reason);
		this.#options.listener.failed(error);
		const { code } = (error.cause ?? error) as NodeJS.ErrnoException;
		const isFull = code === 'ENOSPC' || code === 'EDQUOT';
		this.#handle(
			isFull ? 'disk full' : 'write failed',
			isFull ? 'the disk is full: it has no room left, or no inodes' : `the disk fails: ${code}`,
		);
	}

	#lookAtRoom(): void {
		const lack = this.#space.lack(this.bytes);
		if (lack !== undefined) this.#handle('no room', lack);
		// After a full disk only a write that succeeds says that there is room.
		else if (this.#backoff.attempts === 0) this.#handle('room');
	}

	/** Nothing is being written: what waited for that. */
	#settle(): void {
		if (this.#commits.isBusy || this.#blocks.pendingBytes > 0) return;
		if (this.#state === 'draining') this.#handle('all stored, or drain deadline');
		if (this.#state === 'handing over') void this.#commits.end().then(() => this.#handle('sealed'));
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
				this.#commits.kick();
				this.#settle();
				return;
			case 'report the rest':
				if (this.#next > this.#persisted) listener.left(this.#next - this.#persisted);
				return;
			case 'seal':
				this.#removals.afterwards(() => this.#commits.endIfIdle());
				return;
			case 'let go':
				this.#removals.afterwards(() => this.#release());
				return;
		}
	}

	async #release(): Promise<void> {
		this.#space.close();
		await this.#options.owner.release().catch(this.#failed);
		if (!this.#commits.isBusy || this.#blocks.pendingBytes === 0) await this.#commits.abandon();
		this.#isReleased = true;
		for (const resolve of this.#whenReleased.splice(0)) resolve();
	}

	#released(): Promise<void> {
		if (this.#isReleased) return Promise.resolve();
		return new Promise((resolve) => this.#whenReleased.push(resolve));
	}

	#reportDamage(damage: LogDamage): void {
		this.#damaged += damage.to - damage.from;
		this.#options.listener.damaged(damage);
	}
}
