import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { waitFor } from '@spock/testkit';

import { type ContainerState, containerState, podEngine, podman } from './podman.ts';

/** A line that the example app prints. */
export interface AppLine {
	readonly at: number;
	readonly phase: 'running' | 'draining' | 'ended';
	readonly lookups: number;
	readonly failed: number;
	readonly stale: number;
	readonly questions: number;
	readonly questionsFailed: number;
	readonly errors: Readonly<Record<string, string>>;
	readonly lastLookupAt: number;
	readonly reconnects: number;
}

/** A pod under podman, made of a manifest. Disposing it removes it with its volume. */
export class PodmanPod implements AsyncDisposable {
	readonly #name: string;

	private constructor(name: string) {
		this.#name = name;
	}

	/** Plays the manifest; its pod and the volume that it claims are named `name`. The volume is a tmpfs of that group. */
	static async play(name: string, manifest: string, group: number): Promise<PodmanPod> {
		const pod = new PodmanPod(name);
		const file = join(podEngine().directory, `${name}.yaml`);
		await writeFile(file, manifest);
		try {
			await createSocketVolume(name, group);
			await podman(['kube', 'play', '--network', 'host', file]);
		} catch (error) {
			await pod[Symbol.asyncDispose]();
			throw error;
		}
		return pod;
	}

	/** Runs a JavaScript expression in a container, as its user, and gives what it prints. */
	async evaluate(container: string, script: string): Promise<string> {
		return await this.exec(container, ['node', '--eval', script]);
	}

	async exec(container: string, command: readonly string[]): Promise<string> {
		return (await podman(['exec', this.#of(container), ...command])).stdout.trim();
	}

	state(container: string): Promise<ContainerState> {
		return containerState(this.#of(container));
	}

	/** The lines that a container has logged, parsed; of all its lives. */
	async log<Line>(container: string): Promise<Line[]> {
		const { stdout } = await podman(['logs', this.#of(container)]);
		return stdout
			.split('\n')
			.filter((line) => line.startsWith('{'))
			.map((line) => JSON.parse(line) as Line);
	}

	/** The newest line of the app. */
	async appLine(): Promise<AppLine | undefined> {
		return (await this.log<AppLine>('app')).at(-1);
	}

	/** Ends a container as a crash does, and waits until podman has started it again. */
	async crash(container: string): Promise<void> {
		const { pid } = await this.state(container);
		process.kill(pid, 'SIGKILL');
		await waitFor(`another life of ${container}`, async () => {
			const next = await this.state(container);
			return next.running && next.pid !== pid;
		});
	}

	/** SIGTERM to all containers at once; SIGKILL to what is left after `graceSeconds`. */
	async stop(graceSeconds: number): Promise<void> {
		await podman(['pod', 'stop', '--time', String(graceSeconds), this.#name]);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await podman(['pod', 'rm', '--force', '--time', '0', '--ignore', this.#name]);
		await podman(['volume', 'rm', '--force', this.#name]);
	}

	#of(container: string): string {
		return `${this.#name}-${container}`;
	}
}

/**
 * A tmpfs for the socket, with the group that `fsGroup` gives it in a cluster. It is made before the pod: podman would give a
 * volume of a claim in the manifest to the user of its first container. 16 MiB in pages: `size` would be a quota of podman's
 * own, which wants another file system.
 */
export async function createSocketVolume(name: string, group: number): Promise<void> {
	const mount = ['type=tmpfs', 'device=tmpfs', `o=nr_blocks=4096,mode=2770,gid=${group}`];
	await podman(['volume', 'create', ...mount.flatMap((option) => ['--opt', option]), name]);
}
