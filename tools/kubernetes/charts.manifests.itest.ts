import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';

import { ensureManifestTools } from './manifest-tools.js';
import { type Container, type Manifest, type Pod, sidecarOf, templateOf, variable } from './pod.ts';
import { brokenNodeRules, brokenRules } from './pod-rules.ts';
import { KUBERNETES_VERSIONS, render, renderChart, withCharts } from './render-manifests.js';

const tools = ensureManifestTools(KUBERNETES_VERSIONS);
const k8s = fileURLToPath(new URL('../../k8s', import.meta.url));
const chart = (name: string) => join(k8s, 'charts', name);

const parsed = (text: string): Manifest[] => parseAllDocuments(text).map((document) => document.toJS() as Manifest);

function podOf(manifests: readonly Manifest[]): Pod {
	const workload = manifests.find(({ kind }) => kind === 'Deployment' || kind === 'DaemonSet');
	return (workload && templateOf(workload)) as Pod;
}

/** The pod of the example's chart, with values for the sidecar. */
function charted(values: object): Pod {
	return podOf(parsed(renderChart(chart('barista-app'), tools, ['--set-json', `spock=${JSON.stringify(values)}`])));
}

/** The pod that kustomize makes of things of k8s/. */
function kustomized(resource: string, components: readonly string[]): Pod {
	const scratch = mkdtempSync(join(tmpdir(), 'spock-charts-'));
	try {
		const to = (name: string) => relative(scratch, join(k8s, name));
		const kustomization = {
			resources: [to(resource)],
			components: components.map((name) => to(`components/${name}`)),
			images: [{ name: 'spock-example-app', newTag: '0.1.0' }],
		};
		writeFileSync(join(scratch, 'kustomization.yaml'), stringify(kustomization));
		return podOf(parsed(render(scratch, tools)));
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}

/** Kustomize and the charts add variables, mounts and volumes in different orders, which mean nothing. */
function sorted(pod: Pod): object {
	const byName = (one: { name: string }, two: { name: string }): number => one.name.localeCompare(two.name);
	const container = (one: Container): object => ({
		...one,
		env: one.env?.toSorted(byName),
		volumeMounts: one.volumeMounts?.toSorted(byName),
	});
	const { initContainers, containers, volumes, ...others } = pod.spec;
	return {
		...pod,
		spec: {
			...others,
			// Kustomize leaves an empty list where it has moved the last one away.
			initContainers: initContainers?.map(container) ?? [],
			containers: containers.map(container),
			volumes: volumes?.toSorted(byName),
		},
	};
}

/** By their kinds, with their names, and without pods, in which the order of lists means nothing. */
function outsideOfPods(manifests: readonly Manifest[]): object {
	const parts = manifests.map(({ kind, metadata, spec, ...others }) => [
		kind,
		{ ...others, name: metadata.name, spec: spec?.template === undefined ? spec : { ...spec, template: undefined } },
	]);
	return Object.fromEntries(parts);
}

describe('the chart of an app', () => {
	it.each<[string, object, string[]]>([
		['without a value for the sidecar', {}, ['consul-agent-on-node']],
		['without Consul', { consul: { kind: 'none' } }, []],
		['with servers, TLS and a login', { consul: { kind: 'servers' } }, ['consul-servers-tls-acl']],
		[
			'with a token, the state directory, events, gRPC and annotations',
			{
				consul: { tokenSecret: 'spock-consul-token' },
				stateDirectory: true,
				events: 'volume',
				grpc: true,
				prometheusAnnotations: true,
			},
			['consul-agent-on-node', 'consul-token', 'state-directory', 'events', 'grpc', 'prometheus-annotations'],
		],
		['that asks the Spock of its node', { spockOnNode: { enabled: true } }, ['consul-agent-on-node', 'spock-on-node']],
		['with an ordinary sidecar', { native: false }, ['consul-agent-on-node', 'without-native-sidecars']],
	])('makes the pod of kustomize: %s', (_, values, components) => {
		const pod = charted(values);
		expect(sorted(pod)).toEqual(sorted(kustomized('base', components)));
		const isNative = !components.includes('without-native-sidecars');
		expect(brokenRules(pod, { isNative, isAppOurs: true })).toEqual([]);
	});

	it('takes image, resources, addresses and settings from its values', () => {
		const pod = charted({
			image: { repository: 'registry.example/spock-sidecar', tag: '9.9.9' },
			resources: { limits: { memory: '300Mi' } },
			consul: { kind: 'servers', servers: { addresses: ['https://one:8501'], caConfigMap: 'my-ca' } },
			spockOnNode: { enabled: true, address: 'tls://spock-node.mine.svc:7777', secret: 'mine' },
			env: [
				{ name: 'SPOCK_LOG_LEVEL', value: 'debug' },
				{ name: 'SPOCK_DRAIN_TIMEOUT_MS', value: '20000' },
			],
		});
		const sidecar = sidecarOf(pod) as Container;
		expect(sidecar.image).toBe('registry.example/spock-sidecar:9.9.9');
		expect(sidecar.resources).toEqual({ requests: { cpu: '20m', memory: '96Mi' }, limits: { memory: '300Mi' } });
		expect(variable(sidecar, 'CONSUL_HTTP_ADDR')).toBe('https://one:8501');
		expect(variable(sidecar, 'SPOCK_LOG_LEVEL')).toBe('debug');
		expect(variable(sidecar, 'SPOCK_UPSTREAM')).toBe('tls://spock-node.mine.svc:7777');
		expect(pod.spec.volumes).toContainEqual({ name: 'spock-node', secret: { secretName: 'mine', defaultMode: 0o440 } });
		expect(pod.spec.volumes).toContainEqual({ name: 'consul-ca', configMap: { name: 'my-ca' } });
		expect(brokenRules(pod, { isNative: true, isAppOurs: true })).toEqual([]);
	});

	it.each([
		['image.tagg', 'x', "'tagg' not allowed"],
		['consul.kind', 'agents', "'agent', 'servers', 'none'"],
	])('refuses the value spock.%s=%s', (path, value, said) => {
		expect(() => renderChart(chart('barista-app'), tools, ['--set', `spock.${path}=${value}`])).toThrow(said);
	});
});

describe('the library', () => {
	const scratch = mkdtempSync(join(tmpdir(), 'spock-kinds-'));
	afterAll(() => rmSync(scratch, { recursive: true, force: true }));
	cpSync(chart('spock'), join(scratch, 'spock'), { recursive: true });
	cpSync(fileURLToPath(new URL('fixtures/chart-kinds', import.meta.url)), join(scratch, 'chart-kinds'), {
		recursive: true,
	});
	const renderKinds = (...args: string[]) => renderChart(join(scratch, 'chart-kinds'), tools, args);
	const podsOf = (...args: string[]) =>
		Object.fromEntries(
			parsed(renderKinds(...args)).map((manifest) => [manifest.kind, templateOf(manifest) as Pod] as const),
		);

	it.each(['CronJob', 'Rollout', 'StatefulSet'])('gives a %s a sidecar that keeps the rules', (kind) => {
		const pod = podsOf('--set', 'spock.events=volume')[kind] as Pod;
		expect(brokenRules(pod, { isNative: true, isAppOurs: false })).toEqual([]);
	});

	it('leaves what the pod says of itself, and puts the sidecar before its init containers', () => {
		const { spec } = podsOf()['Rollout'] as Pod;
		expect(spec.securityContext).toEqual({ fsGroup: 3000 });
		expect(spec.initContainers?.map(({ name }) => name)).toEqual(['sidecar', 'migrate']);
		expect(spec.containers[0]?.volumeMounts?.map(({ name }) => name)).toEqual(['data', 'uds']);
		expect(spec.containers[1]).toEqual({ name: 'log-shipper', image: 'log-shipper:1.0.0' });
		expect(spec.volumes).toContainEqual({ name: 'data', emptyDir: {} });
	});

	it.each(['StatefulSet', 'StatefulSet by template'])('has the claim that the events of a %s need', (only) => {
		const [manifest] = parsed(renderKinds('--set', `spock.events=claim,only=${only}`));
		expect(manifest?.spec['volumeClaimTemplates']).toMatchObject([{ metadata: { name: 'spock-events' } }]);
		const expected = { isNative: true, isAppOurs: false, claims: ['spock-events'] };
		expect(brokenRules(manifest?.spec.template as Pod, expected)).toEqual([]);
	});

	it.each(['CronJob', 'Rollout', 'Deployment'])('refuses a %s the claim that only a StatefulSet has', (only) => {
		const said = 'only a StatefulSet has volume claims for events';
		expect(() => renderKinds('--set', `spock.events=claim,only=${only}`)).toThrow(said);
	});

	it('leaves out a pod that wants none, and refuses an ordinary sidecar where it would never end', () => {
		expect(sidecarOf(podsOf('--set', 'label=none')['CronJob'] as Pod)).toBeUndefined();
		expect(() => renderKinds('--set', 'spock.native=false')).toThrow('would never end');
	});
});

describe('the chart with one Spock for each node', () => {
	const manifestsWith = (...args: string[]) => parsed(renderChart(chart('spock-node'), tools, args));

	it('is the overlay, but for the labels of Helm', () => {
		const own = manifestsWith();
		const overlay = parsed(render(join(k8s, 'overlays/node'), tools));
		expect(outsideOfPods(own)).toEqual(outsideOfPods(overlay));
		expect(sorted(podOf(own))).toEqual(sorted(podOf(overlay)));
		expect(brokenNodeRules(podOf(own))).toEqual([]);
		const labels = own.map(({ metadata }) => metadata.labels?.['app.kubernetes.io/managed-by']);
		expect(labels).toEqual(own.map(() => 'Helm'));
	});

	it('asks an agent with a token where its values say so', () => {
		const pod = podOf(manifestsWith('--set', 'consul.kind=agent,consul.tokenSecret=spock-consul-token'));
		const components = ['sidecar', 'consul-agent-on-node', 'consul-token', 'node'];
		expect(sorted(pod)).toEqual(sorted(kustomized('node', components)));
		expect(brokenNodeRules(pod)).toEqual([]);
	});

	it('has a PodMonitor for its own pods, or no policy for the network, where its values say so', () => {
		const kinds = manifestsWith('--set', 'podMonitor=true,networkPolicy=false').map(({ kind }) => kind);
		expect(kinds).toContain('PodMonitor');
		expect(kinds).not.toContain('NetworkPolicy');
	});
});

describe('Helm', () => {
	it('finds nothing to complain about in the charts', () => {
		const said = withCharts(join(k8s, 'charts'), tools, (helm) =>
			helm(['lint', '--strict', '--kube-version', KUBERNETES_VERSIONS[2], 'spock', 'spock-node', 'barista-app']),
		);
		expect(said).toContain('3 chart(s) linted, 0 chart(s) failed');
	});
});
