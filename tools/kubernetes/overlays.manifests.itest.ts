import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

import { generateFiles } from './generated-files.js';
import { ensureManifestTools } from './manifest-tools.js';
import { bytesOf, type Manifest, type Pod, sidecarOf, variable } from './pod.ts';
import { brokenNodeClientRules, brokenNodeRules, brokenRules } from './pod-rules.ts';
import { KUBERNETES_VERSIONS, render, renderings } from './render-manifests.js';

const tools = ensureManifestTools(KUBERNETES_VERSIONS);
const directory = fileURLToPath(new URL('../../k8s', import.meta.url));
const all = renderings(directory);
const rendered = new Map(all.map(({ name, path }) => [name, render(path, tools)]));

function manifestsOf(name: string): Manifest[] {
	const documents = parseAllDocuments(rendered.get(name) ?? '');
	return documents.map((document) => document.toJS() as Manifest);
}

function podOf(name: string): Pod {
	const deployment = manifestsOf(name).find(({ kind }) => kind === 'Deployment');
	return deployment?.spec.template as Pod;
}

/** A part of a manifest that the types of pod.ts do not know. */
function part<T>(name: string, kind: string, field: string): T {
	return manifestsOf(name).find((manifest) => manifest.kind === kind)?.spec[field] as T;
}

interface Rule {
	readonly to?: readonly unknown[];
	readonly from?: readonly unknown[];
	readonly ports?: readonly { readonly port: number; readonly endPort?: number; readonly protocol: string }[];
}

function lets(rules: readonly Rule[], port: number, protocol: string): Rule[] {
	return rules.filter(({ ports }) =>
		ports?.some((one) => one.protocol === protocol && one.port <= port && port <= (one.endPort ?? one.port)),
	);
}

const charts = [...rendered.keys()].filter((name) => name.startsWith('chart-'));
/** Those that run the example app with a sidecar. */
const others = [
	'injector',
	'pod.yaml',
	'token-reviewer.yaml',
	'node',
	'node-socket',
	'spock-on-node-socket',
	...charts,
];
const overlays = [...rendered.keys()].filter((name) => !others.includes(name));
const withConsul = overlays.filter((name) => name !== 'base');

describe('the overlays', () => {
	it('are those that k8s/README.md tells apart', () => {
		const text = readFileSync(`${directory}/README.md`, 'utf8');
		const named = [...text.matchAll(/overlays\/([a-z-]+)/g)].map(([, name]) => name);
		expect([...new Set(named)].sort()).toEqual(readdirSync(`${directory}/overlays`).sort());
	});

	it('and the components are those that k8s/README.md tells apart', () => {
		const text = readFileSync(`${directory}/README.md`, 'utf8');
		const named = [...text.matchAll(/components\/([a-z-]+)/g)].map(([, name]) => name);
		expect([...new Set(named)].sort()).toEqual(readdirSync(`${directory}/components`).sort());
	});

	it.each(readdirSync(`${directory}/components`))('components/%s leaves out no CronJob where it has Jobs', (name) => {
		const { patches = [] } = parse(readFileSync(`${directory}/components/${name}/kustomization.yaml`, 'utf8'));
		const kinds = patches.flatMap(({ target }: { target: { kind: string } }) => target.kind.split('|'));
		expect(kinds.includes('CronJob')).toBe(kinds.includes('Job'));
	});

	it('come out the same from the kustomize in old versions of kubectl', () => {
		const old = { ...tools, kustomize: tools.kustomizeOldest };
		for (const { name, path } of all.filter((one) => !charts.includes(one.name)))
			expect(render(path, old), name).toBe(rendered.get(name));
	});

	it.each(overlays)('%s keeps every rule of a pod', (name) => {
		expect(brokenRules(podOf(name), { isNative: name !== 'without-native-sidecars', isAppOurs: true })).toEqual([]);
	});

	it.each(overlays)('%s runs the sidecar of this version', (name) => {
		const { version } = JSON.parse(readFileSync(`${directory}/../packages/sidecar/package.json`, 'utf8'));
		expect(sidecarOf(podOf(name))?.image).toBe(`spock-sidecar:${version}`);
	});

	it.each(overlays)('%s: the budget and the deployment speak of the same pods', (name) => {
		const selector = { matchLabels: { 'app.kubernetes.io/name': 'barista-app' } };
		expect(podOf(name).metadata.labels).toMatchObject(selector.matchLabels);
		expect(part(name, 'Deployment', 'selector')).toEqual(selector);
		expect(part(name, 'PodDisruptionBudget', 'selector')).toEqual(selector);
	});

	it.each(withConsul)('%s lets the sidecar reach each address of Consul, and DNS', (name) => {
		const pod = podOf(name);
		const sidecar = sidecarOf(pod);
		const addresses = (sidecar && variable(sidecar, 'CONSUL_HTTP_ADDR'))?.split(',') ?? [];
		const egress = part<Rule[]>(name, 'NetworkPolicy', 'egress');
		expect(addresses.length).toBeGreaterThan(0);
		for (const address of addresses) expect(lets(egress, Number(address.split(':').at(-1)), 'TCP')).toHaveLength(1);
		for (const protocol of ['UDP', 'TCP']) expect(lets(egress, 53, protocol)).toHaveLength(1);
		expect(pod.metadata.labels).toMatchObject(
			part<Pod['metadata']>(name, 'NetworkPolicy', 'podSelector')['matchLabels' as never],
		);
	});

	it.each(withConsul)('%s opens the admin port to Prometheus alone, and every other port to all', (name) => {
		const ingress = part<Rule[]>(name, 'NetworkPolicy', 'ingress');
		expect(lets(ingress, 9464, 'TCP').map(({ from }) => from?.length)).toEqual([1]);
		for (const port of [1, 80, 9463, 9465, 65535]) {
			expect(lets(ingress, port, 'TCP').map(({ from }) => from)).toEqual([undefined]);
		}
	});

	it('asks an agent on the node at its address, and servers one by one over TLS', () => {
		const addressOf = (name: string) => variable(sidecarOf(podOf(name)) as never, 'CONSUL_HTTP_ADDR');
		expect(addressOf('consul-agent-on-node')).toBe('http://$(HOST_IP):8500');
		const servers = addressOf('consul-servers-tls-acl')?.split(',') ?? [];
		expect(servers).toHaveLength(3);
		for (const server of servers) expect(server).toMatch(/^https:.*:8501$/);
	});

	it('scrapes the port that the sidecar has, of the pods that have one', () => {
		const [endpoint] = part<{ port: string; path: string }[]>('monitored', 'PodMonitor', 'podMetricsEndpoints');
		const pod = podOf('monitored');
		expect(sidecarOf(pod)?.ports).toEqual([{ name: endpoint?.port, containerPort: 9464 }]);
		expect(endpoint?.path).toBe('/metrics');
		const { matchLabels } = part<{ matchLabels: object }>('monitored', 'PodMonitor', 'selector');
		expect(pod.metadata.labels).toMatchObject(matchLabels);
	});

	it('keeps answers in a volume of their own where it says so', () => {
		const pod = podOf('monitored');
		const sidecar = sidecarOf(pod);
		const mount = sidecar?.volumeMounts?.find(({ name }) => name === 'spock-state');
		expect(sidecar && variable(sidecar, 'SPOCK_STATE_DIR')).toBe(`${mount?.mountPath}/state`);
		expect(pod.spec.volumes?.find(({ name }) => name === 'spock-state')?.emptyDir?.sizeLimit).toBe('64Mi');
	});
});

describe('the Spock of a node', () => {
	const daemonSet = manifestsOf('node').find(({ kind }) => kind === 'DaemonSet');
	const pod = daemonSet?.spec.template as Pod;

	it('keeps the rules of a pod that others ask over TLS', () => {
		expect(brokenNodeRules(pod)).toEqual([]);
	});

	it('is reached at the port that it listens at, by the pods of its own node alone', () => {
		const service = manifestsOf('node').find(({ kind }) => kind === 'Service');
		expect(service?.spec).toMatchObject({
			internalTrafficPolicy: 'Local',
			ports: [{ port: 7777, targetPort: 'spock' }],
		});
		expect(pod.metadata.labels).toMatchObject(service?.spec['selector'] as object);
	});
});

describe('the Spock of a node at a socket', () => {
	const [daemonSet] = manifestsOf('node-socket').filter(({ kind }) => kind === 'DaemonSet');
	const node = daemonSet?.spec.template as Pod;

	it('keeps the rules of a pod that others ask in a directory of the node', () => {
		expect(brokenNodeRules(node, 'socket')).toEqual([]);
		// The next one is there before the one in place ends.
		expect(daemonSet?.spec['updateStrategy']).toMatchObject({ rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } });
	});

	it.each([
		['a Spock that is root', /runAsUser: 10001/, 'runAsUser: 0', 'sidecar is not root'],
		['root with more than it needs', '- CHOWN', '- SYS_ADMIN', 'root may do that alone'],
		['a directory for another user', "'/uds', 10001", "'/uds', 10002", 'for its user and group'],
		['a socket for every group', 'runAsGroup: 2000', 'runAsGroup: 10001', 'has the group of its pod'],
		['a socket without a token', 'SPOCK_TOKEN_ON_SOCKET', 'SPOCK_TLS_KEY', 'wants a token'],
		['one that is started again when it was replaced', 'SPOCK_STAY_WHEN_REPLACED', 'SPOCK_TLS_KEY', 'started again'],
		['a volume of the pod', /hostPath:\n.*\n.*\n/, 'emptyDir: {}\n', 'in a directory of the node'],
		['a port', 'SPOCK_TAKE_OVER', 'SPOCK_LISTEN', 'listens nowhere else'],
	])('would not keep them with %s', (_, from, to, rule) => {
		const text = rendered.get('node-socket') ?? '';
		const changed = text.replace(from, to);
		expect(changed).not.toBe(text);
		const manifests = parseAllDocuments(changed).map((document) => document.toJS() as Manifest);
		const pod = manifests.find(({ kind }) => kind === 'DaemonSet')?.spec.template as Pod;
		expect(brokenNodeRules(pod, 'socket').join()).toContain(rule);
	});

	it('is not reached over the network, but for its metrics', () => {
		expect(manifestsOf('node-socket').filter(({ kind }) => kind === 'Service')).toEqual([]);
		const ingress = part<Rule[]>('node-socket', 'NetworkPolicy', 'ingress');
		expect(ingress.flatMap(({ ports }) => ports?.map(({ port }) => port))).toEqual([9464]);
	});

	it('is found by an app without a sidecar, which has a token and the group of the socket', () => {
		expect(brokenNodeClientRules(podOf('spock-on-node-socket'), node)).toEqual([]);
	});

	it.each([
		['an app that is root', 'runAsUser: 10002', 'runAsUser: 0', 'app is not root'],
		[
			'an app that can replace the socket',
			/(name: uds\n +)readOnly: true/,
			'$1readOnly: false',
			'cannot replace the socket',
		],
		[
			'a second mount that can be written',
			'volumeMounts:',
			'volumeMounts:\n        - {mountPath: /run/spock, name: uds}',
			'cannot replace the socket',
		],
		['the user of the Spock', 'runAsUser: 10002', 'runAsUser: 10001', 'is not the user of the Spock'],
		[
			'that user in the pod',
			/runAsUser: 10002([\s\S]*fsGroup: 2000)/,
			'$1\n        runAsUser: 10001',
			'is not the user of the Spock',
		],
		['another group', 'fsGroup: 2000', 'fsGroup: 2001', 'has the group of the socket'],
		['a token outside a Secret', /secret:\n.*\n.*\n/, 'emptyDir: {}\n', 'its token is in a Secret'],
		['a token for every user of the pod', 'defaultMode: 288', 'defaultMode: 292', 'its token is in a Secret'],
		[
			'a token that can be written',
			/(name: spock-node\n +)readOnly: true/,
			'$1readOnly: false',
			'its token is in a Secret',
		],
		['another directory of the node', 'path: /run/spock', 'path: /run/other', 'is that of the Spock'],
		['the directory at another path', 'mountPath: /uds', 'mountPath: /run', 'where that of a sidecar would be'],
		['a sidecar', 'initContainers: []', 'initContainers: [{name: sidecar}]', 'there is no sidecar'],
	])('its app would not keep the rules with %s', (_, from, to, rule) => {
		const changed = (rendered.get('spock-on-node-socket') ?? '').replace(from, to);
		expect(changed).not.toBe(rendered.get('spock-on-node-socket'));
		const manifests = parseAllDocuments(changed).map((document) => document.toJS() as Manifest);
		const pod = manifests.find(({ kind }) => kind === 'Deployment')?.spec.template as Pod;
		expect(brokenNodeClientRules(pod, node).join()).toContain(rule);
	});

	it('is of this version, as its init container is', () => {
		const images = [...(node.spec.initContainers ?? []), ...node.spec.containers].map(({ image }) => image);
		const [sidecar] = podOf('base').spec.initContainers ?? [];
		expect(images).toEqual([sidecar?.image, sidecar?.image]);
	});
});

describe('what is written twice', () => {
	it('the page says what the requests and limits of 2,000 sidecars, and of 50 nodes, add up to', () => {
		const page = readFileSync(`${directory}/../docs/guide/kubernetes-in-ten-minutes.md`, 'utf8');
		const node = manifestsOf('node').find(({ kind }) => kind === 'DaemonSet')?.spec.template as Pod;
		for (const [count, pod] of [
			['2,000', podOf('consul-agent-on-node')],
			['50', node],
		] as const) {
			const { requests = {}, limits = {} } = sidecarOf(pod)?.resources ?? {};
			const total = Number(count.replace(',', ''));
			const { cpu = '', memory } = requests;
			expect(page).toContain(`${count} × ${cpu} = ${(total * Number.parseInt(cpu, 10)) / 1000} cores`);
			for (const bytes of [memory, limits['memory']]) {
				expect(page).toContain(`${count} × ${bytes} = ${(total * bytesOf(bytes)) / 2 ** 30} GiB`);
			}
		}
	});

	it('the pod to read is that of the overlay for an agent on the node', () => {
		const pod = parse(rendered.get('pod.yaml') ?? '') as Pod;
		const { spec, metadata } = podOf('consul-agent-on-node');
		expect(pod.spec).toEqual(spec);
		expect(pod.metadata.labels).toEqual(metadata.labels);
	});

	it('the injector, the charts and the patches for CronJobs are made of it: if not, `npm run manifests -- --write`', () => {
		generateFiles(directory, tools, (path, text) => {
			expect(readFileSync(path, 'utf8'), path).toBe(text);
		});
	});
});
