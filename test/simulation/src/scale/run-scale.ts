import { forbidTaking } from '../forbidden.ts';
import { Scheduler } from '../scheduler.ts';
import { TURN_MS } from '../sidecar-host.ts';
import { Trace } from '../trace.ts';
import { Violation } from '../violation.ts';
import type { ChangeViews } from './change-views.ts';
import { type ScaleShape, ScaleWorld } from './scale-world.ts';

/** What a large world found. Times are virtual milliseconds; processors take none of it. */
export interface ScaleResult extends ScaleShape {
	readonly views: number;
	readonly agree50Ms: number;
	readonly agree99Ms: number;
	readonly agreeAllMs: number;
	readonly killed: number;
	readonly lookups: number;
	readonly failedLookups: number;
	readonly firstFailure: string | null;
	readonly killed99Ms: number;
	readonly killedAllMs: number;
	readonly events: number;
	readonly virtualMs: number;
	readonly memoryMb: number;
}

const STARTED_MS = 12_000;
const STARTED_MS_MAX = 60_000;
/** A change that not all have seen by then is given up. */
const SEEN_MS_MAX = 30_000;
const LOOK_MS = 250;
/** Between the changes: a watch asks at most once a second. */
const PAUSE_MS = 3000;
const KILLED_SHARE = 0.1;
/** Until a killed node Spock runs again. */
const RESTART_MS_MIN = 500;
const RESTART_MS_MAX = 1500;

/** Runs a large world: a change; then another one, with a tenth of the node Spocks killed in the same moment. */
export async function runScale(shape: ScaleShape): Promise<ScaleResult> {
	const scheduler = new Scheduler(new Trace(false));
	const onFault = (error: unknown): void => {
		scheduler.fault ??= error instanceof Error ? error : new Error(String(error));
	};
	process.on('uncaughtException', onFault);
	process.on('unhandledRejection', onFault);
	const allow = forbidTaking(
		(message) => onFault(new Violation('time and chance are given', message)),
		(callback) => void scheduler.schedule(TURN_MS, 'turn of the event loop', scheduler.running, callback),
	);
	try {
		return await live(shape, scheduler);
	} finally {
		process.off('uncaughtException', onFault);
		process.off('unhandledRejection', onFault);
		allow();
	}
}

async function live(shape: ScaleShape, scheduler: Scheduler): Promise<ScaleResult> {
	const world = new ScaleWorld(shape, scheduler);
	const pods = shape.nodes * shape.podsEach;
	await scheduler.runUntil(STARTED_MS);
	while (world.ready < pods) {
		if (scheduler.nowMs > STARTED_MS_MAX) throw new Error(`${pods - world.ready} of ${pods} pods have not started`);
		await scheduler.runUntil(scheduler.nowMs + LOOK_MS);
	}
	const calm = await seen(scheduler, world.change());
	await scheduler.runUntil(scheduler.nowMs + PAUSE_MS);
	const killed = world.pickNodes(Math.ceil(shape.nodes * KILLED_SHARE));
	const change = world.change();
	for (const [at, node] of killed.entries()) {
		node.kill();
		const part = killed.length === 1 ? 0 : at / (killed.length - 1);
		world.later(RESTART_MS_MIN + part * (RESTART_MS_MAX - RESTART_MS_MIN), () => node.start());
	}
	const stormy = await seen(scheduler, change);
	const { lookups, failedLookups, firstFailure = null } = world;
	return {
		...shape,
		views: pods,
		agree50Ms: calm.agreedMs(0.5),
		agree99Ms: calm.agreedMs(0.99),
		agreeAllMs: calm.agreedMs(1),
		killed: killed.length,
		lookups,
		failedLookups,
		firstFailure,
		killed99Ms: stormy.agreedMs(0.99),
		killedAllMs: stormy.agreedMs(1),
		events: scheduler.executed,
		virtualMs: Math.round(scheduler.nowMs),
		memoryMb: Math.round(process.memoryUsage().rss / 2 ** 20),
	};
}

async function seen(scheduler: Scheduler, views: ChangeViews): Promise<ChangeViews> {
	const untilMs = scheduler.nowMs + SEEN_MS_MAX;
	while (!views.isComplete && scheduler.nowMs < untilMs) await scheduler.runUntil(scheduler.nowMs + LOOK_MS);
	return views;
}
