import type { Pod } from './pod.ts';
import type { Manifest } from './static-pod.ts';

/** Kinds that make pods out of a template. */
const WORKLOADS = new Set(['Deployment', 'StatefulSet', 'DaemonSet', 'Job']);

/** The pods that the cluster would make of the workloads among the manifests, one of each. */
export function podsOfWorkloads(manifests: readonly Manifest[]): readonly Pod[] {
	return manifests
		.filter(({ kind }) => WORKLOADS.has(kind))
		.map(({ metadata: { name }, spec }) => {
			const { template } = spec as { readonly template: Pick<Pod, 'spec'> & Partial<Pod> };
			return { apiVersion: 'v1', kind: 'Pod', metadata: { ...template.metadata, name }, spec: template.spec };
		});
}
