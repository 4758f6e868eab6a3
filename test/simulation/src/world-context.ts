import type { Clock } from '@spock/protocol/internal';

import type { Injection } from './injection.ts';
import type { Scheduler } from './scheduler.ts';
import type { SeededRandom } from './seeded-random.ts';
import { type ConnectionTap, SimNetwork } from './sim-network.ts';
import { SimProcess } from './sim-process.ts';
import type { SimRegistry } from './sim-registry.ts';
import { type Invariant, Violation } from './violation.ts';
import type { WireCounts } from './wire-monitor.ts';

/** What a run counts. */
export interface RunCounts extends WireCounts {
	calls: number;
	/** Calls that ended as they should, by a value or by an error that may come. */
	settled: number;
	faults: number;
	/** Machines that went without a word. */
	vanished: number;
	/** Answers that were compared with the model. */
	checked: number;
	/** Calls that were not settled in time. */
	hung: number;
	/** Answers that were another's. */
	misdelivered: number;
	/** Events that some app handled. */
	handled: number;
	/** Times that a log of events had no room left of its own. */
	full: number;
	/** What was acknowledged, or known, and is gone. */
	lost: number;
}

/** Broken promises that count as a loss. */
const LOSSES: ReadonlySet<Invariant> = new Set([
	'nothing acknowledged is lost',
	'a known lookup goes on',
	'a persisted event is kept',
]);

/** Numbers of the processes aside begin after this one. */
const ASIDE = 1000;

/** What all parts of one world share. */
export class WorldContext {
	readonly scheduler: Scheduler;
	readonly random: SeededRandom;
	readonly counts: RunCounts;
	network!: SimNetwork;
	registry!: SimRegistry;
	/** Apps say all the time how they are. */
	isWordy = false;
	/** Nothing is broken on purpose now. */
	isCalm = true;
	/** How long the ways to the registry take, where they are drawn apart from everybody else's. */
	ways: SeededRandom | undefined;
	/** The time of day of its machines was set forward so far, in milliseconds, or back. */
	wallAheadMs = 0;
	#processes = 0;

	/** What goes wrong on purpose. */
	readonly injection: Injection;

	constructor(scheduler: Scheduler, random: SeededRandom, injection: Injection = {}, counts: RunCounts = noCounts()) {
		this.counts = counts;
		this.injection = injection;
		this.scheduler = scheduler;
		this.random = random;
	}

	/**
	 * What a part of the world has that draws from numbers of its own, and has a network of its own: nothing that it does moves what
	 * others draw, so that a seed is the same to them with and without it. `number` tells such parts apart.
	 */
	aside(random: SeededRandom, tap: (client: SimProcess) => ConnectionTap, number = 1): WorldContext {
		const aside = new WorldContext(this.scheduler, random, this.injection, this.counts);
		aside.network = new SimNetwork(this.scheduler, random.fork(), tap, this.injection);
		aside.registry = this.registry;
		aside.ways = random.fork();
		aside.isWordy = this.isWordy;
		aside.#processes = ASIDE * number;
		return aside;
	}

	get nowMs(): number {
		return this.scheduler.nowMs;
	}

	/** `clockFault`: see {@link SimProcess}. */
	process(name: string, clockFault?: (clock: Clock) => Clock): SimProcess {
		this.#processes++;
		return new SimProcess(
			this.scheduler,
			this.#processes,
			`${name}#${this.#processes}`,
			clockFault,
			() => this.wallAheadMs,
		);
	}

	/** Something that a process did is wrong: the run ends. The first one counts. */
	violated(violation: Violation): void {
		this.scheduler.fault ??= violation;
	}

	fail(invariant: Invariant, message: string): void {
		if (invariant === 'answers reach their caller') this.counts.misdelivered++;
		if (invariant === 'settles once and in time') this.counts.hung++;
		if (LOSSES.has(invariant)) this.counts.lost++;
		this.violated(new Violation(invariant, message));
	}

	say(line: () => string): void {
		this.scheduler.trace.say(this.nowMs, line);
	}
}

/** Nothing yet. */
export function noCounts(): RunCounts {
	return {
		calls: 0,
		settled: 0,
		faults: 0,
		vanished: 0,
		checked: 0,
		hung: 0,
		misdelivered: 0,
		handled: 0,
		full: 0,
		lost: 0,
		requests: 0,
		replies: 0,
		pushes: 0,
		goaways: 0,
	};
}
