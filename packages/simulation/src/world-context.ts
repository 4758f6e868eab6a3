import type { Plant } from './plants.ts';
import type { Scheduler } from './scheduler.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { SimNetwork } from './sim-network.ts';
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
	/** Answers that were compared with the model. */
	checked: number;
	/** Calls that were not settled in time. */
	hung: number;
	/** Answers that were another's. */
	misdelivered: number;
	/** What was acknowledged, or known, and is gone. */
	lost: number;
}

/** What all parts of one world share. */
export class WorldContext {
	readonly scheduler: Scheduler;
	readonly random: SeededRandom;
	readonly counts: RunCounts = {
		calls: 0,
		settled: 0,
		faults: 0,
		checked: 0,
		hung: 0,
		misdelivered: 0,
		lost: 0,
		requests: 0,
		replies: 0,
		pushes: 0,
		goaways: 0,
	};
	network!: SimNetwork;
	registry!: SimRegistry;
	/** Apps say all the time how they are. */
	isWordy = false;
	/** Nothing is broken on purpose now. */
	isCalm = true;
	#processes = 0;

	/** What goes wrong on purpose. */
	readonly plant: Plant | undefined;

	constructor(scheduler: Scheduler, random: SeededRandom, plant?: Plant) {
		this.plant = plant;
		this.scheduler = scheduler;
		this.random = random;
	}

	get nowMs(): number {
		return this.scheduler.nowMs;
	}

	process(name: string): SimProcess {
		this.#processes++;
		return new SimProcess(this.scheduler, this.#processes, `${name}#${this.#processes}`);
	}

	/** Something that a process did is wrong: the run ends. The first one counts. */
	violated(violation: Violation): void {
		this.scheduler.fault ??= violation;
	}

	fail(invariant: Invariant, message: string): void {
		if (invariant === 'answers reach their caller') this.counts.misdelivered++;
		if (invariant === 'settles once and in time') this.counts.hung++;
		if (invariant === 'nothing acknowledged is lost' || invariant === 'a known lookup goes on') this.counts.lost++;
		this.violated(new Violation(invariant, message));
	}

	say(line: () => string): void {
		this.scheduler.trace.say(this.nowMs, line);
	}
}
