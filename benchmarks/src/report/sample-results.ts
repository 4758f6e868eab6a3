import { type BenchResults, type CallFigure, NO_FIGURES, SHAPES, type ShapeId } from '../results.ts';

/** p50 in µs by shape of {@link SAMPLE_SHAPES}, then processor time and calls a second at 64 and 1024 in flight. */
type SampleRow = readonly [
	id: string,
	label: string,
	oneCoreUs: number,
	schedulerUs: number,
	cpuUs: number,
	at64: number,
	at1024: number,
];

const SAMPLE_ROWS: readonly SampleRow[] = [
	['c-echo', 'echo in C', 13.6, 92, 14.5, 420_000, 610_000],
	['echo', 'echo, raw node:net', 21, 137, 26.2, 238_000, 268_000],
	['spock', 'Diplomat and Spock', 26.7, 148.3, 33.4, 240_500, 1_081_000],
	['readline-node', 'readline, Node server', 52, 192, 66, 104_000, 133_000],
	['readline-go', 'readline, Go server', 59, 174, 75, 91_000, 98_000],
	['ioredis', 'ioredis, Redis', 54, 173, 65, 85_000, 103_000],
	['undici-unix', 'HTTP, undici, unix socket', 174, 271, 219, 18_700, 14_800],
	['grpc-js-unix', 'grpc-js, unix socket', 455, 560, 590, 4_100, 4_400],
	['grpc-js-tcp', 'grpc-js, TCP', 625, 645, 789, 3_400, 3_900],
	['grpc-js-go-unix', 'grpc-js, Go server, unix socket', 433, 544, 544, 4_300, 4_600],
	['grpc-js-go-tcp', 'grpc-js, Go server, TCP', 520, 601, 640, 3_900, 4_200],
	['consul-http', 'Consul over HTTP', 840, 910, 1_020, 6_100, 6_300],
	['consul-http-cached', 'Consul over HTTP, agent cache', 610, 700, 760, 9_000, 9_400],
];

const CALLS_IN_FLIGHT: Readonly<Partial<Record<ShapeId, number>>> = { '64-in-flight': 64, '1024-in-flight': 1024 };
const OPEN_LOOP_RATE: Readonly<Partial<Record<ShapeId, number>>> = {
	'open-1000': 1000,
	'open-5000': 5000,
	'open-20000': 20_000,
};

/** Made-up results that look like a complete run. Only tests use them. */
export function sampleResults(changes: Partial<BenchResults> = {}): BenchResults {
	return {
		schema: 1,
		takenAt: '2026-01-31T12:34:56.000Z',
		quick: false,
		commit: '0123456789abcdef0123456789abcdef01234567',
		machine: { processor: 'Example Processor 9000', cores: 4, memoryMb: 16_000, kernel: '6.1.0' },
		node: 'v24.11.0',
		versions: { 'grpc-js': '1.14.7', ioredis: '6.0.0', undici: '7.30.2', consul: '1.22.0', go: '1.25.0' },
		leftOut: [],
		calls: sampleCalls(),
		nodeVersions: ['v20.19.5', 'v22.21.0', 'v24.11.0'].flatMap((node, index) =>
			(['one-core', '1024-in-flight'] as const).map((shape) => ({
				...sampleCall('spock', shape),
				node,
				p50Us: 30 - index,
			})),
		),
		...sampleGrowth(),
		connectPerCall: [
			{ contender: 'spock', label: 'Diplomat and Spock', transport: 'unix', p50Us: 310, p99Us: 720, cpuUs: 280 },
			{ contender: 'grpc-js-tcp', label: 'grpc-js, TCP', transport: 'tcp', p50Us: 4_100, p99Us: 9_800, cpuUs: 4_400 },
		],
		lookups: [
			{ what: 'pick()', ns: 31.2 },
			{ what: 'await getService()', ns: 164 },
		],
		events: [
			{ what: 'emit() of 200 B', unit: 'ns', value: 610, floor: 820 },
			{ what: 'emit() of 200 B, bytes allocated beyond those of its line', unit: 'B', value: 60, floor: 350 },
			{ what: 'publish() one at a time, p50', unit: 'µs', value: 410, floor: 330 },
			{ what: 'persisted events of 300 B', unit: '/s', value: 140_000, floor: 180_000 },
			{ what: 'persisted events of 300 B for a CPU second', unit: '/s', value: 150_000, floor: null },
			{ what: 'persisted events of 16 kB', unit: '/s', value: 9000, floor: 11_000 },
			{ what: 'recovery of 256 MiB, beyond a start', unit: 'ms', value: 300, floor: 210 },
			{ what: 'memory of the sidecar with 1,000,000 events in its log', unit: 'MB', value: 9, floor: 80 },
			{ what: 'a lookup over the wire beside 20,000 events/s, p99', unit: 'µs', value: 420, floor: 380 },
			{ what: 'delivery, persisted to handler, p50', unit: 'µs', value: 60, floor: 42 },
		],
		startUp: [
			{ what: 'sidecar start (local)', wallMs: 212, cpuMs: 190 },
			{ what: 'sidecar health', wallMs: 61, cpuMs: 48 },
		],
		bundle: { minifiedBytes: 24_100, gzipBytes: 9_300, thirdPartyDependencies: 0 },
		micro: [
			{ what: 'encode a request', ns: 92.4, bytes: 48 },
			{ what: 'decode a reply', ns: 310, bytes: null },
		],
		...changes,
	};
}

/** Results of a run in which nothing could be measured. */
export function emptyResults(): BenchResults {
	return sampleResults({
		leftOut: [{ what: 'everything', why: 'this run only exists in tests' }],
		...NO_FIGURES,
		events: [],
	});
}

/** One call figure of the sample. */
export function sampleCall(contender: string, shape: ShapeId, busy: boolean = false): CallFigure {
	const row = SAMPLE_ROWS.find(([id]) => id === contender);
	if (row === undefined) throw new Error(`the sample has no contender ${contender}`);
	const [, label, oneCoreUs, schedulerUs, cpuUs, at64, at1024] = row;
	const callsInFlight = CALLS_IN_FLIGHT[shape];
	const callsPerSecond = callsInFlight === 64 ? at64 : at1024;
	const alone = shape === 'one-core' ? oneCoreUs : shape === 'two-cores' ? schedulerUs * 0.8 : schedulerUs;
	const idleP50Us = callsInFlight === undefined ? alone : (callsInFlight / callsPerSecond) * 1e6;
	const p50Us = idleP50Us * (busy ? 1.9 : 1);
	return {
		contender,
		label,
		shape,
		busy,
		rounds: 5,
		p50Us,
		p99Us: p50Us * (busy ? 14 : 1.8),
		p999Us: p50Us * (busy ? 31 : 4.2),
		callsPerSecond: callsInFlight === undefined ? (OPEN_LOOP_RATE[shape] ?? 1e6 / p50Us) : callsPerSecond,
		cpuUs,
		clientCpuUs: cpuUs * 0.55,
		serverCpuUs: cpuUs * 0.45,
		errors: 0,
		clientRssMb: 71.3,
		serverRssMb: 64.9,
	};
}

function sampleCalls(): CallFigure[] {
	return SAMPLE_ROWS.flatMap(([id]) => [
		...(Object.keys(SHAPES) as ShapeId[]).map((shape) => sampleCall(id, shape)),
		sampleCall(id, 'two-cores', true),
	]);
}

function sampleGrowth(): Pick<BenchResults, 'connections' | 'inFlight' | 'registry' | 'watchers'> {
	return {
		connections: [1, 10, 100, 1000].map((connections, index) => ({
			connections,
			callsPerSecond: 5000,
			p50Us: 120 + index * 12,
			p99Us: 410 + index * 90,
			cpuUs: 48 + index * 3,
			sidecarKbEach: index === 0 ? null : 34 - index * 3.3,
			clientKbEach: index === 0 ? null : 41 - index * 4.1,
		})),
		inFlight: [1, 64, 1024, 10_000, 100_000].map((inFlight, index) => ({
			inFlight,
			callsPerSecond: [7_100, 240_500, 1_081_000, 960_000, 710_000][index] ?? 0,
			p50Us: [141, 262, 940, 10_100, 138_000][index] ?? 0,
			p99Us: [290, 510, 2_300, 21_000, 310_000][index] ?? 0,
			errors: 0,
			clientRssMb: [68, 71, 84, 121, 342][index] ?? 0,
			serverRssMb: [63, 66, 72, 96, 205][index] ?? 0,
		})),
		registry: [
			[100, 10, 74, 5_200, 38],
			[1000, 10, 88, 5_200, 41],
			[10_000, 10, 187, 5_200, 46],
			[100, 1000, 192, 510_000, 3_900],
		].map(([services = 0, instancesEach = 0, sidecarRssMb = 0, pushBytes = 0, pushCpuUs = 0]) => ({
			services,
			instancesEach,
			sidecarRssMb,
			sidecarRssBeforeMb: 66,
			clientRssMb: sidecarRssMb * 0.8,
			pushBytes,
			pushCpuUs,
		})),
		watchers: [1, 10, 100, 1000].map((watchers, index) => ({
			watchers,
			changes: 200,
			bareP50Ms: 2.1,
			bareP99Ms: 6.3,
			lastP50Ms: 2.1 + ([0.7, 1.1, 4.9, 33.1][index] ?? 0),
			lastP99Ms: 6.3 + ([2.9, 3.8, 9.2, 61][index] ?? 0),
			addedP50Ms: [0.7, 1.1, 4.9, 33.1][index] ?? 0,
			addedP99Ms: [2.9, 3.8, 9.2, 61][index] ?? 0,
		})),
	};
}
