/** As much of a pod as the tests look at; the rest is passed on as it is. */
export interface Pod {
	readonly apiVersion: 'v1';
	readonly kind: 'Pod';
	readonly metadata: {
		readonly name: string;
		readonly namespace?: string;
		readonly labels?: Readonly<Record<string, string>>;
		readonly uid?: string;
	};
	readonly spec: PodSpec;
	readonly status?: PodStatus;
}

export interface PodSpec {
	readonly containers: readonly Container[];
	readonly initContainers?: readonly Container[];
	readonly volumes?: readonly Volume[];
	readonly restartPolicy?: string;
	readonly terminationGracePeriodSeconds?: number;
	readonly [member: string]: unknown;
}

export interface Container {
	readonly name: string;
	readonly image: string;
	readonly command?: readonly string[];
	readonly args?: readonly string[];
	readonly env?: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: object }[];
	readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
	readonly restartPolicy?: string;
	readonly [member: string]: unknown;
}

export interface Volume {
	readonly name: string;
	readonly [kind: string]: unknown;
}

export interface PodStatus {
	readonly podIP?: string;
	readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
	readonly conditions?: readonly { readonly type: string; readonly status: 'True' | 'False' | 'Unknown' }[];
	readonly initContainerStatuses?: readonly ContainerStatus[];
	readonly containerStatuses?: readonly ContainerStatus[];
}

export interface ContainerStatus {
	readonly name: string;
	/** Its startup probe has passed. */
	readonly started?: boolean;
	readonly ready: boolean;
	readonly restartCount: number;
	readonly state: {
		readonly waiting?: { readonly reason: string; readonly message?: string };
		readonly running?: { readonly startedAt: string };
		readonly terminated?: { readonly exitCode: number; readonly reason: string };
	};
}

/** Whether it is sent work: all its containers are ready, native sidecars among them. */
export function isReady({ status }: Pod): boolean {
	return status?.conditions?.some(({ type, status: holds }) => type === 'Ready' && holds === 'True') ?? false;
}
