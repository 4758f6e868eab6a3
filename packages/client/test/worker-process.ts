import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { requireBanner, sourceBundle } from '@spock/testkit/source-bundle';
import { build, type Plugin } from 'esbuild';

/** What a process under a test's command answers: one message for each command, of the command's own kind, or `failed`. */
export type WorkerReply<Reply> = Reply | { readonly kind: 'failed'; readonly why: string };

/** Options of {@link startWorker}. */
export interface WorkerOptions {
	/** Read by the process from its first argument, as JSON. */
	readonly settings: unknown;
	/** Flags of Node. */
	readonly execArgv?: readonly string[];
}

/** A change of one source file of a bundle, as its text: what is found, exactly once, becomes something else. */
export interface Mutation {
	/** From the top of the repository. */
	readonly file: string;
	readonly find: string;
	readonly replace: string;
}

/** Options of {@link bundleWorker}. */
export interface BundleOptions {
	/** Of the file that is written. Default `worker`. */
	readonly name?: string;
	/** Mistakes to put into the bundle; the sources stay as they are. Default: none. */
	readonly planted?: readonly Mutation[];
}

/**
 * Bundles a program from source into a directory; gives the path that {@link startWorker} takes. Rejects where a mistake cannot be
 * planted, with its file and text.
 */
export async function bundleWorker(entry: URL, directory: string, options: BundleOptions = {}): Promise<string> {
	const { name = 'worker', planted = [] } = options;
	const outfile = join(directory, `${name}.mjs`);
	await build({
		...sourceBundle,
		entryPoints: [fileURLToPath(entry)],
		outfile,
		banner: requireBanner,
		plugins: [plant(planted)],
	});
	return outfile;
}

/** Plants each mistake once. The build fails, and names it, where that cannot be done: a run would be one without it. */
function plant(planted: readonly Mutation[]): Plugin {
	return {
		name: 'planted',
		setup: ({ onLoad, onEnd }) => {
			const missing = new Set(planted);
			onLoad({ filter: /\.ts$/ }, async ({ path }) => {
				const here = planted.filter(({ file }) => path.endsWith(`/${file}`));
				if (here.length === 0) return undefined;
				let contents = await readFile(path, 'utf8');
				for (const mutation of here) {
					const { file, find, replace } = mutation;
					const count = contents.split(find).length - 1;
					missing.delete(mutation);
					if (count !== 1) return { errors: [{ text: `${file} has ${find} ${count} times, and must have it once` }] };
					contents = contents.replace(find, () => replace);
				}
				return { contents, loader: 'ts' };
			});
			onEnd(({ errors }) => {
				if (errors.length > 0) return undefined;
				return {
					errors: [...missing].map(({ file }) => ({ text: `${file} is no part of the program: has it moved?` })),
				};
			});
		},
	};
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
