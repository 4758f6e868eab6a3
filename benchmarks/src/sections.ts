import { CONTENDERS } from './contenders.ts';
import { type BenchResults, SHAPES, type ShapeId } from './results.ts';
import type { Run } from './run.ts';
import { measureBundle } from './sections/bundle.ts';
import { measureCalls } from './sections/calls.ts';
import { measureConnectPerCall } from './sections/connect-per-call.ts';
import { measureConnections } from './sections/connections.ts';
import { measureEvents } from './sections/events.ts';
import { measureGrpcFront } from './sections/grpc-front.ts';
import { measureInFlight } from './sections/in-flight.ts';
import { measureNodeVersions } from './sections/node-versions.ts';
import { measureLookups, measureMicro } from './sections/probes.ts';
import { measureRegistry } from './sections/registry.ts';
import { measureStartUp } from './sections/start-up.ts';
import { measureWatchers } from './sections/watchers.ts';

type Section = (run: Run, nodes: readonly string[]) => Promise<Partial<BenchResults>>;

const ALL_SHAPES = Object.keys(SHAPES) as ShapeId[];
const QUICK_SHAPES: readonly ShapeId[] = ['one-core', 'two-cores', '64-in-flight', '1024-in-flight', 'open-20000'];

/** The name of a part of a run. */
export type SectionName =
	| 'calls'
	| 'node-versions'
	| 'connections'
	| 'grpc-front'
	| 'in-flight'
	| 'registry'
	| 'watchers'
	| 'connect-per-call'
	| 'lookups'
	| 'events'
	| 'start-up'
	| 'bundle'
	| 'micro';

/** The parts of a run, each of which can be run by itself. */
export const SECTIONS: Readonly<Record<SectionName, Section>> = {
	calls: async (run) => ({
		calls: await measureCalls(
			run,
			run.quick
				? { contenders: CONTENDERS, shapes: QUICK_SHAPES, busy: [false], rounds: 3, durationMs: 250, warmupMs: 80 }
				: {
						contenders: CONTENDERS,
						shapes: ALL_SHAPES,
						busy: [false, true],
						rounds: 5,
						durationMs: 400,
						warmupMs: 100,
					},
		),
	}),
	'node-versions': async (run, nodes) => ({ nodeVersions: await measureNodeVersions(run, nodes) }),
	'grpc-front': async (run) => ({ grpcFront: await measureGrpcFront(run) }),
	connections: async (run) => ({ connections: await measureConnections(run) }),
	'in-flight': async (run) => ({ inFlight: await measureInFlight(run) }),
	registry: async (run) => ({ registry: await measureRegistry(run) }),
	watchers: async (run) => ({ watchers: await measureWatchers(run) }),
	'connect-per-call': async (run) => ({ connectPerCall: await measureConnectPerCall(run) }),
	lookups: async (run) => ({ lookups: await measureLookups(run) }),
	events: async (run) => ({ events: await measureEvents(run) }),
	'start-up': async (run) => ({ startUp: await measureStartUp(run) }),
	bundle: async () => ({ bundle: await measureBundle() }),
	micro: async (run) => ({ micro: await measureMicro(run) }),
};

export const SECTION_NAMES: readonly SectionName[] = Object.keys(SECTIONS) as SectionName[];
