import { createInterface } from 'node:readline';

import { type RunningProcess, spawnProcess } from '@spock/testkit';

import type { KubernetesTools } from '../kubernetes-tools.ts';
import { type Containerd, KUBERNETES_NAMESPACE } from './containerd.ts';

/** A container's process has started or ended; `atMs` by the wall clock, as containerd saw it. */
export interface ContainerEvent {
	readonly atMs: number;
	readonly pod: string;
	readonly container: string;
	readonly kind: 'start' | 'exit';
	readonly pid: number;
	/** 128 and the signal for a process that a signal has ended. 0 for a start. */
	readonly exitCode: number;
}

interface Task {
	readonly container_id: string;
	/** Another one for a process that was started beside the container's own, as probes are. */
	readonly id?: string;
	readonly pid: number;
	readonly exit_status?: number;
}

interface ContainerInfo {
	readonly Labels?: Readonly<Record<string, string>>;
}

/** Watches the containers of all pods, but those that only hold a pod's namespaces. Ends with the machine. */
export class ContainerEvents {
	readonly #containerd: Containerd;
	readonly #process: RunningProcess;
	readonly #onEvent: (event: ContainerEvent) => void;
	readonly #names = new Map<string, Promise<{ readonly pod: string; readonly container: string } | undefined>>();

	constructor(tools: KubernetesTools, containerd: Containerd, onEvent: (event: ContainerEvent) => void) {
		this.#containerd = containerd;
		this.#onEvent = onEvent;
		this.#process = spawnProcess(tools.program('ctr'), [...KUBERNETES_NAMESPACE, 'events'], { env: tools.env });
		if (this.#process.child.stdout === null) throw new Error('the output of ctr is not there');
		createInterface({ input: this.#process.child.stdout }).on('line', (line) => void this.#read(line));
	}

	async #read(line: string): Promise<void> {
		const event = readEvent(line);
		if (event === undefined) return;
		// Asked at its start, when it is there for sure.
		const { container_id: id } = event.task;
		if (!this.#names.has(id)) this.#names.set(id, this.#nameOf(id));
		const names = await this.#names.get(id);
		if (names === undefined) return;
		const { atMs, kind, task } = event;
		this.#onEvent({ atMs, ...names, kind, pid: task.pid, exitCode: task.exit_status ?? 0 });
	}

	async #nameOf(id: string): Promise<{ readonly pod: string; readonly container: string } | undefined> {
		const { Labels: labels = {} } = JSON.parse(await this.#containerd.ctr('containers', 'info', id)) as ContainerInfo;
		const { 'io.kubernetes.pod.name': pod = '', 'io.kubernetes.container.name': container } = labels;
		return container === undefined ? undefined : { pod, container };
	}
}

/** A line of `ctr events`; undefined for what is neither the start nor the end of a container's own process. */
export function readEvent(
	line: string,
): { readonly atMs: number; readonly kind: 'start' | 'exit'; readonly task: Task } | undefined {
	const found = /^(\S+) (\S+?)(\.\d+)? \+0000 UTC \S+ \/tasks\/(start|exit) (\{.*\})$/.exec(line);
	if (found === null) return undefined;
	const [, date, time, fraction = '', kind, text = ''] = found;
	const task = JSON.parse(text) as Task;
	if (task.id !== undefined && task.id !== task.container_id) return undefined;
	const atMs = Date.parse(`${date}T${time}Z`) + Math.round(Number(`0${fraction || '.0'}`) * 1000);
	return { atMs, kind: kind as 'start' | 'exit', task };
}
