import type { Pod } from './pod.ts';
import type { Manifest } from './static-pod.ts';

/** Kinds that make pods out of a template. */
const WORKLOADS = new Set(['Deployment', 'StatefulSet', 'DaemonSet', 'Job']);

/** The pods among the manifests, and those that the cluster would make of the workloads, one of each. */
export function podsOfWorkloads(manifests: readonly Manifest[]): readonly Pod[] {
	const pods = manifests.filter((manifest): manifest is Manifest & Pod => manifest.kind === 'Pod');
	const made = manifests
		.filter(({ kind }) => WORKLOADS.has(kind))
		.map(({ metadata: { name }, spec }): Pod => {
			const { template } = spec as { readonly template: Pick<Pod, 'spec'> & Partial<Pod> };
			return { apiVersion: 'v1', kind: 'Pod', metadata: { ...template.metadata, name }, spec: template.spec };
		});
	return [...pods, ...made];
}
