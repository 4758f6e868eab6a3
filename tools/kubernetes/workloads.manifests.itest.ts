import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';

import { ensureManifestTools } from './manifest-tools.js';
import { appOf, type Manifest, type Pod, sidecarOf, templateOf, variable } from './pod.ts';
import { brokenRules } from './pod-rules.ts';
import { KUBERNETES_VERSIONS, problemsOf, render } from './render-manifests.js';

const tools = ensureManifestTools(KUBERNETES_VERSIONS);
const scratch = mkdtempSync(join(tmpdir(), 'spock-workloads-'));
const fixture = fileURLToPath(new URL('fixtures/workloads', import.meta.url));
const k8s = fileURLToPath(new URL('../../k8s', import.meta.url));
const text = render(fixture, tools);
const manifests = parseAllDocuments(text).map((document) => document.toJS() as Manifest);

function podOf(name: string): Pod {
	const manifest = manifests.find(({ metadata }) => metadata.name === name);
	return (manifest && templateOf(manifest)) as Pod;
}

/** A workload of that kind, with components. */
function renderWith(
	components: readonly string[],
	{ apiVersion, kind, labels = {} }: { apiVersion: string; kind: string; labels?: object },
	renderer = tools,
): string {
	const pod = { spec: { containers: [{ name: 'app', image: 'app' }] } };
	const spec = kind === 'Pod' ? pod.spec : { template: pod, jobTemplate: { spec: { template: pod } } };
	const place = mkdtempSync(join(scratch, 'kind-'));
	writeFileSync(join(place, 'workload.yaml'), stringify({ apiVersion, kind, metadata: { name: 'any', labels }, spec }));
	const to = components.map((name) => relative(place, join(k8s, 'components', name)));
	writeFileSync(join(place, 'kustomization.yaml'), stringify({ resources: ['workload.yaml'], components: to }));
	return render(place, renderer);
}

afterAll(() => {
	rmSync(scratch, { recursive: true, force: true });
});

describe('the components, over workloads of somebody else', () => {
	it('give what the API accepts', () => {
		const file = join(scratch, 'workloads.yaml');
		writeFileSync(file, text);
		expect(problemsOf(file, KUBERNETES_VERSIONS[2], tools)).toEqual([]);
	});

	it('do the same with the kustomize in old versions of kubectl', () => {
		expect(render(fixture, { ...tools, kustomize: tools.kustomizeOldest })).toBe(text);
	});

	it.each(['ledger', 'report', 'nightly', 'agent', 'old'])('give %s a sidecar that keeps the rules', (name) => {
		const claims = name === 'ledger' ? ['spock-events'] : [];
		expect(brokenRules(podOf(name), { isNative: true, isAppOurs: false, claims })).toEqual([]);
	});

	it('give the pod of a CronJob what they give that of a Job', () => {
		const { metadata, spec } = podOf('nightly');
		const job = podOf('report');
		expect(spec.initContainers).toEqual(job.spec.initContainers);
		expect(spec.volumes).toEqual(job.spec.volumes);
		expect(metadata).toEqual(job.metadata);
		expect(spec.containers[0]?.volumeMounts).toEqual(job.spec.containers[0]?.volumeMounts);
	});

	it('put the sidecar before the init containers that are there, which may look services up already', () => {
		expect(podOf('ledger').spec.initContainers?.map(({ name }) => name)).toEqual(['sidecar', 'migrate']);
	});

	it('leave what the workload says of itself as it is', () => {
		const { spec } = podOf('ledger');
		expect(spec.terminationGracePeriodSeconds).toBe(120);
		expect(spec.volumes).toContainEqual({ name: 'data', emptyDir: {} });
		expect(appOf(podOf('ledger'))).toEqual({
			name: 'ledger',
			image: 'ledger:1.0.0',
			env: [{ name: 'DATA', value: '/data' }],
			volumeMounts: [
				{ name: 'data', mountPath: '/data' },
				{ name: 'uds', mountPath: '/uds', readOnly: true },
			],
		});
		expect(spec.containers[1]).toEqual({ name: 'log-shipper', image: 'log-shipper:1.0.0' });
	});

	it('leave out who says `spock-sidecar: none`', () => {
		expect(podOf('cache')).toEqual({
			metadata: { labels: { app: 'cache' } },
			spec: { containers: [{ name: 'cache', image: 'cache:1.0.0' }] },
		});
		expect(sidecarOf(podOf('cache'))).toBeUndefined();
		expect(sidecarOf(podOf('sweeper'))).toBeUndefined();
	});

	it('let image and settings be changed from outside', () => {
		const sidecar = sidecarOf(podOf('ledger'));
		expect(sidecar?.image).toBe('registry.example/spock-sidecar:9.9.9');
		expect(sidecar && variable(sidecar, 'SPOCK_LOG_LEVEL')).toBe('debug');
		expect(sidecar && variable(sidecar, 'CONSUL_TLS_SERVER_NAME')).toBe('server.dc2.consul');
	});

	it.each(['ledger', 'report'])('give the events of %s a volume with room for more than the log', (name) => {
		const { spec } = podOf(name);
		const sidecar = sidecarOf(podOf(name));
		const mount = sidecar?.volumeMounts?.find((one) => one.name === 'spock-events');
		expect(sidecar && variable(sidecar, 'SPOCK_EVENTS')).toBe(`${mount?.mountPath}/log`);
		const bytesMax = Number(sidecar && variable(sidecar, 'SPOCK_EVENTS_BYTES_MAX'));
		const volume = spec.volumes?.find((one) => one.name === 'spock-events');
		const claims = manifests.find(({ metadata }) => metadata.name === name)?.spec['volumeClaimTemplates'];
		if (name === 'report') {
			expect(volume?.emptyDir?.sizeLimit).toBe('384Mi');
			expect(bytesMax).toBeLessThan(384 * 1024 ** 2);
		} else {
			expect(volume).toBeUndefined();
			expect(claims).toMatchObject([{ metadata: { name: 'spock-events' } }]);
			expect(bytesMax).toBeLessThan(1024 ** 3);
		}
	});

	it('speak gRPC at a socket in the volume that the app has', () => {
		const sidecar = sidecarOf(podOf('ledger'));
		expect(sidecar && variable(sidecar, 'SPOCK_GRPC')).toBe('unix:/uds/grpc.sock');
	});

	it.each([
		['v1', 'Pod'],
		['v1', 'ReplicationController'],
		['argoproj.io/v1alpha1', 'Rollout'],
		['serving.knative.dev/v1', 'Service'],
		['apps.kruise.io/v1alpha1', 'StatefulSet'],
	])('refuse what they cannot give one: %s %s', (apiVersion, kind) => {
		const said = 'kustomize cannot add the sidecar to this kind; use Helm or the injector';
		expect(() => renderWith(['sidecar'], { apiVersion, kind })).toThrow(said);
		const old = { ...tools, kustomize: tools.kustomizeOldest };
		expect(() => renderWith(['sidecar'], { apiVersion, kind }, old)).toThrow(said);
		const labels = { 'spock-sidecar': 'none' };
		expect(renderWith(['sidecar'], { apiVersion, kind, labels })).not.toContain('fsGroup');
	});

	it.each(['Job', 'CronJob'])('refuse an ordinary sidecar in a %s, which would never end', (kind) => {
		const components = ['sidecar', 'without-native-sidecars'];
		expect(() => renderWith(components, { apiVersion: 'batch/v1', kind })).toThrow('this would never end');
	});

	it('say how annotations are scraped', () => {
		expect(podOf('report').metadata).toMatchObject({
			annotations: { 'prometheus.io/port': '9464', 'prometheus.io/path': '/metrics' },
		});
	});
});
