import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { type RunningProcess, spawnProcess, waitFor } from '@spock/testkit';

import type { KubernetesTools } from '../kubernetes-tools.ts';

const run = promisify(execFile);

/** Where containerd listens. */
export const CONTAINERD_SOCKET: string = '/run/containerd/containerd.sock';
/** The image that holds a pod's namespaces. */
export const PAUSE_IMAGE: string = 'spock.test/pause:1';
const CONFIG = '/run/containerd.toml';
const CNI_CONFIG = '/run/cni';
/** The namespace of containerd in which Kubernetes has its containers. */
export const KUBERNETES_NAMESPACE: readonly string[] = ['--address', CONTAINERD_SOCKET, '--namespace', 'k8s.io'];

/** The container runtime of the machine. Ends with the machine. */
export class Containerd {
	readonly #tools: KubernetesTools;
	readonly #process: RunningProcess;

	private constructor(tools: KubernetesTools) {
		this.#tools = tools;
		this.#process = spawnProcess(tools.program('containerd'), ['--config', CONFIG], { env: tools.env });
	}

	/** Starts it, with a network for pods on the subnet, such as `10.92.0.0/24`; resolves when it answers. */
	static async start(tools: KubernetesTools, subnet: string): Promise<Containerd> {
		await mkdir(CNI_CONFIG, { recursive: true });
		await writeFile(CONFIG, containerdConfig(tools.directory));
		await writeFile(join(CNI_CONFIG, '10-pods.conflist'), JSON.stringify(podNetwork(subnet)));
		const containerd = new Containerd(tools);
		await waitFor('containerd', () => containerd.#answers());
		return containerd;
	}

	/** Runs `ctr` among the containers of Kubernetes, and gives what it prints. */
	async ctr(...args: string[]): Promise<string> {
		const options = { env: { ...process.env, ...this.#tools.env }, maxBuffer: 2 ** 24 };
		const { stdout } = await run(this.#tools.program('ctr'), [...KUBERNETES_NAMESPACE, ...args], options);
		return stdout;
	}

	/** Imports the only image of an archive, under the name that manifests have for it. */
	async importImage(archive: string, name: string): Promise<void> {
		const before = await this.#images();
		await this.ctr('images', 'import', archive);
		const full = fullName(name);
		const after = await this.#images();
		if (after.includes(full)) return;
		const imported = after.find((image) => !before.includes(image));
		if (imported === undefined) throw new Error(`${archive} has no image: ${after.join(' ')}`);
		await this.ctr('images', 'tag', imported, full);
	}

	/** What it has printed: for the message of a test that fails. */
	lastWords(): string {
		return this.#process.stderr().slice(-4000);
	}

	async #images(): Promise<string[]> {
		return (await this.ctr('images', 'list', '--quiet')).split('\n').filter((name) => !name.startsWith('sha256:'));
	}

	async #answers(): Promise<boolean> {
		if (this.#process.child.exitCode !== null) throw new Error(`containerd has ended: ${this.lastWords()}`);
		try {
			await this.ctr('version');
			return true;
		} catch {
			// It does not listen yet; the caller's bound ends the asking.
			return false;
		}
	}
}

/** As the runtime has it: with registry and tag. */
function fullName(name: string): string {
	const [first = '', ...rest] = name.split('/');
	if (rest.length === 0) return `docker.io/library/${name}`;
	return /[.:]|^localhost$/.test(first) ? name : `docker.io/${name}`;
}

// https://github.com/containerd/containerd/blob/release/1.6/docs/cri/config.md
function containerdConfig(tools: string): string {
	return `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "${CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  # The machine may not be allowed to protect a process from the kernel more than it is itself.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${tools}/cni"
    conf_dir = "${CNI_CONFIG}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "${tools}/bin/runc"
`;
}

/** A switch inside the machine. It needs no iptables: pods talk to the machine, and to nobody outside. */
function podNetwork(subnet: string): object {
	const ipam = {
		type: 'host-local',
		ranges: [[{ subnet }]],
		routes: [{ dst: '0.0.0.0/0' }],
		dataDir: '/run/cni-leases',
	};
	const bridge = { type: 'bridge', bridge: 'pods', isGateway: true, ipMasq: false, ipam };
	return { cniVersion: '0.4.0', name: 'pods', plugins: [bridge] };
}
