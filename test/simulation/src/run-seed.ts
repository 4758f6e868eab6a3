import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import { checkConvergence } from './convergence.ts';
import { forbidTaking } from './forbidden.ts';
import type { Injection } from './injection.ts';
import { Scheduler } from './scheduler.ts';
import { TURN_MS } from './sidecar-host.ts';
import { Trace } from './trace.ts';
import { type Invariant, Violation } from './violation.ts';
import { World } from './world.ts';
import { noCounts, type RunCounts } from './world-context.ts';

/** Most storms of one run, each followed by a calm. */
const ROUNDS_MAX = 2;
/** Share of the runs that have a second storm. */
const SECOND_CHANCE = 0.2;
const STORM_MS_MIN = 4000;
const STORM_MS_MAX = 12_000;
/** Longer than every back-off, hold, wait and drain together: then everybody must know. */
const CALM_MS = 75_000;

/** What came of one seed. */
export interface SeedResult {
	readonly seed: number;
	readonly events: number;
	readonly virtualMs: number;
	readonly hash: string;
	readonly counts: RunCounts;
	/** Undefined when every promise was kept. */
	readonly violation: { readonly invariant: Invariant; readonly message: string } | undefined;
	/** The last lines of the trace; empty unless it was asked for. */
	readonly tail: readonly string[];
}

/** Options of {@link runSeed}. */
export interface RunOptions {
	/** Keeps the trace's lines. Default false. */
	readonly keepsTrace?: boolean;
	/** What goes wrong on purpose. Default: nothing does. */
	readonly injection?: Injection;
}

/** Runs the world of one seed to its end. The same seed gives the same events, every time. */
export async function runSeed(
	seed: number,
	{ keepsTrace = false, injection = {} }: RunOptions = {},
): Promise<SeedResult> {
	const trace = new Trace(keepsTrace);
	const scheduler = new Scheduler(trace);
	const allow = forbidTaking(
		(message) => {
			scheduler.fault ??= new Violation('time and chance are given', message);
		},
		(callback) => void scheduler.schedule(TURN_MS, 'turn of the event loop', scheduler.running, callback),
	);
	let world: World | undefined;
	const violated = (invariant: Invariant, message: string): void => {
		if (world === undefined) scheduler.fault ??= new Violation(invariant, message);
		else world.context.fail(invariant, message);
	};
	const settling = watchSettling((message) => violated('settles once and in time', message));
	const onFault = (error: unknown): void => {
		violated('no fault escapes', `a fault that nobody caught: ${String((error as Error)?.stack ?? error)}`);
	};
	process.on('uncaughtException', onFault);
	process.on('unhandledRejection', onFault);
	const endFault = injection.begin?.();
	let violation: Violation | undefined;
	try {
		world = new World(seed, scheduler, injection);
		await live(world);
	} catch (error) {
		// What was noted first is the cause of what is thrown after it.
		const first = scheduler.fault ?? error;
		violation = first instanceof Violation ? first : new Violation('no fault escapes', String((first as Error)?.stack));
	} finally {
		process.off('uncaughtException', onFault);
		process.off('unhandledRejection', onFault);
		endFault?.();
		settling.stop();
		allow();
	}
	return {
		seed,
		events: scheduler.executed,
		virtualMs: Math.round(scheduler.nowMs),
		hash: trace.hash,
		counts: world?.context.counts ?? noCounts(),
		violation: violation && { invariant: violation.invariant, message: violation.message },
		tail: trace.tail(),
	};
}

async function live(world: World): Promise<void> {
	const { random } = world.context;
	const rounds = random.chance(SECOND_CHANCE) ? ROUNDS_MAX : 1;
	for (let round = 0; round < rounds; round++) {
		await world.storm(random.between(STORM_MS_MIN, STORM_MS_MAX));
		await world.calm(CALM_MS);
		await world.lookUpAll();
		for (const client of world.everyClient) checkConvergence(client);
		await world.calm(1000);
		world.checkRegistry();
		world.checkShared();
		await world.site?.prove(world.clients);
		await world.shared?.prove();
		await world.events?.prove();
		world.servers?.prove();
		world.checkRegistry();
	}
	await world.end();
}

/** Every call that a client makes, also those nobody sees: it must end once. */
function watchSettling(violated: (message: string) => void): { stop(): void } {
	const open = new WeakMap<object, number>();
	const onStart = (message: unknown): void => {
		open.set((message as { call: object }).call, 0);
	};
	const onEnd = (message: unknown): void => {
		const { call, func } = message as { call: object; func: string };
		const ends = (open.get(call) ?? 0) + 1;
		open.set(call, ends);
		if (ends > 1) violated(`a call of ${func} was settled ${ends} times`);
	};
	subscribe('spock:client:request:start', onStart);
	subscribe('spock:client:request:end', onEnd);
	return {
		stop: () => {
			unsubscribe('spock:client:request:start', onStart);
			unsubscribe('spock:client:request:end', onEnd);
		},
	};
}
