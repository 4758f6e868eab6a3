import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { ensureInjector, ensureManifestTools, runTool } from './manifest-tools.js';
import { type Pod, sidecarOf } from './pod.ts';
import { brokenRules } from './pod-rules.ts';
import { KUBERNETES_VERSIONS } from './render-manifests.js';

ensureManifestTools(KUBERNETES_VERSIONS);
const { injector, openApi } = ensureInjector(KUBERNETES_VERSIONS[2]);
const policy = fileURLToPath(new URL('../../k8s/injector/policy.yaml', import.meta.url));
const whole = parse(readFileSync(new URL('../../k8s/pod.yaml', import.meta.url), 'utf8')) as Pod;

interface Answer {
	readonly matches: boolean;
	readonly pod?: Pod;
	readonly error?: string;
}

/** What an API server makes of the pod by the policy. */
function admit(pod: object): Answer {
	const [answer] = JSON.parse(runTool(injector, [policy, openApi], { input: JSON.stringify([pod]) })) as Answer[];
	if (answer === undefined || answer.error !== undefined) throw new Error(answer?.error ?? 'no answer');
	return answer;
}

const own = { name: 'app', image: 'app:1.0.0' };

describe('the injector', () => {
	it('makes of the app alone the pod that the overlay has', () => {
		const [app] = whole.spec.containers;
		const securityContext = { ...whole.spec.securityContext, fsGroup: undefined };
		const containers = [{ ...app, volumeMounts: undefined }];
		const without = { initContainers: undefined, volumes: undefined };
		const alone = { ...whole, spec: { ...whole.spec, ...without, securityContext, containers } };

		const { pod } = admit(alone);
		expect(pod?.spec).toEqual(whole.spec);
		expect(pod && brokenRules(pod, { isNative: true, isAppOurs: true })).toEqual([]);
		expect(pod?.metadata.labels).toEqual(whole.metadata.labels);
	});

	it('adds to a pod that says little', () => {
		const { pod } = admit({ metadata: { name: 'a' }, spec: { containers: [own] } });
		expect(pod && brokenRules(pod, { isNative: true, isAppOurs: false })).toEqual([]);
		expect(pod?.metadata.labels).toEqual({ 'spock-sidecar': 'present' });
	});

	it('leaves what a pod has: containers, volumes, mounts, labels, and the group of its volumes', () => {
		const spec = {
			securityContext: { fsGroup: 7, runAsUser: 5 },
			volumes: [{ name: 'data', emptyDir: {} }],
			initContainers: [{ name: 'migrate', image: 'app:1.0.0' }],
			containers: [
				{ ...own, volumeMounts: [{ name: 'data', mountPath: '/data' }] },
				{ name: 'other', image: 'b:1' },
			],
		};
		const { pod } = admit({ metadata: { name: 'b', labels: { app: 'b' } }, spec });
		expect(pod?.spec.securityContext).toEqual({ fsGroup: 7, runAsUser: 5 });
		expect(pod?.spec.volumes?.map(({ name }) => name)).toEqual(['data', 'uds']);
		expect(pod?.spec.initContainers?.map(({ name }) => name)).toEqual(['sidecar', 'migrate']);
		const uds = { name: 'uds', mountPath: '/uds', readOnly: true };
		expect(pod?.spec.containers.map(({ volumeMounts }) => volumeMounts)).toEqual([
			[{ name: 'data', mountPath: '/data' }, uds],
			[uds],
		]);
		expect(pod?.metadata.labels).toEqual({ app: 'b', 'spock-sidecar': 'present' });
	});

	it.each(['containers', 'initContainers'])('leaves a pod alone that has a sidecar among its %s', (place) => {
		const spec = { containers: [own], [place]: [own, { name: 'sidecar', image: 'mine:1.0.0' }] };
		expect(admit({ metadata: { name: 'c' }, spec })).toEqual({ matches: false });
	});

	it('puts one sidecar into a pod that it is asked about twice', () => {
		const { pod } = admit({ metadata: { name: 'd' }, spec: { containers: [own] } });
		expect(pod && sidecarOf(pod)).toBeDefined();
		expect(admit(pod as Pod)).toEqual({ matches: false });
	});
});
