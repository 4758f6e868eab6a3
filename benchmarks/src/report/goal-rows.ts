import type { BenchResults, ShapeId } from '../results.ts';
import { ECHO_ID, findCall, PRODUCT_ID } from './contenders.ts';
import { ratioOf } from './format-number.ts';
import type { GoalPart, GoalRow } from './goal.ts';

const READLINE_ID = 'readline-node';
const OLD_WAY_ID = 'grpc-js-tcp';
const BYTES_PER_KB = 1024;

type Measure = GoalPart['measure'];
type NumericField = 'p50Us' | 'p99Us' | 'cpuUs' | 'callsPerSecond';

/** The product's figure to that of another contender under the same load. */
function productTo(contender: string, shape: ShapeId, field: NumericField, busy: boolean = false): Measure {
	return (results) => {
		const value = (id: string): number | undefined => findCall(results, id, shape, busy)?.[field];
		return ratioOf(value(PRODUCT_ID), value(contender));
	};
}

function lookupNs(what: string): Measure {
	return (results) => results.lookups.find((lookup) => lookup.what === what)?.ns;
}

function connectionsP99(results: BenchResults): number | undefined {
	const p99 = (connections: number): number | undefined =>
		results.connections.find((figure) => figure.connections === connections)?.p99Us;
	return ratioOf(p99(1000), p99(1));
}

function inFlightFigure(results: BenchResults, inFlight: number): BenchResults['inFlight'][number] | undefined {
	return results.inFlight.find((figure) => figure.inFlight === inFlight);
}

function memoryOfCall(results: BenchResults, inFlight: number): number | undefined {
	const figure = inFlightFigure(results, inFlight);
	return figure && (figure.clientRssMb + figure.serverRssMb) / inFlight;
}

function watchersFigure(results: BenchResults, watchers: number): BenchResults['watchers'][number] | undefined {
	return results.watchers.find((figure) => figure.watchers === watchers);
}

function startUpFigure(results: BenchResults, what: string): BenchResults['startUp'][number] | undefined {
	return results.startUp.find((figure) => figure.what === what);
}

/** A figure of events whose name begins so, and its ratio to the floor of the run. */
function eventsFigure(what: string): Measure {
	return (results) => results.events?.find((figure) => figure.what.startsWith(what))?.value;
}

function eventsToFloor(what: string): Measure {
	return (results) => {
		const figure = results.events?.find((one) => one.what.startsWith(what));
		return ratioOf(figure?.value, figure?.floor ?? undefined);
	};
}

function atMost(what: string, unit: GoalPart['unit'], floor: number, goal: number, measure: Measure): GoalPart {
	return { what, unit, wanted: 'at most', floor, goal, measure };
}

function atLeast(what: string, unit: GoalPart['unit'], floor: number, goal: number, measure: Measure): GoalPart {
	return { what, unit, wanted: 'at least', floor, goal, measure };
}

const CALL_GOALS: readonly GoalRow[] = [
	{
		figure: 'one call at a time, one core',
		parts: [
			atMost('p50, to echo', 'ratio', 1.45, 1.3, productTo(ECHO_ID, 'one-core', 'p50Us')),
			atMost('CPU, to echo', 'ratio', 1.45, 1.3, productTo(ECHO_ID, 'one-core', 'cpuUs')),
		],
	},
	{
		figure: 'one call at a time, two cores',
		parts: [
			atMost('p50, to echo', 'ratio', 1.15, 1.1, productTo(ECHO_ID, 'two-cores', 'p50Us')),
			atMost('p99, to echo', 'ratio', 1.5, 1.25, productTo(ECHO_ID, 'two-cores', 'p99Us')),
		],
	},
	{
		figure: 'the same on a busy node',
		parts: [atMost('p99, to echo', 'ratio', 1.5, 1.25, productTo(ECHO_ID, 'two-cores', 'p99Us', true))],
	},
	{
		figure: '64 in flight',
		parts: [
			atLeast('calls/s, to echo', 'ratio', 0.85, 1, productTo(ECHO_ID, '64-in-flight', 'callsPerSecond')),
			atLeast(
				'calls/s, to the plain readline client',
				'ratio',
				2,
				2.3,
				productTo(READLINE_ID, '64-in-flight', 'callsPerSecond'),
			),
		],
	},
	{
		figure: '1024 in flight',
		parts: [
			atLeast('calls/s, to echo', 'ratio', 2.5, 4, productTo(ECHO_ID, '1024-in-flight', 'callsPerSecond')),
			atLeast(
				'calls/s, to the plain readline client',
				'ratio',
				5,
				8,
				productTo(READLINE_ID, '1024-in-flight', 'callsPerSecond'),
			),
			atLeast(
				'calls/s, to grpc-js over TCP',
				'ratio',
				150,
				250,
				productTo(OLD_WAY_ID, '1024-in-flight', 'callsPerSecond'),
			),
		],
	},
	{
		figure: 'CPU of a call, one core',
		parts: [atMost('to grpc-js over TCP', 'ratio', 1 / 18, 1 / 24, productTo(OLD_WAY_ID, 'one-core', 'cpuUs'))],
	},
	{
		figure: 'one call at a time, scheduler’s choice',
		parts: [atMost('p50, to grpc-js over TCP', 'ratio', 1 / 4, 1 / 4.5, productTo(OLD_WAY_ID, 'scheduler', 'p50Us'))],
	},
	{
		figure: 'lookup from the snapshot',
		parts: [
			atMost('`pick()`', 'ns', 100, 40, lookupNs('pick()')),
			atMost('`await getService()`', 'ns', 500, 200, lookupNs('await getService()')),
		],
	},
	{
		figure: 'open loop, 20,000 calls/s',
		parts: [
			atMost('p99, to echo', 'ratio', 1.3, 1.1, productTo(ECHO_ID, 'open-20000', 'p99Us')),
			atMost('CPU, to echo', 'ratio', 1.3, 1.1, productTo(ECHO_ID, 'open-20000', 'cpuUs')),
		],
	},
];

const GROWTH_GOALS: readonly GoalRow[] = [
	{
		figure: '1,000 connections to one sidecar',
		parts: [
			atMost('p99, to 1 connection at the same total rate', 'ratio', 3, 2, connectionsP99),
			atMost(
				'memory of the sidecar for each',
				'KB',
				60,
				30,
				(results) => results.connections.find((figure) => figure.connections === 1000)?.sidecarKbEach ?? undefined,
			),
		],
	},
	{
		figure: '100,000 in flight',
		parts: [
			atMost('errors', 'count', 0, 0, (results) => inFlightFigure(results, 100_000)?.errors),
			// Linear within a factor of two: the memory for each call does not grow with their number.
			atMost('memory for each call, to that at 10,000', 'ratio', 2, 2, (results) =>
				ratioOf(memoryOfCall(results, 100_000), memoryOfCall(results, 10_000)),
			),
			atLeast('calls/s, to 1024 in flight', 'ratio', 1 / 3, 1 / 2, (results) =>
				ratioOf(inFlightFigure(results, 100_000)?.callsPerSecond, inFlightFigure(results, 1024)?.callsPerSecond),
			),
		],
	},
	{
		figure: '10,000 services × 10 instances',
		parts: [
			atMost(
				'memory of the sidecar',
				'MB',
				300,
				200,
				(results) =>
					results.registry.find((figure) => figure.services === 10_000 && figure.instancesEach === 10)?.sidecarRssMb,
			),
		],
	},
	{
		figure: 'one change to 1,000 watchers',
		parts: [atMost('last one notified', 'ms', 100, 40, (results) => watchersFigure(results, 1000)?.addedP50Ms)],
	},
	{
		figure: 'change in Consul to snapshot in the client',
		parts: [
			atMost('added to a bare blocking query, p50', 'ms', 3, 1, (results) => watchersFigure(results, 1)?.addedP50Ms),
			atMost('added to a bare blocking query, p99', 'ms', 10, 4, (results) => watchersFigure(results, 1)?.addedP99Ms),
		],
	},
	{
		figure: 'start-up',
		parts: [
			atMost(
				'start to ready, local backend',
				'ms',
				400,
				250,
				(results) => startUpFigure(results, 'sidecar start (local)')?.wallMs,
			),
			atMost('`sidecar health`', 'ms CPU', 80, 50, (results) => startUpFigure(results, 'sidecar health')?.cpuMs),
		],
	},
	{
		figure: 'client bundle',
		parts: [
			atMost('minified and gzipped', 'KB', 16, 10, (results) => ratioOf(results.bundle?.gzipBytes, BYTES_PER_KB)),
			atMost('third-party dependencies', 'count', 0, 0, (results) => results.bundle?.thirdPartyDependencies),
		],
	},
];

const EVENTS_GOALS: readonly GoalRow[] = [
	{
		figure: 'an event leaves the app',
		parts: [
			atMost('`emit()` of 200 B, beyond its JSON', 'ns', 1000, 500, eventsFigure('emit()')),
			atMost('`emit()` of 200 B, bytes besides its line', 'count', 64, 0, eventsFigure('emit() of 200 B, bytes')),
			atMost('`await publish()`, to echo and fdatasync', 'ratio', 1.5, 1.25, eventsToFloor('publish()')),
		],
	},
	{
		figure: 'events on disk',
		parts: [
			atLeast('300 B, to a bare loop of writes', 'ratio', 0.6, 0.85, eventsToFloor('persisted events of 300 B')),
			atLeast('16 kB, to a bare loop of writes', 'ratio', 0.6, 0.85, eventsToFloor('persisted events of 16 kB')),
			atLeast('for a CPU second, 300 B', 'count', 120_000, 200_000, eventsFigure('persisted events of 300 B for')),
			atMost('recovery, to reading the files', 'ratio', 2, 1.3, eventsToFloor('recovery')),
			atMost('memory of a million of them', 'MB', 24, 12, eventsFigure('memory')),
		],
	},
	{
		figure: 'events beside other work',
		parts: [
			atMost('p99 of a lookup over the wire, to that without events', 'ratio', 1.5, 1.2, eventsToFloor('a lookup')),
			atMost('delivery to the handler, to echo', 'ratio', 3, 2, eventsToFloor('delivery')),
		],
	},
];

/** Every goal that was set before the product was built. The floor is what a bare prototype reached. */
export const GOAL_ROWS: readonly GoalRow[] = [...CALL_GOALS, ...GROWTH_GOALS, ...EVENTS_GOALS];
