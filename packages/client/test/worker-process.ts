import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { requireBanner, sourceBundle } from '@spock/testkit/source-bundle';
import { build } from 'esbuild';

/** What a process under a test's command answers: one message for each command, of the command's own kind, or `failed`. */
export type WorkerReply<Reply> = Reply | { readonly kind: 'failed'; readonly why: string };

/** Options of {@link startWorker}. */
export interface WorkerOptions {
	/** Read by the process from its first argument, as JSON. */
	readonly settings: unknown;
	/** Flags of Node. */
	readonly execArgv?: readonly string[];
}

/** Bundles a program from source into a directory; gives the path that {@link startWorker} takes. */
export async function bundleWorker(entry: URL, directory: string): Promise<string> {
	const entryPoint = fileURLToPath(entry);
	const outfile = join(directory, `${basename(entryPoint, '.ts')}.mjs`);
	await build({ ...sourceBundle, entryPoints: [entryPoint], outfile, banner: requireBanner });
	return outfile;
}

/** Starts a bundled program with a channel to it. What it prints on stderr and stdout is printed here. */
export function startWorker(worker: string, { settings, execArgv = [] }: WorkerOptions): ChildProcess {
	return fork(worker, [JSON.stringify(settings)], {
		execArgv: [...execArgv],
		stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
	});
}

/** Sends a command and waits for the answer; one command is under way at a time. */
export function askWorker<Reply extends { readonly kind: string }, Kind extends Reply['kind']>(
	process: ChildProcess,
	command: { readonly kind: Kind } & Readonly<Record<string, unknown>>,
	timeoutMs: number,
): Promise<Extract<Reply, { readonly kind: Kind }>> {
	const answer = workerReply<Reply, Kind>(process, command.kind, timeoutMs);
	process.send(command);
	return answer;
}

/** The next message of a process, which must be of this kind. Rejects when it ends, fails or says nothing in time. */
export function workerReply<Reply extends { readonly kind: string }, Kind extends Reply['kind']>(
	process: ChildProcess,
	kind: Kind,
	timeoutMs: number,
): Promise<Extract<Reply, { readonly kind: Kind }>> {
	return new Promise((resolve, reject) => {
		const end = (settle: () => void): void => {
			clearTimeout(timer);
			process.off('message', onMessage);
			process.off('exit', onExit);
			settle();
		};
		const onMessage = (message: WorkerReply<Reply>): void => {
			if (message.kind === kind) end(() => resolve(message as Extract<Reply, { readonly kind: Kind }>));
			else end(() => reject(new Error('why' in message ? message.why : `unexpected ${message.kind}`)));
		};
		const onExit = (code: number | null): void => end(() => reject(new Error(`a worker ended: ${code}`)));
		const timer = setTimeout(() => end(() => reject(new Error(`no ${kind} within ${timeoutMs} ms`))), timeoutMs);
		process.on('message', onMessage);
		process.on('exit', onExit);
	});
}

/** Ends a process by SIGKILL if it still runs. */
export async function killWorker(process: ChildProcess): Promise<void> {
	if (process.exitCode !== null || process.signalCode !== null) return;
	const ended = once(process, 'exit');
	process.kill('SIGKILL');
	await ended;
}
