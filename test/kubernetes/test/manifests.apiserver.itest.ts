import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { waitFor } from '@spock/testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';

import { kubernetesTools } from '../src/kubernetes-tools.ts';
import { ApiServer } from '../src/machine/api-server.ts';
import { parseManifests, readRendered, renderedDirectory } from '../src/manifests.ts';
import type { Container, Pod } from '../src/pod.ts';
import type { Manifest } from '../src/static-pod.ts';
import { podsOfWorkloads } from '../src/workload-pods.ts';

const PLAIN = 'plain';
const INJECTED = 'injected';
const BASELINE = 'baseline';
const PRIVILEGED = 'privileged';
/** Whoever applies these is refused what is not allowed, and told of what is only tolerated. */
const RESTRICTED = {
	'pod-security.kubernetes.io/enforce': 'restricted',
	'pod-security.kubernetes.io/warn': 'restricted',
};
/** With a directory of the node, which no lower level than "privileged" lets in. */
const WITH_HOST_PATH = new Set(['node-socket', 'spock-on-node-socket']);
const DRY_RUN = ['--dry-run=server', '--validate=strict'];

const k8s = fileURLToPath(new URL('../../../k8s/', import.meta.url));
const directory = renderedDirectory(process.env);
const overlays = readdirSync(directory).map((name) => name.replace('.yaml', ''));
/** The app as its owner has it, with no sidecar and with no version of its image yet. */
const [ownPod] = podsOfWorkloads(parseManifests(readFileSync(join(k8s, 'base/deployment.yaml'), 'utf8')));
let server: ApiServer;

beforeAll(async () => {
	server = await ApiServer.start(process.env);
	const crds = join(kubernetesTools(process.env).directory, 'crds');
	await server.kubectlOk(['apply', '--server-side', '-f', crds]);
	await server.kubectlOk(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']);
	await makeNamespace(PLAIN, {});
	await makeNamespace(INJECTED, { 'spock-injection': 'enabled' });
	await makeNamespace(BASELINE, enforced(BASELINE));
	await makeNamespace(PRIVILEGED, enforced(PRIVILEGED));
});

describe.each(overlays)('the overlay or chart %s', (overlay) => {
	const manifests = readRendered(directory, overlay);
	const hasHostPath = WITH_HOST_PATH.has(overlay);
	const namespace = hasHostPath ? PRIVILEGED : PLAIN;

	it('is taken as it is, with no field unknown and no warning', async () => {
		const applied = await server.kubectlOk([
			'apply',
			'--server-side',
			...DRY_RUN,
			'-n',
			namespace,
			'-f',
			join(directory, `${overlay}.yaml`),
		]);
		expect(applied.trim().split('\n')).toHaveLength(manifests.length);
	});

	// `kubectl apply -k` has an older kustomize than the one that is called by that name.
	const path = [join(k8s, 'overlays', overlay), join(k8s, overlay)].find(existsSync);
	if (path !== undefined) {
		it('is the same as kubectl renders it', async () => {
			expect(parseManifests(await server.kubectlOk(['kustomize', path]))).toEqual(manifests);
		});
	}

	it(`makes pods that Pod Security "${hasHostPath ? PRIVILEGED : 'restricted'}" lets in`, async () => {
		await makeAccounts(manifests, namespace);
		for (const pod of podsOfWorkloads(manifests)) {
			const { metadata } = await create(pod, namespace, DRY_RUN);
			expect(metadata.name).toBe(pod.metadata.name);
		}
	});

	if (hasHostPath) {
		it('makes pods that Pod Security "baseline" refuses for their directory of the node, and for nothing else', async () => {
			await makeAccounts(manifests, BASELINE);
			for (const pod of podsOfWorkloads(manifests)) {
				await expect(create(pod, BASELINE, DRY_RUN)).rejects.toThrow(
					/violates PodSecurity "baseline:latest": hostPath volumes \(volume "uds"\)\s*$/,
				);
			}
		});
	}
});

describe('the API server of these tests', () => {
	it('refuses what is not restricted, a directory of the node even where only the baseline holds, and what no API knows', async () => {
		const root = { ...own(), spec: { ...own().spec, securityContext: { runAsUser: 0 } } };
		await expect(create(root, PLAIN, DRY_RUN)).rejects.toThrow('violates PodSecurity "restricted:latest"');
		const hostPath = {
			...own(),
			spec: { ...own().spec, volumes: [{ name: 'uds', hostPath: { path: '/run/spock' } }] },
		};
		await expect(create(hostPath, BASELINE, DRY_RUN)).rejects.toThrow(
			'violates PodSecurity "baseline:latest": hostPath',
		);
		const unknown = { ...own(), spec: { ...own().spec, sidecars: [] } };
		await expect(create(unknown, PLAIN, DRY_RUN)).rejects.toThrow('unknown field "spec.sidecars"');
	});
});

describe('the injector', () => {
	beforeAll(async () => {
		await server.kubectlOk(['apply', '--server-side', '--validate=strict', '-f', join(directory, 'injector.yaml')]);
		await waitFor('the policy to be in force', async () => hasSidecar(await create(own(), INJECTED, DRY_RUN)), 60_000);
	});

	it('makes of a plain app what the overlay for an agent on the node makes of it', async () => {
		const injected = await create(own('injected-app'), INJECTED);
		expect(hasSidecar(injected)).toBe(true);
		const [rendered] = podsOfWorkloads(readRendered(directory, 'consul-agent-on-node'));
		expect(rendered).toBeDefined();
		const expected = await create(rendered ?? own(), PLAIN, DRY_RUN);
		expect(withoutVersion(injected.spec.containers)).toEqual(withoutVersion(expected.spec.containers));
		expect({ ...injected.spec, containers: [] }).toEqual({ ...expected.spec, containers: [] });
		expect(injected.metadata.labels).toEqual(expected.metadata.labels);
	});

	it('leaves alone a pod of another namespace', async () => {
		expect(hasSidecar(await create(own('other-app'), PLAIN))).toBe(false);
	});

	it('leaves alone a pod that wants none', async () => {
		const pod = own('unwilling-app');
		const labels = { ...pod.metadata.labels, 'spock-sidecar': 'none' };
		const created = await create({ ...pod, metadata: { ...pod.metadata, labels } }, INJECTED);
		expect(created.spec).toMatchObject({ containers: [{ name: 'app' }] });
		expect(hasSidecar(created)).toBe(false);
	});

	it('gives no second sidecar to a pod that has one', async () => {
		const [rendered] = podsOfWorkloads(readRendered(directory, 'consul-agent-on-node'));
		const created = await create(rendered ?? own(), INJECTED, DRY_RUN);
		expect(created.spec.initContainers?.map(({ name }) => name)).toEqual(['sidecar']);
	});

	it('keeps what the pod has of its own: init containers, volumes, a group', async () => {
		const pod = own('rich-app');
		const [app] = pod.spec.containers;
		if (app === undefined) throw new Error('the app has no container');
		const rich = {
			...pod,
			spec: {
				...pod.spec,
				securityContext: { ...(pod.spec['securityContext'] as object), fsGroup: 3000 },
				initContainers: [{ ...app, name: 'migrate' }],
				containers: [
					{ ...app, volumeMounts: [{ name: 'data', mountPath: '/data' }] },
					{ ...app, name: 'log-shipper' },
				],
				volumes: [{ name: 'data', emptyDir: {} }],
			},
		};
		const { spec } = await create(rich, INJECTED);
		// Before the others, which may look services up too.
		expect(spec.initContainers?.map(({ name }) => name)).toEqual(['sidecar', 'migrate']);
		expect(spec['securityContext']).toMatchObject({ fsGroup: 3000, runAsNonRoot: true });
		expect(spec.volumes?.map(({ name }) => name).toSorted()).toEqual(['data', 'uds']);
		for (const { volumeMounts } of spec.containers) {
			expect(volumeMounts).toContainEqual({ name: 'uds', mountPath: '/uds', readOnly: true });
		}
		expect(spec.containers[0]?.volumeMounts).toContainEqual({ name: 'data', mountPath: '/data' });
	});
});

/** Of a namespace where this level is enforced, and warned of. */
function enforced(level: string): Readonly<Record<string, string>> {
	return { 'pod-security.kubernetes.io/enforce': level, 'pod-security.kubernetes.io/warn': level };
}

/** A pod is refused whose account is not there, and what is only tried makes none. */
async function makeAccounts(manifests: readonly Manifest[], namespace: string): Promise<void> {
	const accounts = manifests.filter(({ kind }) => kind === 'ServiceAccount');
	// Overlay and chart of one thing have the same.
	const apply = ['apply', '--server-side', '--force-conflicts', '-n', namespace, '-f', '-'];
	for (const account of accounts) await server.kubectlOk(apply, stringify(account));
}

async function makeNamespace(name: string, labels: Readonly<Record<string, string>>): Promise<void> {
	const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { ...RESTRICTED, ...labels } } };
	// A controller makes this one in a cluster.
	const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: name } };
	for (const one of [namespace, account]) await server.kubectlOk(['apply', '-f', '-'], stringify(one));
}

function own(name = 'own-app'): Pod {
	if (ownPod === undefined) throw new Error('k8s/base/deployment.yaml has no workload');
	return { ...ownPod, metadata: { ...ownPod.metadata, name } };
}

async function create(pod: Pod, namespace: string, options: readonly string[] = ['--validate=strict']): Promise<Pod> {
	const args = ['create', ...options, '-n', namespace, '-o', 'json', '-f', '-'];
	return JSON.parse(await server.kubectlOk(args, stringify(pod))) as Pod;
}

/** Without what an overlay says of the app's own image. */
function withoutVersion(containers: readonly Container[]): readonly object[] {
	return containers.map(({ image, imagePullPolicy, ...others }) => ({ ...others, image: image.split(':')[0] }));
}

function hasSidecar({ spec }: Pod): boolean {
	return [...(spec.initContainers ?? []), ...spec.containers].some(({ name }) => name === 'sidecar');
}
