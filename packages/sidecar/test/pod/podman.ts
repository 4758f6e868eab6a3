import { readFile } from 'node:fs/promises';

import { type ProcessResult, spawnProcess } from '@spock/testkit';

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

interface PodEngine {
	/** Where its storage is, in arguments. */
	readonly args: readonly string[];
	readonly env: Readonly<Record<string, string>>;
	/** For files of the test; removed with the engine. */
	readonly directory: string;
	/** Names of the images, and the archives that they come from. */
	readonly images: Readonly<Record<'sidecar' | 'app', { readonly name: string; readonly archive: string }>>;
}

/** The engine that tools/test-pod.js has made for this run. Throws an Error that says how to start one. */
export function podEngine(): PodEngine {
	const { SPOCK_POD_ENGINE } = process.env;
	if (SPOCK_POD_ENGINE === undefined) throw new Error('run `npm run suite pod`: it makes the images and the network');
	return JSON.parse(SPOCK_POD_ENGINE);
}

/** Runs podman with the engine of the test. Rejects with what it has printed when it fails. */
export async function podman(args: readonly string[]): Promise<ProcessResult> {
	const { args: places, env } = podEngine();
	await using command = spawnProcess('podman', [...places, ...args], { env });
	const result = await command.finished;
	if (result.exitCode !== 0) throw new Error(`podman ${args.join(' ')}: ${result.stderr}${result.stdout}`);
	return result;
}

export async function containerState(container: string): Promise<ContainerState> {
	const { stdout } = await podman(['inspect', '--type', 'container', '--format', '{{json .State}}', container]);
	const { Running, Pid, ExitCode, StartedAt, FinishedAt } = JSON.parse(stdout);
	const [startedAt, finishedAt] = [StartedAt, FinishedAt].map((at) => Date.parse(at)) as [number, number];
	return { running: Running, pid: Pid, exitCode: ExitCode, startedAt, finishedAt };
}

/** What the kernel says of a process: the lines of /proc/PID/status by their names. */
export async function kernelStatus(pid: number): Promise<Readonly<Record<string, string>>> {
	const text = await readFile(`/proc/${pid}/status`, 'utf8');
	return Object.fromEntries([...text.matchAll(/^(\w+):\t(.*)$/gm)].map(([, name, value]) => [name, value?.trim()]));
}
