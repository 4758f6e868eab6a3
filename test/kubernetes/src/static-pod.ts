import type { LookupAppSettings } from './lookup-app-messages.ts';
import type { Container, Pod, PodSpec } from './pod.ts';

/** A document of rendered manifests. */
export interface Manifest {
	readonly kind: string;
	readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
	readonly spec?: unknown;
}

/** Where the bundled app is: on the machine, and in the containers. */
export interface AppPlace {
	readonly directory: string;
	readonly file: string;
}

/** What a test wants otherwise than the manifest has it. */
export interface StaticPodOptions {
	readonly name: string;
	readonly app: LookupAppSettings;
	readonly appPlace: AppPlace;
	/** As a Job has its pods: an app that has ended with 0 is done. */
	readonly isJob?: boolean;
	/** Default: that of the manifest. */
	readonly gracePeriodSeconds?: number;
	/** Goes in the place of what the sidecar's container has; its `env` comes in addition. Default: as in the manifest. */
	readonly sidecar?: Partial<Container>;
}

const APP_MOUNT = '/lookup-app';

/** The template of the one workload among the manifests. Throws an Error when there is none, or more than one. */
export function workloadTemplate(manifests: readonly Manifest[]): Pick<Pod, 'spec'> & Partial<Pod> {
	const workloads = manifests.filter(({ kind }) => kind === 'Deployment');
	const [workload] = workloads;
	if (workload === undefined || workloads.length > 1) throw new Error(`${workloads.length} workloads, expected one`);
	return (workload.spec as { readonly template: Pick<Pod, 'spec'> }).template;
}

/**
 * A pod that the kubelet takes from a file, out of the template of a workload: all containers, probes, volumes and security
 * settings are those of the manifest. Only the app's own program is replaced, by one that counts.
 */
export function staticPod(template: Pick<Pod, 'spec'> & Partial<Pod>, options: StaticPodOptions): Pod {
	const { name, app, appPlace, isJob = false, gracePeriodSeconds, sidecar } = options;
	const { spec, metadata } = template;
	const [own, ...others] = spec.containers.toSorted(
		(one, two) => Number(two.name === 'app') - Number(one.name === 'app'),
	);
	if (own?.name !== 'app') throw new Error('the template has no container `app`');
	const changed: PodSpec = {
		...spec,
		containers: [lookupApp(own, app, appPlace), ...others],
		volumes: [
			...(spec.volumes ?? []),
			{ name: 'lookup-app', hostPath: { path: appPlace.directory, type: 'Directory' } },
		],
		...(isJob && { restartPolicy: 'Never' }),
		...(gracePeriodSeconds !== undefined && { terminationGracePeriodSeconds: gracePeriodSeconds }),
		...(sidecar !== undefined && { initContainers: withSidecar(spec.initContainers ?? [], sidecar) }),
	};
	return {
		apiVersion: 'v1',
		kind: 'Pod',
		metadata: { name, namespace: 'default', labels: metadata?.labels ?? {} },
		spec: changed,
	};
}

/** Throws an Error where there is no native sidecar: a test must not pass without what it asks for. */
function withSidecar(containers: readonly Container[], sidecar: Partial<Container>): readonly Container[] {
	if (!containers.some(({ name }) => name === 'sidecar')) throw new Error('the template has no native sidecar');
	return containers.map((one) =>
		one.name === 'sidecar' ? { ...one, ...sidecar, env: [...(one.env ?? []), ...(sidecar.env ?? [])] } : one,
	);
}

function lookupApp(container: Container, app: LookupAppSettings, { file }: AppPlace): Container {
	return {
		...container,
		command: ['node', `${APP_MOUNT}/${file}`],
		args: [],
		env: [
			...(container.env ?? []),
			{ name: 'LOOKUP_APP', value: JSON.stringify(app) },
			{ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
		],
		volumeMounts: [...(container.volumeMounts ?? []), { name: 'lookup-app', mountPath: APP_MOUNT, readOnly: true }],
	};
}
