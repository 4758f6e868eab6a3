import { defineConfig } from 'vitest/config';

// Tests run on source, with no build: the packages' exports have a condition for it.
// Without `import`: it would go to what is required too, and packages that have a form for each would get the wrong one.
const conditions = ['@spock/source', 'node', 'default'];

export default defineConfig({
	ssr: { resolve: { conditions, externalConditions: conditions } },
	test: {
		// Generous, because a busy machine is slow and not wrong; nothing waits for it to pass.
		testTimeout: 30_000,
		hookTimeout: 60_000,
		allowOnly: false,
		// Off unless `pnpm coverage` turns it on. It sees the code that runs in the tests' own processes; tools/coverage-report.js
		// has the limits.
		coverage: {
			provider: 'v8',
			include: ['packages/{protocol,balancer,discovery,client}/src/**/*.ts'],
			// Those of the suites that are run are left out by themselves.
			exclude: ['**/*.{test,itest}.ts'],
			reporter: ['json'],
			reportsDirectory: 'reports/coverage',
			reportOnFailure: true,
		},
		projects: [
			{
				extends: true,
				test: { name: 'unit', include: ['packages/*/{src,test}/**/*.test.ts', 'tools/**/*.test.ts'] },
			},
			{
				extends: true,
				test: {
					name: 'socket',
					include: ['packages/*/{src,test}/**/*.itest.ts', 'examples/**/*.itest.ts', 'tools/**/*.itest.ts'],
					exclude: [
						'**/*.{browser,consul,cluster,databases,faults,soak,hostile,manifests,pod,kubelet,apiserver,go,shell,promtool}.itest.ts',
						'**/node_modules/**',
					],
				},
			},
			{
				extends: true,
				test: {
					name: 'consul',
					include: ['packages/*/{src,test}/**/*.consul.itest.ts'],
					testTimeout: 120_000,
					hookTimeout: 120_000,
				},
			},
			// A cluster of real Consul servers and what befalls them, minutes long: `pnpm test:cluster`.
			{
				extends: true,
				test: {
					name: 'cluster',
					include: ['packages/*/{src,test}/**/*.cluster.itest.ts'],
					// One cluster is as much as a small machine bears.
					fileParallelism: false,
					testTimeout: 180_000,
					hookTimeout: 180_000,
				},
			},
			// Faults of real processes under load, and a soak, minutes long: `pnpm test:faults`, `pnpm test:soak`.
			{
				extends: true,
				test: {
					name: 'faults',
					include: ['packages/*/{src,test}/**/*.faults.itest.ts'],
					// They measure times: one after the other.
					fileParallelism: false,
				},
			},
			{
				extends: true,
				test: { name: 'soak', include: ['packages/*/{src,test}/**/*.soak.itest.ts'], fileParallelism: false },
			},
			// Hostile clients beside a good one, two minutes: `pnpm test:hostile`.
			{
				extends: true,
				test: {
					name: 'hostile',
					include: ['packages/*/{src,test}/**/*.hostile.itest.ts'],
					// What is measured must have the machine to itself.
					fileParallelism: false,
					testTimeout: 180_000,
					hookTimeout: 180_000,
				},
			},
			// Pods under a real kubelet, and manifests before a real API server: `pnpm test:kubelet`, `pnpm test:apiserver`.
			...['kubelet', 'apiserver'].map((name) => ({
				extends: true as const,
				test: {
					name,
					include: [`packages/pod-tests/test/*.${name}.itest.ts`],
					fileParallelism: false,
					testTimeout: 180_000,
					hookTimeout: 180_000,
				},
			})),
			// The manifests of k8s/ as kustomize renders them: `pnpm manifests`.
			{ extends: true, test: { name: 'manifests', include: ['tools/kubernetes/**/*.manifests.itest.ts'] } },
			// The pod with its real images, played by podman: `pnpm test:pod`.
			{
				extends: true,
				test: {
					name: 'pod',
					include: ['packages/*/{src,test}/**/*.pod.itest.ts'],
					fileParallelism: false,
					testTimeout: 120_000,
					hookTimeout: 120_000,
				},
			},
			// The status page in a real Chromium: `pnpm test:browser`.
			{
				extends: true,
				test: {
					name: 'browser',
					include: ['packages/*/test/**/*.browser.itest.ts'],
					expect: { poll: { timeout: 20_000 } },
				},
			},
			// These need a program that is not on every machine; tools/test.js says which were left out.
			{
				extends: true,
				test: { name: 'go', include: ['examples/**/*.go.itest.ts', 'packages/*/test/**/*.go.itest.ts'] },
			},
			{ extends: true, test: { name: 'shell', include: ['examples/**/*.shell.itest.ts'] } },
			// Real PostgreSQL and Redis servers.
			{
				extends: true,
				test: {
					name: 'databases',
					include: ['packages/*/{src,test}/**/*.databases.itest.ts', 'examples/**/*.databases.itest.ts'],
				},
			},
			{ extends: true, test: { name: 'promtool', include: ['packages/*/test/**/*.promtool.itest.ts'] } },
		],
	},
});
