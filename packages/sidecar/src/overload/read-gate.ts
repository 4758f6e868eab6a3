import type { Clock, TimerHandle } from '@spock/protocol/internal';
import type { FramedSocket } from '@spock/protocol/node';

import type { ResolvedLimits } from '../foundation/limits.ts';
import type { LimitName } from '../foundation/observer.ts';

/** A connection that has had its turn and has more input. */
export interface ScheduledReader {
	takeTurn(): void;
}

/** Runs a callback once the event loop has looked at every socket again: `setImmediate`. */
export type Defer = (callback: () => void) => void;

/**
 * Which connection is read next, in order. One turn for each iteration of the event loop: between two of them every other socket
 * is read, so that however many connections flood, a request of another client waits for one turn and not for all of them.
 */
export class ReadScheduler {
	/** Chunks of input that were handled within a turn, of all connections: whether others had input. */
	reads = 0;
	readonly #defer: Defer;
	readonly #waiting = new Set<ScheduledReader>();
	#deferred = false;

	constructor(defer: Defer) {
		this.#defer = defer;
	}

	/** Schedules a turn, behind those that wait already. */
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
		this.#defer(this.#next);
	}

	readonly #next = (): void => {
		this.#deferred = false;
		const [reader] = this.#waiting;
		if (reader === undefined) return;
		this.#waiting.delete(reader);
		this.#arm();
		reader.takeTurn();
	};
}

/** Output that the client has not taken above which its turn ends. Far below every `outputBytesMax`. */
const TURN_OUTPUT_BYTES = 65_536;
/** Input after which a turn ends, however few frames it was: what Node reads at once. */
const TURN_INPUT_BYTES = 65_536;
/** Frames of a turn where no other connection has input: a full chunk of short ones. */
const ALONE_FRAMES = 1024;
/** Turns in a row between which no other connection was read, before they grow. */
const ALONE_TURNS_MIN = 16;
/**
 * What a frame costs that was not seen before, against one that was: it is parsed and validated, and may become a failure.
 * Measured: 5 to 14 µs against 1.
 */
export const NEW_FRAME_COST = 8;
/** The same of an event on an uplink, with as many characters: it is parsed, and not validated. Measured: 2 µs, and 5 for a kilobyte. */
export const eventFrameCost = (characters: number): number => 2 + (characters >> 8);

/** What every gate shares. */
export interface ReadGateContext {
	readonly scheduler: ReadScheduler;
	readonly limits: ResolvedLimits;
	readonly clock: Clock;
	/** What one client may leave unread now: less than the limit while all of them together leave too much. */
	readonly outputBytesMax: () => number;
	readonly limited: (limit: LimitName) => void;
}

/**
 * When one connection is read: not while its client leaves too much output unread, and not for longer than a turn while other clients
 * wait. A client that is not read is stopped by its own full socket, which is what bounds the memory.
 */
export class ReadGate implements ScheduledReader {
	readonly #framed: FramedSocket;
	readonly #context: ReadGateContext;
	/** The client did not read for too long. */
	readonly #slowConsumer: () => void;
	/** Handles the frames that were paused. */
	readonly #resumed: () => void;
	readonly #framesPerTurnMax: number;
	/** Frames of the present turn, and what is left of them. */
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

	/** True while frames may be held that were read before. */
	get isPaused(): boolean {
		return this.#framed.paused;
	}

	/** True while the client leaves more unread than it may: it is not read either, and closed if that lasts. */
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

	/** A frame was handled, which cost as much as this many of those that were seen before. */
	frameRead(cost: number): void {
		this.#framesLeft -= cost;
		if (this.#framesLeft <= 0) this.#endTurn();
	}

	/** A chunk was handled, or as much of it as the turn allowed. */
	chunkRead(): void {
		const { bytesRead } = this.#framed;
		const isFull = bytesRead - this.#bytesRead >= TURN_INPUT_BYTES;
		this.#bytesRead = bytesRead;
		// A chunk that is not full was the last one: the event loop goes on to the next socket by itself.
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
		// Turns grow while no other connection wants one, for each costs an iteration of the event loop. Not from the first on: a
		// client with one call in flight takes a moment to send the next.
		const isAlone = this.#context.scheduler.reads === this.#readsAtEnd;
		this.#aloneTurns = isAlone ? this.#aloneTurns + 1 : 0;
		if (this.#aloneTurns < ALONE_TURNS_MIN) this.#turnFrames = this.#framesPerTurnMax;
		else this.#turnFrames = Math.max(this.#framesPerTurnMax, Math.min(ALONE_FRAMES, this.#turnFrames * 2));
		this.#framesLeft = this.#turnFrames;
		this.#readOn();
	}

	/** Reads whatever comes, because nothing of it is answered any more. */
	open(): void {
		this.close();
		if (this.#framed.paused) this.#framed.resume();
	}

	/** Ends what it waits for. */
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
		// Answers may be ten thousand times as long as their questions: a turn of them is short.
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
