import { chmod, copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { findConsul, type RealConsul, startConsul, waitFor } from '@spock/testkit';

import { bundleApp } from '../bundle-app.ts';
import { writeImageArchive } from '../image-archive.ts';
import { type KubernetesTools, kubernetesTools } from '../kubernetes-tools.ts';
import type { LookupAppLine } from '../lookup-app-messages.ts';
import type { ContainerStatus, Pod } from '../pod.ts';
import type { AppPlace } from '../static-pod.ts';
import { type ContainerEvent, ContainerEvents } from './container-events.ts';
import { ContainerLogs } from './container-logs.ts';
import { Containerd, PAUSE_IMAGE } from './containerd.ts';
import { Kubelet } from './kubelet.ts';

const POD_SUBNET = '10.92.0.0/24';
const IMAGES = '/run/images';
const APP: AppPlace = { directory: '/run/lookup-app', file: 'lookup-app.mjs' };

type Environment = Readonly<Record<string, string | undefined>>;

/** An archive of an image, and the name that manifests have for it. */
export interface ImageArchive {
	readonly archive: string;
	readonly name: string;
}

/** Everything that has happened in one pod, as it comes in. */
export interface PodRecord {
	readonly containers: ContainerEvent[];
	readonly app: LookupAppLine[];
	/** What the sidecar has logged. */
	readonly sidecar: string[];
}

/**
 * The machine of tools/kubelet/machine.sh as a node: containerd, a kubelet, a Consul agent at the node's address. Disposing it ends
 * what leaves something outside; the rest ends with the machine.
 */
export class PodMachine implements AsyncDisposable {
	readonly kubelet: Kubelet;
	readonly consul: RealConsul;
	/** Where the app of the pods is. */
	readonly appPlace: AppPlace = APP;
	readonly #records = new Map<string, PodRecord>();
	readonly #logs: ContainerLogs;

	private constructor(kubelet: Kubelet, consul: RealConsul) {
		this.kubelet = kubelet;
		this.consul = consul;
		this.#logs = new ContainerLogs(({ pod, container, text }) => this.#note(pod, container, text));
	}

	/** Starts everything. Throws outside of such a machine: there it would change the real one. */
	static async start(env: Environment, images: readonly ImageArchive[]): Promise<PodMachine> {
		const { SPOCK_MACHINE_ADDRESS: address, SPOCK_MACHINE_CGROUP: cgroup } = env;
		if (!address || !cgroup) throw new Error('run this by `npm run suite kubelet`: it needs a machine of its own');
		const tools = kubernetesTools(env);
		await mkdir(APP.directory, { recursive: true });
		const [containerd, consul] = await Promise.all([
			Containerd.start(tools, POD_SUBNET),
			startConsul({ binary: findConsul(env), address, httpPort: 8500 }),
			bundleApp(join(APP.directory, APP.file)),
		]);
		for (const { archive, name } of [await pauseImage(tools), ...images]) await containerd.importImage(archive, name);
		const machine = new PodMachine(await Kubelet.start(tools, { address, cgroup }), consul);
		new ContainerEvents(tools, containerd, (event) => machine.record(event.pod).containers.push(event));
		return machine;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#logs[Symbol.dispose]();
		await this.consul[Symbol.asyncDispose]();
	}

	/** What has happened in a pod of this name. */
	record(pod: string): PodRecord {
		// The kubelet adds the machine's name to that of a pod that is a file.
		const name = pod.replace(/-spock-node$/, '');
		let record = this.#records.get(name);
		if (record === undefined) {
			record = { containers: [], app: [], sidecar: [] };
			this.#records.set(name, record);
		}
		return record;
	}

	/** A pod as the kubelet has it; undefined when it knows none of this name. */
	async pod(name: string): Promise<Pod | undefined> {
		return (await this.kubelet.pods()).find(({ metadata }) => metadata.name === `${name}-spock-node`);
	}

	/** Waits until the kubelet says of one of the pod's containers what is asked. */
	async containerStatus(
		name: string,
		container: string,
		what: string,
		holds: (status: ContainerStatus) => boolean,
	): Promise<void> {
		await waitFor(
			`${container} of ${name}: ${what}`,
			async () => {
				const { status } = (await this.pod(name)) ?? {};
				const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
				return all.some((one) => one.name === container && holds(one));
			},
			60_000,
		);
	}

	#note(pod: string, container: string, text: string): void {
		const record = this.record(pod);
		if (container === 'app' && text.startsWith('{')) record.app.push(JSON.parse(text) as LookupAppLine);
		else if (container === 'sidecar') record.sidecar.push(text);
	}
}

async function pauseImage(tools: KubernetesTools): Promise<ImageArchive> {
	const root = join(IMAGES, 'pause');
	await mkdir(root, { recursive: true });
	await copyFile(tools.program('pause'), join(root, 'pause'));
	await chmod(join(root, 'pause'), 0o755);
	const archive = join(IMAGES, 'pause.tar');
	await writeImageArchive(archive, { name: PAUSE_IMAGE, root, entrypoint: ['/pause'] });
	return { archive, name: PAUSE_IMAGE };
}
