import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { type ProcessResult, spawnProcess, waitFor } from '@spock/testkit';

/** A container as podman knows it. */
export interface ContainerState {
	readonly running: boolean;
	/** On this machine; 0 when it does not run. */
	readonly pid: number;
	readonly exitCode: number;
	/** In milliseconds since 1970. */
	readonly startedAt: number;
	readonly finishedAt: number;
}

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

/** The engine that tools/test-pod.js has made: `podman` with its places, and the environment that it needs. */
function engineFromEnvironment(): { args: string[]; env: Record<string, string>; directory: string } {
	const { SPOCK_POD_ENGINE } = process.env;
	if (SPOCK_POD_ENGINE === undefined) throw new Error('run `pnpm test:pod`: it makes the images and the network');
	return JSON.parse(SPOCK_POD_ENGINE);
}

/** A pod under podman, made of a manifest. Disposing it removes it with its volume. */
export class PodmanPod implements AsyncDisposable {
	readonly #name: string;
	readonly #engine: ReturnType<typeof engineFromEnvironment> = engineFromEnvironment();

	private constructor(name: string) {
		this.#name = name;
	}

	/** Plays the manifest; its pod and the volume that it claims are named `name`. The volume is a tmpfs of that group. */
	static async play(name: string, manifest: string, group: number): Promise<PodmanPod> {
		const pod = new PodmanPod(name);
		const file = join(pod.#engine.directory, `${name}.yaml`);
		await writeFile(file, manifest);
		try {
			// Named here, the group stays: podman gives a volume of a claim in the manifest to the user of its first container.
			// 16 MiB in pages: `size` would be a quota of podman's own, which wants another file system.
			const mount = ['type=tmpfs', 'device=tmpfs', `o=nr_blocks=4096,mode=2770,gid=${group}`];
			await pod.#podman(['volume', 'create', ...mount.flatMap((option) => ['--opt', option]), name]);
			await pod.#podman(['kube', 'play', '--network', 'host', file]);
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
		return (await this.#podman(['exec', this.#of(container), ...command])).stdout.trim();
	}

	async state(container: string): Promise<ContainerState> {
		const { stdout } = await this.#podman([
			'inspect',
			'--type',
			'container',
			'--format',
			'{{json .State}}',
			this.#of(container),
		]);
		const { Running, Pid, ExitCode, StartedAt, FinishedAt } = JSON.parse(stdout);
		const [startedAt, finishedAt] = [StartedAt, FinishedAt].map((at) => Date.parse(at)) as [number, number];
		return { running: Running, pid: Pid, exitCode: ExitCode, startedAt, finishedAt };
	}

	/** The lines that a container has logged, parsed; of all its lives. */
	async log<Line>(container: string): Promise<Line[]> {
		const { stdout } = await this.#podman(['logs', this.#of(container)]);
		return stdout
			.split('\n')
			.filter((line) => line.startsWith('{'))
			.map((line) => JSON.parse(line) as Line);
	}

	/** The newest line of the app. */
	async appLine(): Promise<AppLine | undefined> {
		return (await this.log<AppLine>('app')).at(-1);
	}

	/** What the kernel says of a container's process: a line of /proc/PID/status. */
	async kernelStatus(container: string): Promise<Readonly<Record<string, string>>> {
		const { pid } = await this.state(container);
		const text = await readFile(`/proc/${pid}/status`, 'utf8');
		return Object.fromEntries([...text.matchAll(/^(\w+):\t(.*)$/gm)].map(([, name, value]) => [name, value?.trim()]));
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
		await this.#podman(['pod', 'stop', '--time', String(graceSeconds), this.#name]);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#podman(['pod', 'rm', '--force', '--time', '0', '--ignore', this.#name]);
		await this.#podman(['volume', 'rm', '--force', this.#name]).catch((error: Error) => {
			// A pod that could not be played need not have one.
			if (!error.message.includes('no such volume')) throw error;
		});
	}

	#of(container: string): string {
		return `${this.#name}-${container}`;
	}

	async #podman(args: readonly string[]): Promise<ProcessResult> {
		const { args: places, env } = this.#engine;
		await using command = spawnProcess('podman', [...places, ...args], { env });
		const result = await command.finished;
		if (result.exitCode !== 0) throw new Error(`podman ${args.join(' ')}: ${result.stderr}${result.stdout}`);
		return result;
	}
}
