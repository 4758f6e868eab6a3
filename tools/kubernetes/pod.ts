// The part of Kubernetes' API that the rules of the manifests speak about.
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/

export interface SecurityContext {
	readonly runAsNonRoot?: boolean;
	readonly runAsUser?: number;
	readonly runAsGroup?: number;
	readonly readOnlyRootFilesystem?: boolean;
	readonly allowPrivilegeEscalation?: boolean;
	readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
	readonly seccompProfile?: { readonly type: string };
	readonly fsGroup?: number;
}

export interface Probe {
	readonly exec?: { readonly command: readonly string[] };
	readonly httpGet?: { readonly path: string; readonly port: string | number };
}

export interface EnvironmentVariable {
	readonly name: string;
	readonly value?: string;
	readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
}

export interface VolumeMount {
	readonly name: string;
	readonly mountPath: string;
	readonly readOnly?: boolean;
}

export interface Container {
	readonly name: string;
	readonly image: string;
	readonly restartPolicy?: string;
	readonly command?: readonly string[];
	readonly env?: readonly EnvironmentVariable[];
	readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
	readonly startupProbe?: Probe;
	readonly livenessProbe?: Probe;
	readonly readinessProbe?: Probe;
	readonly lifecycle?: { readonly preStop?: { readonly sleep?: { readonly seconds: number } } };
	readonly securityContext?: SecurityContext;
	readonly resources?: {
		readonly requests?: Readonly<Record<string, string>>;
		readonly limits?: Readonly<Record<string, string>>;
	};
	readonly volumeMounts?: readonly VolumeMount[];
}

export interface Volume {
	readonly name: string;
	readonly emptyDir?: { readonly medium?: string; readonly sizeLimit?: string };
	readonly hostPath?: { readonly path: string; readonly type?: string };
	readonly secret?: { readonly secretName: string; readonly defaultMode?: number };
	readonly projected?: { readonly sources: readonly { readonly serviceAccountToken?: object }[] };
}

export interface PodSpec {
	readonly initContainers?: readonly Container[];
	readonly containers: readonly Container[];
	readonly volumes?: readonly Volume[];
	readonly securityContext?: SecurityContext;
	readonly automountServiceAccountToken?: boolean;
	readonly terminationGracePeriodSeconds?: number;
}

export interface Pod {
	readonly metadata: { readonly name?: string; readonly labels?: Readonly<Record<string, string>> };
	readonly spec: PodSpec;
}

/** What is in the manifests that kustomize renders: some have a pod in them. */
export interface Manifest {
	readonly apiVersion: string;
	readonly kind: string;
	readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
	readonly spec: PodSpec & {
		readonly template?: Pod;
		/** Of a CronJob. */
		readonly jobTemplate?: { readonly spec: { readonly template: Pod } };
	} & Readonly<Record<string, unknown>>;
}

/** The pod that a workload makes; undefined for what makes none. */
export function templateOf({ spec }: Manifest): Pod | undefined {
	return spec?.jobTemplate?.spec.template ?? spec?.template;
}

/** The sidecar of a pod, wherever it stands in it; undefined if there is none. */
export function sidecarOf({ spec }: Pod): Container | undefined {
	return [...(spec.initContainers ?? []), ...spec.containers].find(({ name }) => name === 'sidecar');
}

/** The app: the first container that is not the sidecar. */
export function appOf({ spec }: Pod): Container | undefined {
	return spec.containers.find(({ name }) => name !== 'sidecar');
}

/** The value of a container's variable; undefined if it has none, or one that only the cluster knows. */
export function variable(container: Container, name: string): string | undefined {
	return container.env?.find((one) => one.name === name)?.value;
}

const UNITS: Readonly<Record<string, number>> = { '': 1, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };

/** A quantity of memory such as `16Mi`, in bytes; NaN if it is none. */
export function bytesOf(quantity: string | undefined): number {
	const [, number, unit] = /^(\d+)(Ki|Mi|Gi|)$/.exec(quantity ?? '') ?? [];
	return Number(number) * (UNITS[unit ?? ''] ?? Number.NaN);
}
