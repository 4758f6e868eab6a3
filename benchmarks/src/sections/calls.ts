import { type ChildProcess, spawn } from 'node:child_process';

import type { Contender, RunningContender } from '../contenders.ts';
import { startContender } from '../contenders.ts';
import type { LoadCommand, LoadReport } from '../load/load.ts';
import { residentMb } from '../load/processor-time.ts';
import { median } from '../load/samples.ts';
import { allowedCores, pin, placements } from '../processor-cores.ts';
import type { CallFigure, ShapeId } from '../results.ts';
import type { Run } from '../run.ts';

/** How many calls are sampled: all of those that come one by one, some of the many. */
const SAMPLE_EVERY = 7;

interface ShapePlan {
	readonly placement: 'one' | 'two' | 'any';
	readonly load: (window: { durationMs: number; warmupMs: number }) => LoadCommand;
}

const closed =
	(inFlight: number) =>
	(window: { durationMs: number; warmupMs: number }): LoadCommand => ({
		kind: 'closed',
		inFlight,
		sampleEvery: inFlight === 1 ? 1 : SAMPLE_EVERY,
		...window,
	});
const open =
	(rate: number) =>
	(window: { durationMs: number; warmupMs: number }): LoadCommand => ({
		kind: 'open',
		rate,
		sampleEvery: 1,
		...window,
	});

/** What each load shape is. Open loops run on two cores, like a service and its sidecar on a node with room. */
export const SHAPE_PLANS: Readonly<Record<ShapeId, ShapePlan>> = {
	'one-core': { placement: 'one', load: closed(1) },
	'two-cores': { placement: 'two', load: closed(1) },
	scheduler: { placement: 'any', load: closed(1) },
	'64-in-flight': { placement: 'any', load: closed(64) },
	'1024-in-flight': { placement: 'any', load: closed(1024) },
	'open-1000': { placement: 'two', load: open(1000) },
	'open-5000': { placement: 'two', load: open(5000) },
	'open-20000': { placement: 'two', load: open(20_000) },
};

/** Longest run of busy loops, should nobody end them. */
const SPIN_SECONDS_MAX = 1800;

/** Which contenders under which shapes, and how long. */
export interface CallsPlan {
	readonly contenders: readonly Contender[];
	readonly shapes: readonly ShapeId[];
	readonly busy: readonly boolean[];
	readonly rounds: number;
	readonly durationMs: number;
	readonly warmupMs: number;
}

/**
 * Runs every contender under every shape, interleaved: each round gives each contender its turn, so that what the machine
 * does meanwhile meets all of them. The figures are medians over the rounds.
 */
export async function measureCalls(run: Run, plan: CallsPlan): Promise<CallFigure[]> {
	const contenders = await startAll(run, plan.contenders);
	const figures: CallFigure[] = [];
	/** Those that did not answer any more: one peer's fault must not cost the figures of the others. */
	const stuck = new Set<string>();
	try {
		for (const busy of plan.busy) {
			const loops = busy ? startBusyLoops(run) : [];
			try {
				for (const shape of plan.shapes) {
					figures.push(...(await measureShape(run, plan, contenders, stuck, shape, busy)));
				}
			} finally {
				for (const loop of loops) loop.kill();
			}
		}
	} finally {
		for (const contender of contenders) await contender.close();
	}
	return figures;
}

async function startAll(run: Run, contenders: readonly Contender[]): Promise<RunningContender[]> {
	const running: RunningContender[] = [];
	for (const contender of contenders) {
		const needed = contender.needs?.(run.tools);
		if (needed !== undefined && 'missing' in needed) run.leaveOut(contender.label, needed.missing);
		else running.push(await startContender(contender, run.tools));
	}
	return running;
}

function startBusyLoops({ tools, leaveOut }: Run): ChildProcess[] {
	const { native } = tools;
	if ('missing' in native) {
		leaveOut('the busy node', native.missing);
		return [];
	}
	return allowedCores().map((core) =>
		spawn('taskset', ['--cpu-list', String(core), native.path, 'spin', String(SPIN_SECONDS_MAX)], { stdio: 'ignore' }),
	);
}

async function measureShape(
	run: Run,
	plan: CallsPlan,
	contenders: readonly RunningContender[],
	stuck: Set<string>,
	shape: ShapeId,
	busy: boolean,
): Promise<CallFigure[]> {
	const { placement, load } = SHAPE_PLANS[shape];
	const command = load({ durationMs: plan.durationMs, warmupMs: plan.warmupMs });
	if (command.kind === 'open' && 'missing' in run.tools.native) {
		run.leaveOut(`open loops (${shape})`, run.tools.native.missing);
		return [];
	}
	const { server, client } = placements(allowedCores())[placement];
	const reports = new Map<string, LoadReport[]>(contenders.map(({ id }) => [id, []]));
	for (const contender of contenders) {
		pin(contender.server.pid, server);
		pin(contender.client.pid, client);
	}
	for (let round = 0; round < plan.rounds; round++) {
		// Each round begins with another contender: nobody always comes after the same neighbour.
		for (let index = 0; index < contenders.length; index++) {
			const contender = contenders[(index + round) % contenders.length] as RunningContender;
			if (stuck.has(contender.id)) continue;
			try {
				reports.get(contender.id)?.push(await contender.client.run(command));
			} catch (error) {
				stuck.add(contender.id);
				run.leaveOut(`${contender.label}, from ${shape}${busy ? ', busy' : ''} on`, (error as Error).message);
			}
		}
	}
	run.say(`${shape}${busy ? ', busy' : ''}: ${plan.rounds} rounds`);
	return contenders.flatMap((contender) => {
		const found = (reports.get(contender.id) ?? []).filter(({ calls }) => calls > 0);
		if (found.length > 0) return [toFigure(contender, found, shape, busy)];
		if (!stuck.has(contender.id))
			run.leaveOut(`${contender.label} (${shape})`, 'not one call was answered within the time of a round');
		return [];
	});
}

function toFigure(
	{ id, label, server, client }: RunningContender,
	reports: readonly LoadReport[],
	shape: ShapeId,
	busy: boolean,
): CallFigure {
	const over = (figure: (report: LoadReport) => number): number => median(reports.map(figure));
	const clientCpuUs = over((report) => report.clientCpuUs / report.calls);
	const serverCpuUs = over((report) => report.serverCpuUs / report.calls);
	return {
		contender: id,
		label,
		shape,
		busy,
		rounds: reports.length,
		p50Us: over((report) => report.p50Us),
		p99Us: over((report) => report.p99Us),
		p999Us: over((report) => report.p999Us),
		callsPerSecond: over((report) => (report.calls / report.elapsedMs) * 1000),
		cpuUs: over((report) => (report.clientCpuUs + report.serverCpuUs) / report.calls),
		clientCpuUs,
		serverCpuUs,
		errors: reports.reduce((sum, report) => sum + report.errors, 0),
		clientRssMb: residentMb(client.pid),
		serverRssMb: residentMb(server.pid),
	};
}
