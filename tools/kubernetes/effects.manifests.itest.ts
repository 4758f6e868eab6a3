import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';

import { ensureManifestTools } from './manifest-tools.js';
import { type Container, type Manifest, type Pod, sidecarOf, templateOf, variable } from './pod.ts';
import { KUBERNETES_VERSIONS, render, renderChart } from './render-manifests.js';

const tools = ensureManifestTools(KUBERNETES_VERSIONS);
const old = { ...tools, kustomize: tools.kustomizeOldest };
const scratch = mkdtempSync(join(tmpdir(), 'spock-effects-'));
const k8s = fileURLToPath(new URL('../../k8s', import.meta.url));

afterAll(() => {
	rmSync(scratch, { recursive: true, force: true });
});

const KINDS = ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Job', 'CronJob'];
/** Listed before a component, where it is not `sidecar` alone. */
const BEFORE: Readonly<Record<string, readonly string[]>> = { sidecar: [], 'node-socket': ['sidecar', 'node'] };

function workload(kind: string): object {
	const template = { spec: { containers: [{ name: 'app', image: 'app' }] } };
	const apiVersion = kind.endsWith('Job') ? 'batch/v1' : 'apps/v1';
	const spec = kind === 'CronJob' ? { jobTemplate: { spec: { template } } } : { template };
	return { apiVersion, kind, metadata: { name: 'any' }, spec };
}

/** What kustomize makes of workloads of these kinds, by kind; other objects with them. */
function kustomized(components: readonly string[], kinds: readonly string[], renderer = tools): Map<string, Manifest> {
	const place = mkdtempSync(join(scratch, 'kind-'));
	writeFileSync(join(place, 'workloads.yaml'), kinds.map((kind) => stringify(workload(kind))).join('---\n'));
	const to = components.map((name) => relative(place, join(k8s, 'components', name)));
	writeFileSync(join(place, 'kustomization.yaml'), stringify({ resources: ['workloads.yaml'], components: to }));
	const documents = parseAllDocuments(render(place, renderer)).map((document) => document.toJS() as Manifest);
	return new Map(documents.map((manifest) => [manifest.kind, manifest]));
}

/** `changed`, `nothing`, or the sentence that kustomize ends with. */
function effectOf(components: readonly string[], kind: string, renderer = tools): string {
	const before = kustomized(components.slice(0, -1), [kind], renderer);
	try {
		const after = kustomized(components, [kind], renderer);
		const isSame = JSON.stringify([...after]) === JSON.stringify([...before]);
		return isSame ? 'nothing' : 'changed';
	} catch (error) {
		return /testing value \/(.*?) failed/.exec((error as Error).message)?.[1] ?? (error as Error).message;
	}
}

const NO_CLAIM =
	'only a StatefulSet has volume claims for events; list the component events before this, or label it spock-sidecar=none';
const NODE_ALONE =
	'the component node is for the DaemonSet spock-node; give other workloads a kustomization of their own';
const NEVER_ENDS = 'with an ordinary sidecar this would never end; label it spock-sidecar=none';
/** The sentence for a kind that a component cannot serve; all others must be changed. */
const REFUSED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
	'events-volume-claim': Object.fromEntries(
		KINDS.filter((kind) => kind !== 'StatefulSet').map((kind) => [kind, NO_CLAIM]),
	),
	node: Object.fromEntries(KINDS.map((kind) => [kind, NODE_ALONE])),
	'without-native-sidecars': { Job: NEVER_ENDS, CronJob: NEVER_ENDS },
};

describe('a component changes each kind of workload, or ends with a sentence', () => {
	it.each(readdirSync(join(k8s, 'components')))('%s', (name) => {
		const components = [...(BEFORE[name] ?? ['sidecar']), name];
		if (name === 'node-socket') {
			expect(() => kustomized(components, KINDS)).toThrow(NODE_ALONE);
			return;
		}
		const refused = REFUSED[name] ?? {};
		for (const [kind, sentence] of Object.entries(refused)) {
			expect(effectOf(components, kind), kind).toBe(sentence);
			expect(effectOf(components, kind, old), kind).toBe(sentence);
		}
		const served = KINDS.filter((kind) => refused[kind] === undefined);
		if (served.length === 0) return;
		const [before, after] = [components.slice(0, -1), components].map((list) => kustomized(list, served));
		// What adds an object for all pods of the namespace need not change the workloads.
		const added = [...(after?.keys() ?? [])].filter((kind) => !before?.has(kind));
		const same = served.filter((kind) => JSON.stringify(after?.get(kind)) === JSON.stringify(before?.get(kind)));
		expect(added.length > 0 ? [] : same).toEqual([]);
	});

	it('events-volume-claim behind events leaves the other kinds to that', () => {
		const made = kustomized(['sidecar', 'events', 'events-volume-claim'], KINDS);
		for (const kind of KINDS) {
			const pod = templateOf(made.get(kind) as Manifest);
			const volumes = pod?.spec.volumes?.map(({ name }) => name);
			expect([kind, volumes?.includes('spock-events')]).toEqual([kind, kind !== 'StatefulSet']);
		}
	});

	it.each([
		['prometheus-annotations', 'admin-on-loopback'],
		['admin-on-loopback', 'prometheus-annotations'],
		['pod-monitor', 'admin-on-loopback'],
		['admin-on-loopback', 'pod-monitor'],
	])('%s and then %s: what cannot be scraped is not announced', (first, second) => {
		const said = 'Prometheus cannot scrape an admin port on loopback';
		expect(() => kustomized(['sidecar', first, second], ['Deployment'])).toThrow(said);
		expect(() => kustomized(['sidecar', first, second], ['CronJob'], old)).toThrow(said);
	});
});

/** The leaves of a chart's values, by their paths. */
function pathsOf(schema: { properties?: Record<string, object> }, path = ''): string[] {
	return Object.entries(schema.properties ?? {}).flatMap(([name, value]) => {
		const inner = pathsOf(value, `${path}${name}.`);
		return name === 'global' ? [] : inner.length === 0 ? [`${path}${name}`] : inner;
	});
}

const SERVERS = { consul: { kind: 'servers' } };
const ON_NODE = { spockOnNode: { enabled: true } };
/** Each value of the library with another one than its default, and what must be set beside it. */
const SAMPLES: Readonly<Record<string, readonly [value: unknown, beside?: object]>> = {
	'image.repository': ['mine'],
	'image.tag': ['9'],
	'image.pullPolicy': ['Always'],
	'consul.kind': ['none'],
	'consul.agent.address': ['http://a:8500'],
	'consul.servers.addresses': [['https://a:8501'], SERVERS],
	'consul.servers.caConfigMap': ['mine', SERVERS],
	'consul.servers.tlsServerName': ['server.dc2.consul', SERVERS],
	'consul.servers.loginMethod': ['mine', SERVERS],
	'consul.tokenSecret': ['mine'],
	stateDirectory: [true],
	prometheusAnnotations: [true],
	'resources.requests': [{ cpu: '1' }],
	'resources.limits': [{ memory: '1Gi' }],
	env: [[{ name: 'SPOCK_LOG_LEVEL', value: 'debug' }]],
	'spockOnNode.enabled': [true],
	'spockOnNode.address': ['tls://a:7777', ON_NODE],
	'spockOnNode.secret': ['mine', ON_NODE],
	native: [false],
	events: ['volume'],
	grpc: [true],
	adminReach: ['loopback'],
	readyWithoutSidecar: [true],
	startWithoutRegistry: [true],
};

describe('a value of the library changes each kind of workload', () => {
	cpSync(join(k8s, 'charts/spock'), join(scratch, 'charts/spock'), { recursive: true });
	const fixture = fileURLToPath(new URL('fixtures/chart-kinds', import.meta.url));
	cpSync(fixture, join(scratch, 'charts/chart-kinds'), { recursive: true });
	const set = (values: object): string[] =>
		Object.entries(values).flatMap(([name, value]) => ['--set-json', `${name}=${JSON.stringify(value)}`]);
	const podsWith = (spock: object, more: object = {}): Map<string, string> => {
		const text = renderChart(join(scratch, 'charts/chart-kinds'), tools, set({ spock, ...more }));
		const manifests = parseAllDocuments(text).map((document) => document.toJS() as Manifest);
		return new Map(manifests.map((manifest) => [manifest.kind, JSON.stringify(templateOf(manifest))]));
	};
	const schema = JSON.parse(readFileSync(join(k8s, 'charts/spock/values.schema.json'), 'utf8'));

	it.each(pathsOf(schema))('%s', (path) => {
		const [value, beside = {}] = SAMPLES[path] ?? [];
		expect(value, 'a sample of another value than the default').toBeDefined();
		const [first = '', ...rest] = path.split('.');
		const nested = rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
		const known = (beside as Record<string, object>)[first];
		const merged = known === undefined ? nested : { ...known, ...(nested as object) };
		// An ordinary sidecar in what must end is refused: see the test of the library.
		const more = path === 'native' ? { restartPolicy: '' } : {};
		const [before, after] = [podsWith(beside, more), podsWith({ ...beside, [first]: merged }, more)];
		expect([...after.keys()].sort()).toEqual(['CronJob', 'Deployment', 'Rollout', 'StatefulSet']);
		// The Deployment of the fixture takes no annotations.
		const same = [...after].filter(([kind, pod]) => pod === before.get(kind)).map(([kind]) => kind);
		expect(same).toEqual(path === 'prometheusAnnotations' ? ['Deployment'] : []);
	});

	it('prometheusAnnotations with the admin port on loopback are refused', () => {
		const values = { adminReach: 'loopback', prometheusAnnotations: true };
		expect(() => podsWith(values)).toThrow('Prometheus cannot scrape an admin port on loopback');
	});
});

describe('the choices', () => {
	const chart = (values: object): Container => {
		const text = renderChart(join(k8s, 'charts/barista-app'), tools, ['--set-json', `spock=${JSON.stringify(values)}`]);
		const [manifest] = parseAllDocuments(text).map((document) => document.toJS() as Manifest);
		return sidecarOf(templateOf(manifest as Manifest) as Pod) as Container;
	};
	const component = (names: readonly string[], kind: string): Container =>
		sidecarOf(templateOf(kustomized(['sidecar', ...names], [kind]).get(kind) as Manifest) as Pod) as Container;
	const choices = {
		admin: [{ adminReach: 'loopback' }, ['admin-on-loopback']],
		ready: [{ readyWithoutSidecar: true }, ['ready-without-sidecar']],
		start: [{ startWithoutRegistry: true }, ['start-without-registry']],
		all: [
			{ adminReach: 'loopback', readyWithoutSidecar: true, startWithoutRegistry: true },
			['admin-on-loopback', 'ready-without-sidecar', 'start-without-registry'],
		],
	} as const;
	const each = (choice: keyof typeof choices): Container[] => {
		const [values, names] = choices[choice];
		return [chart(values), component(names, 'Deployment'), component(names, 'CronJob')];
	};

	it('are open to probes and Prometheus, with readiness and start bound to the sidecar, unless chosen otherwise', () => {
		for (const sidecar of [chart({}), component([], 'Deployment'), component([], 'CronJob')]) {
			expect(variable(sidecar, 'SPOCK_ADMIN')).toBe('[::]:9464');
			expect(sidecar.readinessProbe?.httpGet?.path).toBe('/readyz');
			expect(sidecar.startupProbe?.exec?.command).toEqual(['sidecar', 'health']);
		}
	});

	it.each(['admin', 'all'] as const)('%s: the admin port on loopback, and probes that run commands', (choice) => {
		for (const sidecar of each(choice)) {
			expect(variable(sidecar, 'SPOCK_ADMIN')).toBe('127.0.0.1:9464');
			expect(variable(sidecar, 'SPOCK_ADMIN_ANY')).toBe('false');
			expect(JSON.stringify(sidecar)).not.toContain('httpGet');
			expect(sidecar.livenessProbe?.exec?.command).toEqual(['sidecar', 'status']);
			const names = sidecar.env?.map(({ name }) => name) ?? [];
			expect(new Set(names).size).toBe(names.length);
		}
	});

	it.each(['ready', 'all'] as const)('%s: a sidecar that is not ready keeps no app out of its Services', (choice) => {
		for (const sidecar of each(choice)) {
			expect(sidecar.readinessProbe).toBeUndefined();
			expect(sidecar.livenessProbe).toBeDefined();
		}
	});

	it.each(['start', 'all'] as const)('%s: the app starts while the registry has not answered', (choice) => {
		for (const sidecar of each(choice)) expect(sidecar.startupProbe?.exec?.command).toEqual(['sidecar', 'status']);
	});

	it('refuse an order in which one would undo the other', () => {
		expect(() => component(['ready-without-sidecar', 'admin-on-loopback'], 'Deployment')).toThrow('readinessProbe');
	});
});
