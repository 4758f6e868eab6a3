import type { EventOwner } from './scheduler.ts';

/** What one process knows of one query. */
interface Known {
	watches: number;
	/** It was told of something: an empty answer is news that must be held back. */
	hasInstances: boolean;
	/** Since when it hears "nothing" without a word to the contrary, in virtual milliseconds. */
	emptySinceMs: number | undefined;
	/** The version of the newest empty answer. */
	emptyVersion: number;
	/** Since when it hears nothing but failures. */
	failingSinceMs: number | undefined;
}

/** What the registry has told one host: the only things that its sidecars, and the clients of those, may claim. */
export class AnswerLog {
	readonly #now: () => number;
	readonly #holdMs: number;
	/** By query and version: when it was confirmed last, in virtual milliseconds. */
	readonly #confirmedMs = new Map<string, Map<number, number>>();
	readonly #empty = new Set<string>();
	readonly #ill = new Set<string>();
	readonly #processes = new Set<ProcessLog>();

	constructor(now: () => number, holdMs: number) {
		this.#now = now;
		this.#holdMs = holdMs;
	}

	/** A new process of this host: it knows nothing. */
	process(owner: EventOwner): ProcessLog {
		const log = new ProcessLog({
			owner,
			now: this.#now,
			confirmed: (query, version, atMs) => {
				let versions = this.#confirmedMs.get(query);
				if (versions === undefined) {
					versions = new Map();
					this.#confirmedMs.set(query, versions);
				}
				versions.set(version, Math.max(atMs, versions.get(version) ?? 0));
			},
			saidEmpty: (query, forMs) => {
				if (forMs >= this.#holdMs - 1) this.#empty.add(query);
			},
			saidIll: (query) => this.#ill.add(query),
		});
		for (const other of this.#processes) {
			if (other.isAlive) continue;
			// What it said at its end may be known to its clients still.
			other.lookAtAll();
			this.#processes.delete(other);
		}
		this.#processes.add(log);
		return log;
	}

	/** When this version was confirmed last; undefined if never. */
	confirmedMs(query: string, version: number): number | undefined {
		return this.#confirmedMs.get(query)?.get(version);
	}

	/** Whether "nothing" may be served: it was the first word, or was said for long enough. */
	mayBeEmpty(query: string): boolean {
		for (const log of this.#processes) log.look(query);
		return this.#empty.has(query);
	}

	/** For how long no process of this host can vouch for a query, in milliseconds. */
	failingForMs(query: string): number {
		const alive = [...this.#processes].filter(({ isAlive }) => isAlive);
		return alive.length === 0 ? 0 : Math.min(...alive.map((log) => log.failingForMs(query)));
	}

	/** Whether a list without a healthy instance was told. */
	mayBeIll(query: string): boolean {
		return this.#ill.has(query);
	}
}

interface ProcessLogOptions {
	readonly owner: EventOwner;
	readonly now: () => number;
	readonly confirmed: (query: string, version: number, atMs: number) => void;
	/** "Nothing" has been said for this long; Infinity where it was the first word. */
	readonly saidEmpty: (query: string, forMs: number) => void;
	readonly saidIll: (query: string) => void;
}

/** An answer of the registry. */
interface Told {
	readonly version: number;
	readonly count: number;
	readonly healthy: number;
	readonly isTrusted: boolean;
	readonly arrivedAtMs: number;
}

/** What the registry has told one process. */
export class ProcessLog {
	readonly #options: ProcessLogOptions;
	readonly #known = new Map<string, Known>();

	constructor(options: ProcessLogOptions) {
		this.#options = options;
	}

	get isAlive(): boolean {
		return this.#options.owner.isAlive;
	}

	watchStarted(query: string): void {
		const known = this.#of(query);
		if (known.watches++ > 0) return;
		// The entry before it was evicted, and what it knew is forgotten.
		this.look(query);
		known.emptySinceMs = undefined;
		known.hasInstances = false;
	}

	watchStopped(query: string): void {
		this.#of(query).watches--;
	}

	/** The process has read an answer, which was there at `arrivedAtMs`. */
	told(query: string, answer: Told): void {
		const known = this.#of(query);
		const { confirmed, saidEmpty, saidIll, now } = this.#options;
		known.failingSinceMs = undefined;
		if (answer.count > 0) {
			confirmed(query, answer.version, answer.arrivedAtMs);
			if (answer.healthy === 0) saidIll(query);
			this.look(query);
			// An older answer may be that of a watch beside, which only explains another query: the one that is served still says nothing.
			if (known.watches <= 1 || answer.version >= known.emptyVersion) known.emptySinceMs = undefined;
			known.hasInstances = true;
		} else {
			if (!known.hasInstances || answer.isTrusted) saidEmpty(query, Number.POSITIVE_INFINITY);
			known.emptySinceMs ??= now();
			known.emptyVersion = answer.version;
		}
	}

	/** The registry could not answer. */
	failed(query: string): void {
		const known = this.#of(query);
		// It was asked once beside a watch: what that one said stands until its own query fails.
		if (known.watches > 1) return;
		known.failingSinceMs ??= this.#options.now();
	}

	/** How long it has heard nothing but failures, in milliseconds; 0 if it has not. */
	failingForMs(query: string): number {
		const { failingSinceMs } = this.#known.get(query) ?? {};
		return failingSinceMs === undefined ? 0 : this.#options.now() - failingSinceMs;
	}

	/** Notes how long "nothing" has been said. */
	look(query: string): void {
		const { emptySinceMs } = this.#known.get(query) ?? {};
		if (emptySinceMs !== undefined) this.#options.saidEmpty(query, this.#options.now() - emptySinceMs);
	}

	/** The same for every query. */
	lookAtAll(): void {
		for (const query of this.#known.keys()) this.look(query);
	}

	#of(query: string): Known {
		let known = this.#known.get(query);
		if (known === undefined) {
			known = { watches: 0, hasInstances: false, emptySinceMs: undefined, emptyVersion: 0, failingSinceMs: undefined };
			this.#known.set(query, known);
		}
		return known;
	}
}
