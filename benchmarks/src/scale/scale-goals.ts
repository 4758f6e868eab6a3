import type { GoalPart } from '../report/goal.ts';
import { type GoalVerdict, judgeGoal } from '../report/goals.ts';
import type { RowName, ScaleFigures, ScaleResults } from './scale-results.ts';

/** Floors and goals of a row; some are judged beside others of their row. */
export interface ScaleGoal extends GoalPart<ScaleResults> {
	readonly row: RowName;
	/** What is counted, in the words of the table. */
	readonly figure: string;
}

/** What a run says about one goal. */
export interface ScaleFinding {
	readonly goal: ScaleGoal;
	readonly measured: number | undefined;
	readonly verdict: GoalVerdict;
}

type Bounds = readonly [unit: GoalPart['unit'], floor: number, goal: number];

function atMost<Name extends RowName>(
	row: Name,
	figure: string,
	what: string,
	[unit, floor, goal]: Bounds,
	of: (figure: ScaleFigures[Name]) => number,
): ScaleGoal {
	const measure = ({ rows }: ScaleResults): number | undefined => {
		const taken = rows[row];
		return taken && of(taken.figure as ScaleFigures[Name]);
	};
	return { row, figure, what, unit, floor, goal, wanted: 'at most', measure };
}

function atLeast(goal: ScaleGoal): ScaleGoal {
	return { ...goal, wanted: 'at least' };
}

const HELD = 'Consul’s held queries: 1,000 sidecars × 10 services through 10 node Spocks';
const MANY = 'change in Consul, seen while 1,000 services are watched';
const HOP = 'change in Consul → app behind two Spocks';
const PUSH = '1,500 instances, 1,000 watchers, 5 changes a second for 60 s';
const LARGE = '10,000 instances of one service';
const POD = 'memory for a pod without a sidecar of its own, 10 services watched';
const SIMULATED = '10,000 pods on 200 nodes, simulated';
const PICKS = 'picks with zones or a subset';
const STORM = 'a node Spock restarts under 1,000 connections';

/** Held queries beyond one for each node and service that are no defect: a list, say. */
const HELD_CONSTANT = 10;

/** The table of the plan, and the figures of its part on reconnects. */
export const SCALE_GOALS: readonly ScaleGoal[] = [
	atMost(
		'held-queries',
		HELD,
		'held at Consul',
		['count', 100 + HELD_CONSTANT, 100 + HELD_CONSTANT],
		({ through }) => through.held,
	),
	atMost(
		'held-queries',
		HELD,
		'requests a minute at rest, to those without node Spocks',
		['ratio', 1 / 50, 1 / 50],
		({ through, without }) => through.queriesAMinute / without.queriesAMinute,
	),
	atMost('many-services', MANY, 'p50, added to a bare query', ['ms', 20, 5], ({ spock, bare }) =>
		spock.unseen > 0 ? Number.POSITIVE_INFINITY : spock.p50Ms - bare.p50Ms,
	),
	atMost('many-services', MANY, 'p99, added to a bare query', ['ms', 100, 20], ({ spock, bare }) =>
		spock.unseen > 0 ? Number.POSITIVE_INFINITY : spock.p99Ms - bare.p99Ms,
	),
	atMost('second-hop', HOP, 'p50, added to one Spock', ['ms', 1, 0.4], ({ addedP50Ms }) => addedP50Ms),
	atMost('second-hop', HOP, 'p99, added to one Spock', ['ms', 5, 2], ({ addedP99Ms }) => addedP99Ms),
	atMost(
		'push-bytes',
		'bytes pushed for one change in a service of 1,500 instances',
		'for each watcher',
		['B', 2048, 600],
		({ changeBytes }) => changeBytes,
	),
	atMost(
		'push-cpu',
		PUSH,
		'CPU of the node Spock over a real Consul',
		['% of a core', 60, 25],
		({ consul }) => consul.cpuPercent,
	),
	atMost(
		'push-cpu',
		PUSH,
		'the same, each change a push of its own',
		['% of a core', 60, 25],
		({ memory }) => memory.cpuPercent,
	),
	atMost(
		'push-cpu',
		PUSH,
		'the same with TLS, as the manifests have it',
		['% of a core', 60, 25],
		({ tls }) => tls?.cpuPercent ?? Number.NaN,
	),
	atLeast(
		atMost(
			'large-service',
			LARGE,
			'served, live, no `oversize`',
			['count', 10_000, 10_000],
			({ served, isLive, isOversize }) => (isLive && !isOversize ? served : 0),
		),
	),
	atMost('large-service', LARGE, 'memory of a client', ['MB', 12, 12], ({ served, clientHeapMb }) =>
		served === 0 ? Number.NaN : clientHeapMb,
	),
	atMost('pod-memory', POD, 'at the node Spock, unix socket', ['KB', 100, 40], ({ socket }) => socket.rssKb),
	atMost('pod-memory', POD, 'at the node Spock, TLS', ['KB', 100, 40], ({ tls }) => tls.rssKb),
	atMost(
		'simulation',
		SIMULATED,
		'99 % of views agree after a change',
		['ms', 2000, 250],
		({ agree99Ms }) => agree99Ms ?? Number.POSITIVE_INFINITY,
	),
	atMost(
		'simulation',
		SIMULATED,
		'lookups that fail with 10 % of the node Spocks killed at that moment',
		['count', 0, 0],
		({ failedLookups }) => failedLookups,
	),
	atMost('picks', PICKS, 'in the local zone, to a plain pick', ['ratio', 2, 1.2], ({ local }) => local),
	atMost('picks', PICKS, 'spilled over to other zones, to a plain pick', ['ratio', 2, 1.2], ({ spilled }) => spilled),
	atMost('picks', PICKS, 'a subset of 20, to a plain pick', ['ratio', 2, 1.2], ({ subset }) => subset),
	atMost('reconnects', STORM, 'from the first client back to the last', ['s', 2, 2], ({ restarts }) =>
		Math.max(...restarts.map(({ backMs }) => backMs / 1000)),
	),
	atMost('reconnects', STORM, 'p99 of a call over the wire meanwhile', ['ms', 50, 50], ({ restarts }) =>
		Math.max(...restarts.map(({ callP99Ms }) => callP99Ms)),
	),
	atMost('reconnects', STORM, 'lookups that fail', ['count', 0, 0], ({ restarts }) =>
		restarts.reduce((sum, { failedLookups }) => sum + failedLookups, 0),
	),
];

/** Judges every goal, in the order of the table. */
export function judgeScale(results: ScaleResults): readonly ScaleFinding[] {
	return SCALE_GOALS.map((goal) => {
		const measured = goal.measure(results);
		// What was never seen is missed, not missing.
		const verdict = measured === Number.POSITIVE_INFINITY ? 'missed' : judgeGoal(goal, measured);
		return { goal, measured, verdict };
	});
}
