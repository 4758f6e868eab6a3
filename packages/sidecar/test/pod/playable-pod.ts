import { readFileSync } from 'node:fs';

import { parse } from 'yaml';

/** Both users are in it: it owns the volume and the socket. */
export const POD_GROUP = 2000;

/** What a test gives each container in addition to the manifest. */
export interface PlayablePodOptions {
	/** Names the pod and the volume that it claims. */
	readonly name: string;
	readonly sidecarImage: string;
	readonly appImage: string;
	readonly sidecarEnv: Readonly<Record<string, string>>;
	readonly appEnv: Readonly<Record<string, string>>;
}

interface Container {
	readonly name: string;
	readonly env?: readonly { readonly name: string; readonly value?: string }[];
	readonly [member: string]: unknown;
}

/** What podman 4.3 does not play, or what the kubelet alone means by it. */
const NOT_PLAYED = ['restartPolicy', 'startupProbe', 'livenessProbe', 'readinessProbe', 'ports', 'resources'];

function playable(container: Container, image: string, env: Readonly<Record<string, string>>): object {
	const kept = Object.entries(container).filter(([member]) => !NOT_PLAYED.includes(member));
	// The kubelet's facts (status.podIP and so on) are given by the test.
	const own = (container.env ?? []).filter(({ name, value }) => value?.includes('$(') === false && !(name in env));
	const given = Object.entries(env).map(([name, value]) => ({ name, value }));
	return { ...Object.fromEntries(kept), image, imagePullPolicy: 'Never', env: [...own, ...given] };
}

/**
 * k8s/pod.yaml as podman plays it: two ordinary containers, as in a cluster without native sidecars, and in place of the
 * `emptyDir` a claim to a volume that is made before it: podman knows neither `medium: Memory` nor `fsGroup`.
 */
export function playablePod({ name, sidecarImage, appImage, sidecarEnv, appEnv }: PlayablePodOptions): string {
	const pod = parse(readFileSync(new URL('../../../../k8s/pod.yaml', import.meta.url), 'utf8'));
	const [sidecar] = pod.spec.initContainers;
	const [app] = pod.spec.containers;
	const [volume] = pod.spec.volumes;
	const { fsGroup, ...securityContext } = pod.spec.securityContext;
	const played = {
		apiVersion: 'v1',
		kind: 'Pod',
		metadata: { name },
		spec: {
			terminationGracePeriodSeconds: pod.spec.terminationGracePeriodSeconds,
			restartPolicy: 'Always',
			// The network of the test, which has loopback and nothing else.
			hostNetwork: true,
			securityContext: { ...securityContext, supplementalGroups: [fsGroup] },
			containers: [playable(sidecar, sidecarImage, sidecarEnv), playable(app, appImage, appEnv)],
			volumes: [{ name: volume.name, persistentVolumeClaim: { claimName: name } }],
		},
	};
	return JSON.stringify(played, null, 2);
}
