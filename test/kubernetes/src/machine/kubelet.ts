import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { type RunningProcess, spawnProcess, waitFor } from '@spock/testkit';
import { stringify } from 'yaml';

import type { KubernetesTools } from '../kubernetes-tools.ts';
import type { Pod } from '../pod.ts';
import { CONTAINERD_SOCKET } from './containerd.ts';

const CONFIG = '/run/kubelet.yaml';
const MANIFESTS = '/run/pods';
const PORT = 10255;

/** A kubelet that has no API server: its pods are files. Ends with the machine. */
export class Kubelet {
	readonly #process: RunningProcess;

	private constructor(tools: KubernetesTools, args: readonly string[]) {
		this.#process = spawnProcess(tools.program('kubelet'), args, { env: tools.env });
	}

	/** Starts it; resolves when it answers. */
	static async start(tools: KubernetesTools, { address, cgroup }: MachineSettings): Promise<Kubelet> {
		await mkdir(MANIFESTS, { recursive: true });
		await writeFile(CONFIG, stringify(kubeletConfig(cgroup)));
		const kubelet = new Kubelet(tools, [`--config=${CONFIG}`, `--node-ip=${address}`, '--v=2']);
		await waitFor('the kubelet', () => kubelet.#answers(), 60_000);
		return kubelet;
	}

	/** Has a pod run. */
	async place(pod: Pod): Promise<void> {
		const file = join(MANIFESTS, `${pod.metadata.name}.yaml`);
		// Whole or not at all: the kubelet reads what it sees. It passes over names that begin with a dot.
		const draft = join(MANIFESTS, `.${pod.metadata.name}`);
		await writeFile(draft, stringify(pod));
		await rename(draft, file);
	}

	/** Has it end, as `kubectl delete` does. */
	async remove(name: string): Promise<void> {
		await rm(join(MANIFESTS, `${name}.yaml`));
	}

	/** Has it do nothing meanwhile, and go on then. */
	async pausedDuring(work: () => Promise<unknown>): Promise<void> {
		this.#process.child.kill('SIGSTOP');
		try {
			await work();
		} finally {
			this.#process.child.kill('SIGCONT');
		}
	}

	/** Every pod that it knows, with its status. */
	async pods(): Promise<readonly Pod[]> {
		const response = await fetch(`http://127.0.0.1:${PORT}/pods`, { signal: AbortSignal.timeout(5000) });
		if (!response.ok) throw new Error(`the kubelet answers ${response.status}: ${await response.text()}`);
		return ((await response.json()) as { readonly items: readonly Pod[] | null }).items ?? [];
	}

	/** What it has printed: for the message of a test that fails. */
	log(): string {
		return this.#process.stderr();
	}

	async #answers(): Promise<boolean> {
		if (this.#process.child.exitCode !== null) throw new Error(`the kubelet has ended: ${this.log().slice(-4000)}`);
		try {
			await this.pods();
			return true;
		} catch {
			// It does not listen yet; the caller's bound ends the asking.
			return false;
		}
	}
}

/** Of tools/kubelet/machine.sh. */
export interface MachineSettings {
	readonly address: string;
	readonly cgroup: string;
}

// https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/
function kubeletConfig(cgroup: string): object {
	return {
		apiVersion: 'kubelet.config.k8s.io/v1beta1',
		kind: 'KubeletConfiguration',
		staticPodPath: MANIFESTS,
		containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
		address: '127.0.0.1',
		readOnlyPort: PORT,
		authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
		authorization: { mode: 'AlwaysAllow' },
		cgroupDriver: 'cgroupfs',
		cgroupRoot: cgroup,
		// The machine is no node that should defend itself: swap, little room and no iptables are all right.
		failSwapOn: false,
		enforceNodeAllocatable: [],
		evictionHard: { 'memory.available': '1Mi', 'nodefs.available': '1Mi', 'imagefs.available': '1Mi' },
		makeIPTablesUtilChains: false,
		resolvConf: '',
		podLogsDir: '/var/log/pods',
	};
}
