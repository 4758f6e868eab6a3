import type { SimProcess } from './sim-process.ts';
import type { WorldContext } from './world-context.ts';

/** A dial that is due at its time may be this much later, in milliseconds. */
const SLACK_MS = 30;

/** Whether a client that was asked to go elsewhere does. */
export class GoawayWatch {
	readonly #world: WorldContext;
	readonly #process: SimProcess;
	readonly #dialsByMs: number;
	readonly #mayStay: () => boolean;
	#dials = 0;
	/** Connections that are not closed. */
	#open = 0;
	#lostAtMs: number | undefined;
	/** What the process could not notice of its time when the connection was lost. */
	#unnoticedMsBefore = 0;
	/** When the client last read something, in virtual milliseconds. */
	tookAtMs = 0;

	/** `mayStay`: it is ending, or has no use for another connection. */
	constructor(world: WorldContext, process: SimProcess, retryDelayMsMax: number, mayStay: () => boolean) {
		this.#world = world;
		this.#process = process;
		this.#dialsByMs = retryDelayMsMax + SLACK_MS;
		this.#mayStay = mayStay;
	}

	/** Since a connection that was of use has gone, in milliseconds that the client can know of; 0 before that. */
	get lostForMs(): number {
		if (this.#lostAtMs === undefined) return 0;
		return this.#world.nowMs - this.#lostAtMs - (this.#process.unnoticedMs - this.#unnoticedMsBefore);
	}

	/** Connections that it has tried to open. */
	get dials(): number {
		return this.#dials;
	}

	dialled(): void {
		this.#dials++;
	}

	took(): void {
		this.tookAtMs = this.#world.nowMs;
	}

	opened(): void {
		this.#open++;
	}

	closed(): void {
		this.#open--;
		if (this.#mayStay()) return;
		this.#lostAtMs = this.#world.nowMs;
		this.#unnoticedMsBefore = this.#process.unnoticedMs;
	}

	/** The client has read it. */
	goaway(): void {
		const before = this.#dials;
		if (this.#open !== 1 || this.#mayStay()) return;
		this.#process.schedule(this.#dialsByMs, 'goaway is heeded', () => {
			if (this.#dials > before || this.#mayStay()) return;
			this.#world.fail('goaway is heeded', `${this.#process.name} stays on a connection that it was asked to leave`);
		});
	}
}
