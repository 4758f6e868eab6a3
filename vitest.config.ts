import { availableParallelism } from 'node:os';

import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

// Tests run on source, with no build: the packages' exports have a condition for it.
// Without `import`: it would go to what is required too, and packages that have a form for each would get the wrong one.
const conditions = ['@spock/source', 'node', 'default'];

const cores = availableParallelism();
/** Most of a test over sockets waits for a process or a peer; too many at once only make each of them late. */
const SOCKET_WORKERS_MAX = 16;

/** A suite, by the name for `--project`. Suites run one behind the other, each with as many workers as suit it. */
function suites(
	all: Record<string, NonNullable<TestProjectInlineConfiguration['test']>>,
): TestProjectInlineConfiguration[] {
	return Object.entries(all).map(([name, test], groupOrder) => ({
		extends: true as const,
		test: { name, ...test, sequence: { groupOrder } },
	}));
}

/** Such tests measure times, or are as much as a small machine bears: one file after the other. */
const oneAtATime = {
	fileParallelism: false,
	setupFiles: ['tools/share-setup.ts'],
	testTimeout: 180_000,
	hookTimeout: 180_000,
};
const packages = '{packages/*,test/*,benchmarks}/{src,test}/**';
/** Packages whose tests must take 95 % of their branches. */
const covered = ['protocol', 'balancer', 'discovery', 'events', 'client'];

export default defineConfig({
	ssr: { resolve: { conditions, externalConditions: conditions } },
	test: {
		// Generous, because a busy machine is slow and not wrong; nothing waits for it to pass.
		testTimeout: 60_000,
		hookTimeout: 60_000,
		allowOnly: false,
		// Off unless `npm test -- --all --coverage.enabled` turns it on. It sees the code that runs in the tests' own processes.
		coverage: {
			provider: 'v8',
			include: covered.map((name) => `packages/${name}/src/**/*.ts`),
			// Those of the suites that are run are left out by themselves.
			// The store at NATS is fed by processes that are killed, which are not seen here.
			exclude: ['**/*.{test,itest}.ts', 'packages/events/src/stores/jetstream/**'],
			reporter: ['html', 'json'],
			reportsDirectory: 'reports/coverage',
			reportOnFailure: true,
			thresholds: {
				...Object.fromEntries(covered.map((name) => [`packages/${name}/src/**`, { branches: 95 }])),
			},
		},
		projects: suites({
			// Loading the modules of a file anew costs more than most tests: a worker keeps them for its next file. So a test puts back
			// what it changes for the whole process, and mocks by `vi.spyOn`: `vi.mock` comes too late for what is loaded already.
			unit: {
				include: [`${packages}/*.test.ts`, 'tools/**/*.test.ts'],
				pool: 'threads',
				isolate: false,
				maxWorkers: cores,
			},
			socket: {
				include: [`${packages}/*.itest.ts`, 'examples/**/*.itest.ts', 'tools/**/*.itest.ts'],
				// Those of the suites below.
				exclude: ['**/*.*.itest.ts', '**/node_modules/**'],
				setupFiles: ['tools/socket-setup.ts'],
				isolate: false,
				maxWorkers: Math.min(2 * cores, SOCKET_WORKERS_MAX),
			},
			// These need a program that is not on every machine; tools/test.js says which were left out.
			go: { include: ['examples/**/*.go.itest.ts', 'packages/*/test/**/*.go.itest.ts'] },
			shell: { include: ['examples/**/*.shell.itest.ts'] },
			shells: { include: ['packages/*/test/**/*.shells.itest.ts'] },
			promtool: { include: ['packages/*/test/**/*.promtool.itest.ts'] },
			// Real servers: `npm test -- --servers`.
			consul: {
				include: [`${packages}/*.consul.itest.ts`],
				maxWorkers: cores,
				testTimeout: 120_000,
				hookTimeout: 120_000,
			},
			databases: {
				include: [`${packages}/*.databases.itest.ts`, 'examples/**/*.databases.itest.ts'],
				maxWorkers: cores,
			},
			nats: {
				include: [`${packages}/*.nats.itest.ts`],
				maxWorkers: cores,
				testTimeout: 120_000,
				hookTimeout: 120_000,
			},
			// Processes under load that must not fail a call, and take-overs: `npm run suite load`, `npm run suite handover`.
			load: { include: [`${packages}/*.load.itest.ts`, 'examples/**/*.load.itest.ts'], ...oneAtATime },
			// A cluster of real Consul servers and what befalls them, minutes long: `npm run suite cluster`.
			cluster: { include: [`${packages}/*.cluster.itest.ts`], ...oneAtATime },
			// A random workload on a real Consul, every view compared with its own answers: `npm run suite oracle`.
			oracle: { include: [`${packages}/*.oracle.itest.ts`], ...oneAtATime },
			// Faults of real processes under load, and a soak, minutes long: `npm run suite faults`, `npm run suite soak`.
			faults: { include: [`${packages}/*.faults.itest.ts`], ...oneAtATime },
			// Producers and sidecars that are killed, and every event accounted for: `npm run suite events`.
			events: { include: [`${packages}/*.events.itest.ts`], ...oneAtATime },
			// Programs of this checkout beside those of an earlier commit: `npm run suite skew`.
			skew: { include: [`${packages}/*.skew.itest.ts`], ...oneAtATime },
			soak: { include: [`${packages}/*.soak.itest.ts`], ...oneAtATime },
			// Hostile clients beside a good one, two minutes: `npm run suite hostile`.
			hostile: { include: [`${packages}/*.hostile.itest.ts`], ...oneAtATime },
			// Pods under a real kubelet, and manifests before a real API server: `npm run suite kubelet`, `npm run suite apiserver`.
			kubelet: { include: ['test/kubernetes/test/*.kubelet.itest.ts'], ...oneAtATime },
			apiserver: { include: ['test/kubernetes/test/*.apiserver.itest.ts'], ...oneAtATime },
			// The manifests of k8s/ as kustomize renders them: `npm run manifests`.
			manifests: { include: ['tools/kubernetes/**/*.manifests.itest.ts'] },
			// The packed packages beside test runners, bundlers, tracers and versions of Node: `npm run suite surroundings`.
			surroundings: { include: ['tools/surroundings/*.surroundings.itest.ts'] },
			// The pod with its real images, played by podman: `npm run suite pod`.
			pod: { include: [`${packages}/*.pod.itest.ts`], ...oneAtATime },
			// The status page in a real Chromium: `npm run suite browser`.
			browser: { include: ['packages/*/test/**/*.browser.itest.ts'], expect: { poll: { timeout: 20_000 } } },
		}),
	},
});
