import type { Clock, TimerHandle } from '@spock/protocol/internal';

import type { ResolvedLimits } from '../foundation/limits.ts';
import type { OverloadSignal, SidecarObserver } from '../foundation/observer.ts';
import { SharedBytes } from './shared-bytes.ts';

/** How often the load is sampled while there is any. */
const SAMPLE_MS = 100;
/** Samples over a threshold before windows are narrowed: a single pause of the garbage collector is no overload. */
const BAD_SAMPLES_MIN = 2;
/** Samples well below every threshold before windows are widened again. */
const CALM_SAMPLES_MIN = 5;
/** No window is narrowed below this: a client with fewer requests in flight does not cause the load. */
const WINDOW_MIN = 16;
/** A narrowed window grows by this fraction of `inFlightMax` at each calm sample. */
const WIDEN_STEPS = 64;
/** However many clients do not read, each may have this much unread output. */
const OUTPUT_BYTES_SHARE_MIN = 65_536;

/** One connection, as far as its load matters. */
export interface LoadedConnection {
	/** Requests since the last call. From now on the window of `tellWindow` is enforced. */
	sample(): number;
	/** Requests that wait for an answer. */
	readonly inFlight: number;
	/** Output that the client has not read. */
	readonly outputBytes: number;
	/** The window in force; undefined for a client that does not support windows. */
	readonly window: number | undefined;
	/** Pushes another window. */
	tellWindow(inFlightMax: number): void;
}

/** What an {@link Overload} needs. */
export interface OverloadContext {
	readonly limits: ResolvedLimits;
	readonly clock: Clock;
	readonly observer: SidecarObserver;
	readonly connections: () => Iterable<LoadedConnection>;
}

interface Sampled {
	readonly connection: LoadedConnection;
	readonly usage: number;
}

/**
 * Detects when all clients together cause too much load, and narrows the windows of the greediest: they are halved while it lasts, and
 * grow again by small steps when it is over. Nothing runs without load.
 */
export class Overload {
	/** Requests of all connections that wait for an answer; counted by the connections. */
	inFlight = 0;
	/** Of these, the bytes of the long ones. */
	readonly inFlightBytes: SharedBytes;
	/** Bytes of frames that have not come whole. */
	readonly partialBytes: SharedBytes;
	/** How much unread output one client may have now. */
	outputBytesMax: number;
	readonly #context: OverloadContext;
	#timer: TimerHandle | undefined;
	#dueMs = 0;
	#badSamples = 0;
	#calmSamples = 0;
	#isOverloaded = false;
	#narrowed = 0;
	#outputBytes = 0;

	constructor(context: OverloadContext) {
		this.#context = context;
		this.inFlightBytes = new SharedBytes(context.limits.inFlightBytesMax);
		this.partialBytes = new SharedBytes(context.limits.partialBytesMax);
		this.outputBytesMax = context.limits.outputBytesMax;
	}

	/** Connections whose window is narrowed now. */
	get narrowed(): number {
		return this.#narrowed;
	}

	/** Unread output of all connections at the last sample. */
	get outputBytes(): number {
		return this.#outputBytes;
	}

	/** Starts to sample the load, until there is none. Called for every chunk of input. */
	touch(): void {
		if (this.#timer === undefined) this.#arm();
	}

	/** Ends its timer. */
	close(): void {
		this.#context.clock.clearTimeout(this.#timer);
		this.#timer = undefined;
	}

	#arm(): void {
		const { clock } = this.#context;
		this.#dueMs = clock.now() + SAMPLE_MS;
		this.#timer = clock.setTimeout(() => {
			this.#timer = undefined;
			this.#sample(Math.max(0, clock.now() - this.#dueMs));
		}, SAMPLE_MS);
		this.#timer.unref?.();
	}

	#sample(delayMs: number): void {
		const sampled: Sampled[] = [];
		let requests = 0;
		let outputBytes = 0;
		for (const connection of this.#context.connections()) {
			const count = connection.sample();
			requests += count;
			outputBytes += connection.outputBytes;
			const usage = count + connection.inFlight + connection.outputBytes / 1024;
			if (usage > 0 || this.#isNarrowed(connection)) sampled.push({ connection, usage });
		}
		this.#outputBytes = outputBytes;
		const signals = this.#signals(delayMs, 1);
		this.#shareOutput(sampled.length);
		if (signals.length > 0) {
			this.#calmSamples = 0;
			if (++this.#badSamples >= BAD_SAMPLES_MIN) this.#narrow(sampled, signals);
		} else {
			this.#badSamples = 0;
			// Between half a threshold and the whole, change nothing.
			this.#calmSamples = this.#signals(delayMs, 0.5).length > 0 ? 0 : this.#calmSamples + 1;
			if (this.#calmSamples >= CALM_SAMPLES_MIN) this.#widen(sampled);
		}
		this.#narrowed = sampled.filter(({ connection }) => this.#isNarrowed(connection)).length;
		if (requests > 0 || outputBytes > 0 || this.#narrowed > 0 || this.#isOverloaded) this.#arm();
	}

	/** Which measure is over its threshold, or over this share of it. */
	#signals(delayMs: number, part: number): OverloadSignal[] {
		const { loopDelayMsMax, inFlightTotalMax, outputTotalBytesMax } = this.#context.limits;
		const signals: OverloadSignal[] = [];
		if (delayMs > loopDelayMsMax * part) signals.push('loop-delay');
		// Half of what is refused outright, so that windows act before that.
		if (this.inFlight > (inFlightTotalMax / 2) * part) signals.push('in-flight');
		if (this.#outputBytes > outputTotalBytesMax * part) signals.push('output');
		return signals;
	}

	/** Clients that together have too much unread output share what is allowed. */
	#shareOutput(count: number): void {
		const { outputBytesMax, outputTotalBytesMax } = this.#context.limits;
		const share = Math.max(OUTPUT_BYTES_SHARE_MIN, Math.floor(outputTotalBytesMax / Math.max(1, count)));
		this.outputBytesMax = this.#outputBytes > outputTotalBytesMax ? Math.min(outputBytesMax, share) : outputBytesMax;
	}

	#narrow(sampled: readonly Sampled[], signals: readonly OverloadSignal[]): void {
		if (!this.#isOverloaded) {
			this.#isOverloaded = true;
			this.#context.observer.overload?.(signals);
		}
		const active = sampled.filter(({ usage }) => usage > 0);
		const mean = active.reduce((sum, { usage }) => sum + usage, 0) / active.length;
		for (const { connection, usage } of active) {
			const { window } = connection;
			if (window === undefined || usage < mean) continue;
			// It can hardly have had more in flight than it sent in a whole sample.
			const target = Math.max(WINDOW_MIN, Math.floor(Math.min(window, usage) / 2));
			if (target < window) this.#tell(connection, target, 'narrowed');
		}
	}

	#widen(sampled: readonly Sampled[]): void {
		const { inFlightMax } = this.#context.limits;
		const step = Math.max(1, Math.floor(inFlightMax / WIDEN_STEPS));
		for (const { connection } of sampled) {
			if (!this.#isNarrowed(connection)) continue;
			this.#tell(connection, Math.min(inFlightMax, (connection.window as number) + step), 'widened');
		}
		if (!this.#isOverloaded) return;
		this.#isOverloaded = false;
		this.#context.observer.overload?.([]);
	}

	#tell(connection: LoadedConnection, inFlightMax: number, direction: 'narrowed' | 'widened'): void {
		connection.tellWindow(inFlightMax);
		this.#context.observer.windowTold?.(direction);
	}

	#isNarrowed({ window }: LoadedConnection): boolean {
		return window !== undefined && window < this.#context.limits.inFlightMax;
	}
}
