import type { EventOwner, Scheduler, SimEvent } from './scheduler.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { SimProcess } from './sim-process.ts';
import { systemError } from './system-error.ts';

/** How the way between two processes is; the world changes it while it runs. */
export interface LinkQuality {
	/** Shortest and longest time on the way, in milliseconds. */
	latencyMsMin: number;
	latencyMsMax: number;
	/** Share of the reads that get only a part of what is there. */
	splitChance: number;
	/** Nothing arrives, and nothing is lost. */
	isHeld: boolean;
	/** Nothing passes either way, also no word of an end: see {@link Cable}. */
	isDark: boolean;
}

/** The reading end of a pipe. */
export interface PipeReader {
	readonly owner: SimProcess;
	/** Takes bytes that have arrived; false if it wants no more for now. */
	deliver(bytes: Buffer): boolean;
	/** The other side has ended, after everything it wrote. */
	ended(): void;
	/** The connection is gone. */
	failed(code: 'ECONNRESET' | 'EPIPE'): void;
}

type Piece = { readonly atMs: number; bytes: Buffer } | { readonly atMs: number; readonly end: 'FIN' | 'RST' };

/** Most bytes that one read takes, as libuv has it. */
const READ_BYTES = 65_536;
/** After a reader has gone, a writer that waits hears of it by then, in milliseconds. */
const WRITE_FAILS_MS = 2;
/** How often a link that is held is looked at again, in milliseconds. */
const HELD_LOOK_MS = 5;

/** One direction of a connection: what the kernel holds between a writer and a reader. Nothing overtakes anything. */
export class BytePipe {
	readonly #scheduler: Scheduler;
	readonly #random: SeededRandom;
	readonly #quality: LinkQuality;
	readonly #capacity: number;
	readonly #transited: (ms: number) => void;
	readonly #pieces: Piece[] = [];
	reader: PipeReader | undefined;
	/** Who writes. */
	writer: EventOwner | undefined;
	#held = 0;
	#lastAtMs = 0;
	#delivery: SimEvent | undefined;
	#isWanted = false;
	#isClosed = false;
	/** Where what was said ends, and when it was: it may have waited for the kernel since. */
	readonly #said: { readonly endsAt: number; readonly atMs: number; readonly stoppedMs: number }[] = [];
	#saidBytes = 0;
	#takenBytes = 0;
	#waiting: { rest: Buffer; readonly done: (error?: Error) => void } | undefined;

	constructor(
		scheduler: Scheduler,
		random: SeededRandom,
		quality: LinkQuality,
		capacity: number,
		transited: (ms: number) => void,
	) {
		this.#scheduler = scheduler;
		this.#random = random;
		this.#quality = quality;
		this.#capacity = capacity;
		this.#transited = transited;
	}

	/** Bytes that were written and not read. */
	get unread(): number {
		return this.#held;
	}

	/** Nothing goes through it any more, either way. */
	get isOver(): boolean {
		return this.reader === undefined && this.#isClosed && this.#waiting === undefined;
	}

	/** The writer has something to write, now or when the kernel takes more. */
	said(byteCount: number): void {
		this.#saidBytes += byteCount;
		const { stoppedMs = 0 } = this.reader?.owner ?? {};
		this.#said.push({ endsAt: this.#saidBytes, atMs: this.#scheduler.nowMs, stoppedMs });
	}

	/** Writes; `done` is called when the kernel has all of it, at once if there is room. */
	write(bytes: Buffer, done: (error?: Error) => void): void {
		// That the reader has gone is not known on the other side of a cable that is cut: the kernel takes what fits.
		const isUnknown = this.reader === undefined && this.#quality.isDark;
		if (this.#isClosed && !isUnknown) {
			done(systemError('EPIPE', 'write'));
			return;
		}
		const room = this.#capacity - this.#held;
		if (bytes.length <= room) {
			this.#put(bytes);
			done();
			return;
		}
		if (room > 0) this.#put(bytes.subarray(0, room));
		this.#waiting = { rest: bytes.subarray(room), done };
	}

	/** The writer has no more to say. */
	end(): void {
		this.#finish('FIN');
	}

	/** The writer is gone: what it wrote still arrives; what waits to be written does not. */
	close(how: 'FIN' | 'RST'): void {
		this.#waiting = undefined;
		this.#finish(how);
		this.#isClosed = true;
	}

	/** Ends this direction, whatever its writer wants: what it still writes is refused. */
	shut(): void {
		this.#finish('FIN');
		this.#isClosed = true;
		this.#refuseWriter();
	}

	/** Drops everything on its way, and the reader is told that the connection is gone. */
	cut(): void {
		this.#pieces.length = 0;
		this.#held = 0;
		// Also where this direction was ended before, and its end has not arrived.
		this.#isClosed = false;
		this.close('RST');
		this.#refuseWriter();
	}

	/** The reader is gone: whoever writes is told so. */
	readerGone(): void {
		this.#pieces.length = 0;
		this.#held = 0;
		this.reader = undefined;
		this.#isClosed = true;
		this.#scheduler.cancel(this.#delivery);
		if (!this.#quality.isDark) this.#refuseWriter();
	}

	/** The cable is whole again: what is left is sent again, this much later. */
	mended(delayMs: number): void {
		if (this.reader === undefined) this.#refuseWriter();
		this.#arm(delayMs);
	}

	/** The reader takes bytes again. */
	want(): void {
		this.#isWanted = true;
		this.#arm(0);
	}

	#refuseWriter(): void {
		const { done } = this.#waiting ?? {};
		this.#waiting = undefined;
		// A reset is read before the next write fails.
		const fail = (): void => done?.(systemError('EPIPE', 'write'));
		if (done !== undefined) this.#scheduler.schedule(WRITE_FAILS_MS, 'a write fails', this.writer, fail);
	}

	#finish(end: 'FIN' | 'RST'): void {
		const last = this.#pieces.at(-1);
		if (this.#isClosed || (last !== undefined && 'end' in last)) return;
		this.#pieces.push({ atMs: this.#arrival(), end });
		this.#arm(0);
	}

	#put(bytes: Buffer): void {
		this.#held += bytes.length;
		// The writer may use its memory again.
		this.#pieces.push({ atMs: this.#arrival(), bytes: Buffer.from(bytes) });
		this.#arm(0);
	}

	#arrival(): number {
		const { latencyMsMin, latencyMsMax } = this.#quality;
		const atMs = this.#scheduler.nowMs + latencyMsMin + this.#random.unit() * (latencyMsMax - latencyMsMin);
		this.#lastAtMs = Math.max(this.#lastAtMs, atMs);
		return this.#lastAtMs;
	}

	#arm(delayMs: number): void {
		const [first] = this.#pieces;
		if (first === undefined || this.reader === undefined || this.#delivery !== undefined) return;
		if (this.#quality.isDark) return;
		// Nobody who does not read is told of an end; that the connection was reset is told to all.
		if (!this.#isWanted && !('end' in first && first.end === 'RST')) return;
		const atMs = Math.max(first.atMs, this.#scheduler.nowMs + delayMs);
		this.#delivery = this.#scheduler.at(atMs, 'bytes arrive', this.reader.owner, () => this.#deliver());
	}

	#deliver(): void {
		this.#delivery = undefined;
		const { reader } = this;
		const [first] = this.#pieces;
		if (reader === undefined || first === undefined || this.#quality.isDark) return;
		if (this.#quality.isHeld) {
			this.#arm(HELD_LOOK_MS);
			return;
		}
		if ('end' in first) {
			this.#pieces.shift();
			if (first.end === 'FIN') reader.ended();
			else reader.failed('ECONNRESET');
			return;
		}
		const bytes = this.#take();
		this.#scheduler.trace.mixBytes(bytes);
		this.#scheduler.trace.say(
			this.#scheduler.nowMs,
			() => `  ${reader.owner.name} < ${bytes.toString('utf8').slice(0, 4000)}`,
		);
		this.#isWanted = reader.deliver(bytes);
		this.#refill();
		this.#arm(0);
	}

	/** What has arrived, or a part of it. */
	#take(): Buffer {
		const arrived: Buffer[] = [];
		let size = 0;
		for (const piece of this.#pieces) {
			if ('end' in piece || piece.atMs > this.#scheduler.nowMs || size >= READ_BYTES) break;
			arrived.push(piece.bytes);
			size += piece.bytes.length;
		}
		let wanted = Math.min(size, READ_BYTES);
		if (wanted > 1 && this.#random.chance(this.#quality.splitChance)) wanted = this.#random.between(1, wanted);
		const bytes = (arrived.length === 1 ? (arrived[0] as Buffer) : Buffer.concat(arrived)).subarray(0, wanted);
		this.#held -= wanted;
		this.#takenBytes += wanted;
		// A part of what was said may be all that its reader waits for.
		const [oldest] = this.#said;
		if (oldest !== undefined) this.#transited(this.#sinceSaid(oldest));
		while ((this.#said[0]?.endsAt ?? Number.POSITIVE_INFINITY) <= this.#takenBytes) {
			const said = this.#said.shift();
			if (said !== undefined) this.#transited(this.#sinceSaid(said));
		}
		for (let left = wanted; left > 0; ) {
			const piece = this.#pieces[0] as { bytes: Buffer };
			const { length } = piece.bytes;
			if (length <= left) this.#pieces.shift();
			else piece.bytes = piece.bytes.subarray(left);
			left -= Math.min(left, length);
		}
		return bytes;
	}

	/** Without the time in which the reader stood still: that is no time on the way. */
	#sinceSaid({ atMs, stoppedMs }: { readonly atMs: number; readonly stoppedMs: number }): number {
		return this.#scheduler.nowMs - atMs - ((this.reader?.owner.stoppedMs ?? stoppedMs) - stoppedMs);
	}

	#refill(): void {
		const waiting = this.#waiting;
		const room = this.#capacity - this.#held;
		if (waiting === undefined || this.#isClosed || room === 0) return;
		const part = waiting.rest.subarray(0, room);
		this.#put(part);
		waiting.rest = waiting.rest.subarray(part.length);
		if (waiting.rest.length > 0) return;
		this.#waiting = undefined;
		waiting.done();
	}
}
