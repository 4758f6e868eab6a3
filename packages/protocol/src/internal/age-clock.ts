import type { SnapshotState } from '../model/snapshot.ts';
import type { Clock, TimerHandle } from './clock.ts';

/** How often this process notes that it runs, in milliseconds: what is read may be older by as much where it stood still unnoticed. */
const TICK_MS = 500;
/** A tick that comes later than this was not merely late: the process stood still. Also how far the wall clock may run ahead in a tick. */
const LATE_MS = 250;
/** After a standstill of this length, what is known is not called live until it was asked for again. */
export const STANDSTILL_MS = 3000;

/** Longest time on the way of an answer of an older sidecar; a greater difference is one of the clocks. */
const TRANSIT_MS_MAX = 2000;

/** A time in which this process did not run, by {@link AgeClock.now}. It began at this time or later. */
export interface Standstill {
	readonly beganAtMs: number;
	readonly endedAtMs: number;
}

/**
 * When something was true: the one owner of that question in a process. Its time goes on while the machine is suspended, which the
 * monotonic clock of Linux does not; and it measures how long the process stood still (SIGSTOP, a blocked event loop, a suspended
 * machine), because bytes that waited in a socket meanwhile are as old as that.
 *
 * Measured by a tick, which keeps no process alive, and runs only while there is a listener. A standstill that is shorter than a tick
 * may go unnoticed. A wall clock that was set forward looks like a suspended machine: then what is known seems older than it is.
 */
export class AgeClock {
	readonly #clock: Clock;
	readonly #listeners = new Set<(standstill: Standstill) => void>();
	#timer: TimerHandle | undefined;
	#tickAtMs = 0;
	#tickWallMs = 0;
	/** How long the wall clock went on while the monotonic clock stood still, in all. */
	#suspendedMs = 0;
	#standstills = 0;
	/** The newest standstill, until all that waited meanwhile was read. */
	#unread: Standstill | undefined;
	#unreported: Standstill | undefined;

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/** Milliseconds since an arbitrary moment, which also go on while the machine is suspended. Deadlines are the clock's. */
	now(): number {
		return this.#look();
	}

	/** What is being read now was sent at this time or later. */
	sentAtMs(): number {
		const nowMs = this.#look();
		return this.#unread?.beganAtMs ?? nowMs;
	}

	/**
	 * How long the reply to a question of this time may have waited for this process, which stood still meanwhile, in milliseconds; 0 if it
	 * did not.
	 */
	waitedMs(askedAtMs: number): number {
		const nowMs = this.#look();
		return this.#unread === undefined ? 0 : nowMs - Math.max(askedAtMs, this.#unread.beganAtMs);
	}

	/**
	 * How long ago a snapshot that is being read was live: it may have waited, in a socket or at its sender. Its wall times must be by the
	 * clock of this machine. An older sender does not send when it was live: then what this process knows counts, and a short time on the
	 * way, which is no difference of the clocks.
	 */
	ageOfRead({ ageMs, verifiedAt, liveAt }: Pick<SnapshotState, 'ageMs' | 'verifiedAt' | 'liveAt'>): number {
		const wallMs = this.#clock.wallNow();
		if (liveAt !== undefined) return Math.max(ageMs, wallMs - liveAt);
		const waitedMs = this.now() - this.sentAtMs();
		const onTheWayMs = wallMs - verifiedAt - ageMs;
		return ageMs + (ageMs > 0 && onTheWayMs <= TRANSIT_MS_MAX ? Math.max(waitedMs, onTheWayMs) : waitedMs);
	}

	/** Grows with each standstill that listeners are notified of: the reply to a question that was sent before it may have waited. */
	get standstills(): number {
		return this.#standstills;
	}

	/**
	 * Notified after each standstill of {@link STANDSTILL_MS} or more: what is known has to be asked for again. Call what is returned to end it.
	 */
	onStandstill(listener: (standstill: Standstill) => void): () => void {
		const own = (standstill: Standstill): void => listener(standstill);
		this.#listeners.add(own);
		if (this.#timer === undefined) {
			this.#tickAtMs = this.#clock.now();
			this.#tickWallMs = this.#clock.wallNow();
			this.#unread = undefined;
			this.#arm();
		}
		return () => {
			this.#listeners.delete(own);
			if (this.#listeners.size > 0) return;
			this.#clock.clearTimeout(this.#timer);
			this.#timer = undefined;
		};
	}

	/** Notices a standstill, also before the tick that is late: bytes are read first. */
	#look(): number {
		const nowMs = this.#clock.now();
		if (this.#timer === undefined) return nowMs + this.#suspendedMs;
		const quietMs = nowMs - this.#tickAtMs;
		const wallMs = this.#clock.wallNow();
		const aheadMs = wallMs - this.#tickWallMs - quietMs;
		if (quietMs < TICK_MS + LATE_MS && aheadMs < LATE_MS) return nowMs + this.#suspendedMs;
		// What waited since an earlier standstill may not have been read yet.
		const beganAtMs = this.#unread?.beganAtMs ?? this.#tickAtMs + this.#suspendedMs;
		if (aheadMs >= LATE_MS) this.#suspendedMs += aheadMs;
		this.#tickAtMs = nowMs;
		this.#tickWallMs = wallMs;
		const endedAtMs = nowMs + this.#suspendedMs;
		this.#unread = { beganAtMs, endedAtMs };
		if (endedAtMs - beganAtMs >= STANDSTILL_MS) {
			this.#standstills++;
			this.#unreported = this.#unread;
		}
		return endedAtMs;
	}

	#tick(): void {
		const nowMs = this.#look();
		this.#tickAtMs = this.#clock.now();
		this.#tickWallMs = this.#clock.wallNow();
		const standstill = this.#unreported;
		this.#unreported = undefined;
		// A tick after its end, what waited has been read.
		if (this.#unread !== undefined && nowMs - this.#unread.endedAtMs >= TICK_MS) this.#unread = undefined;
		this.#arm();
		if (standstill !== undefined) for (const listener of [...this.#listeners]) listener(standstill);
	}

	#arm(): void {
		this.#timer = this.#clock.setTimeout(() => this.#tick(), TICK_MS);
		this.#timer.unref?.();
	}
}

const ageClocks = new WeakMap<Clock, AgeClock>();

/** The one of everything in this process that has this clock. */
export function ageClockOf(clock: Clock): AgeClock {
	let ageClock = ageClocks.get(clock);
	if (ageClock === undefined) {
		ageClock = new AgeClock(clock);
		ageClocks.set(clock, ageClock);
	}
	return ageClock;
}
