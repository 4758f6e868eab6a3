import type { Clock, TimerHandle } from '@spock/protocol/internal';
import type { FramedSocket } from '@spock/protocol/node';

import type { ResolvedLimits } from '../foundation/limits.ts';
import type { LimitName } from '../foundation/observer.ts';

/** A connection that has had its turn and has more input. */
export interface ScheduledReader {
	takeTurn(): void;
}

/** Runs a callback after the event loop has polled every socket: `setImmediate`. */
export type Defer = (callback: () => void) => void;

/** An iteration of the event loop that took longer had much else to do. */
const BUSY_MS = 10;
/** However long an iteration of the event loop took, no more time is spent on turns in the next one. */
const TURNS_MS_MAX = 100;

/**
 * Decides which connection is read next, in order. One turn in each iteration of the event loop: every other socket is read between two
 * turns, so that a request waits for one turn, and not for all of them, however many connections flood. Only where the process has much
 * else to do, such as the answers of a registry, does it give as much time to turns as that took: else the last of 32 clients would
 * wait for 32 such iterations.
 */
export class ReadScheduler {
	/** Chunks of input that all connections handled in turns; shows whether others had input. */
	reads = 0;
	readonly #defer: Defer;
	readonly #clock: Pick<Clock, 'now'>;
	readonly #waiting = new Set<ScheduledReader>();
	#deferred = false;
	#deferredAtMs = 0;

	constructor(defer: Defer, clock: Pick<Clock, 'now'>) {
		this.#defer = defer;
		this.#clock = clock;
	}

	/** Schedules a turn, after those that wait already. */
	schedule(reader: ScheduledReader): void {
		this.#waiting.add(reader);
		this.#arm();
	}

	/** Cancels its turn. */
	cancel(reader: ScheduledReader): void {
		this.#waiting.delete(reader);
	}

	#arm(): void {
		if (this.#deferred || this.#waiting.size === 0) return;
		this.#deferred = true;
		this.#deferredAtMs = this.#clock.now();
		this.#defer(this.#next);
	}

	readonly #next = (): void => {
		const startedAtMs = this.#clock.now();
		const tookMs = startedAtMs - this.#deferredAtMs;
		const untilMs = startedAtMs + (tookMs < BUSY_MS ? 0 : Math.min(TURNS_MS_MAX, tookMs));
		try {
			// Each has one turn at most: who wants another one waits for the next iteration.
			for (let left = this.#waiting.size; left > 0; left--) {
				const [reader] = this.#waiting;
				if (reader === undefined) return;
				this.#waiting.delete(reader);
				reader.takeTurn();
				if (this.#clock.now() >= untilMs) return;
			}
		} finally {
			this.#deferred = false;
			this.#arm();
		}
	};
}

/** Unread output above which a client's turn ends. Far below every `outputBytesMax`. */
const TURN_OUTPUT_BYTES = 65_536;
/** Input after which a turn ends, however few frames it contained: what Node reads at once. */
const TURN_INPUT_BYTES = 65_536;
/** Frames of a turn while no other connection has input: a full chunk of short ones. */
const ALONE_FRAMES = 1024;
/** Turns in a row between which no other connection was read, before they grow. */
const ALONE_TURNS_MIN = 16;
/**
 * The cost of a new frame, relative to one that was seen before: it is parsed and validated, and may become a failure.
 * Measured: 5 to 14 µs against 1.
 */
export const NEW_FRAME_COST = 8;
/** The same of an event on an uplink, with as many characters: it is parsed, and not validated. Measured: 2 µs, and 5 for a kilobyte. */
export const eventFrameCost = (characters: number): number => 2 + (characters >> 8);

/** What all gates share. */
export interface ReadGateContext {
	readonly scheduler: ReadScheduler;
	readonly limits: ResolvedLimits;
	readonly clock: Clock;
	/** How much unread output one client may have now: less than the limit while all of them together have too much. */
	readonly outputBytesMax: () => number;
	readonly limited: (limit: LimitName) => void;
}

/**
 * Decides when one connection is read: not while its client has too much unread output, and not for longer than a turn while other
 * clients wait. A client that is not read is stopped by its own full socket, which bounds the memory.
 */
export class ReadGate implements ScheduledReader {
	readonly #framed: FramedSocket;
	readonly #context: ReadGateContext;
	/** The client did not read for too long. */
	readonly #slowConsumer: () => void;
	/** Handles the frames that were paused. */
	readonly #resumed: () => void;
	readonly #framesPerTurnMax: number;
	/** Frames of the current turn, and how many are left. */
	#turnFrames: number;
	#framesLeft: number;
	#readsAtEnd = 0;
	/** Turns in a row between which no other connection was read. */
	#aloneTurns = 0;
	#bytesRead = 0;
	#waitsForTurn = false;
	#isHeld = false;
	#slowTimer: TimerHandle | undefined;

	constructor(framed: FramedSocket, context: ReadGateContext, slowConsumer: () => void, resumed: () => void) {
		this.#framed = framed;
		this.#context = context;
		this.#slowConsumer = slowConsumer;
		this.#resumed = resumed;
		this.#framesPerTurnMax = context.limits.framesPerTurnMax;
		this.#turnFrames = this.#framesPerTurnMax;
		this.#framesLeft = this.#turnFrames;
	}

	/** True while frames that were read may be held. */
	get isPaused(): boolean {
		return this.#framed.paused;
	}

	/** True while the client has more unread output than it may: it is not read, and closed if that lasts. */
	get isSlow(): boolean {
		return this.#slowTimer !== undefined;
	}

	/** True from `hold` to `release`. */
	get isHeld(): boolean {
		return this.#isHeld;
	}

	/** Stops reading until `release`, beside whatever else stops it. */
	hold(): void {
		this.#isHeld = true;
		this.#framed.pause();
	}

	/** Reads on, in turn with the others: many may be released at once. */
	release(): void {
		if (!this.#isHeld) return;
		this.#isHeld = false;
		if (this.#slowTimer === undefined) this.#waitForTurn();
	}

	/** A frame was handled, which cost as much as this many frames that were seen before. */
	frameRead(cost: number): void {
		this.#framesLeft -= cost;
		if (this.#framesLeft <= 0) this.#endTurn();
	}

	/** A chunk was handled, or as much of it as the turn allowed. */
	chunkRead(): void {
		const { bytesRead } = this.#framed;
		const isFull = bytesRead - this.#bytesRead >= TURN_INPUT_BYTES;
		this.#bytesRead = bytesRead;
		// A chunk that is not full was the last one: the event loop continues with the next socket by itself.
		if (isFull) this.#endTurn();
		else {
			this.#framesLeft = this.#turnFrames;
			if (!this.#waitsForTurn) this.#context.scheduler.reads++;
		}
	}

	/** Something was written. */
	sent(): void {
		const { bufferedBytes } = this.#framed;
		if (bufferedBytes > TURN_OUTPUT_BYTES) this.#muchOutput(bufferedBytes);
	}

	/** The client has read everything. */
	drained(): void {
		if (this.#slowTimer === undefined) return;
		this.#forgive();
		this.#readOn();
	}

	takeTurn(): void {
		this.#waitsForTurn = false;
		// Turns grow while no other connection needs one, because each costs an iteration of the event loop. Not from the first
		// one: a client with one call in flight takes a moment to send the next.
		const isAlone = this.#context.scheduler.reads === this.#readsAtEnd;
		this.#aloneTurns = isAlone ? this.#aloneTurns + 1 : 0;
		if (this.#aloneTurns < ALONE_TURNS_MIN) this.#turnFrames = this.#framesPerTurnMax;
		else this.#turnFrames = Math.max(this.#framesPerTurnMax, Math.min(ALONE_FRAMES, this.#turnFrames * 2));
		this.#framesLeft = this.#turnFrames;
		this.#readOn();
	}

	/** Reads all input, because none of it is answered any more. */
	open(): void {
		this.close();
		if (this.#framed.paused) this.#framed.resume();
	}

	/** Ends its timers and turns. */
	close(): void {
		this.#forgive();
		this.#isHeld = false;
		this.#waitsForTurn = false;
		this.#context.scheduler.cancel(this);
	}

	#endTurn(): void {
		if (this.#waitsForTurn) return;
		this.#context.limited('framesPerTurnMax');
		this.#framed.pause();
		this.#waitForTurn();
	}

	#waitForTurn(): void {
		if (this.#waitsForTurn) return;
		this.#waitsForTurn = true;
		this.#readsAtEnd = this.#context.scheduler.reads;
		this.#context.scheduler.schedule(this);
	}

	#muchOutput(bufferedBytes: number): void {
		// Answers may be ten thousand times as long as their requests: such a turn is short.
		this.#framesLeft = Math.min(this.#framesLeft, 1);
		if (bufferedBytes <= this.#context.outputBytesMax() || this.#slowTimer !== undefined) return;
		const { clock, limits, limited } = this.#context;
		limited('outputBytesMax');
		this.#framed.pause();
		this.#slowTimer = clock.setTimeout(() => {
			limited('slowConsumerMs');
			this.#slowConsumer();
		}, limits.slowConsumerMs);
		this.#slowTimer.unref?.();
	}

	#forgive(): void {
		this.#context.clock.clearTimeout(this.#slowTimer);
		this.#slowTimer = undefined;
	}

	#readOn(): void {
		if (this.#waitsForTurn || this.#isHeld || this.#slowTimer !== undefined) return;
		this.#framed.resume();
		this.#resumed();
	}
}
