import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

import type { LoadCommand, LoadReport } from './load/load.ts';

/** How long a process may take to say that it is ready, and to end. */
const READY_MS_MAX = 30_000;
/** How long the last answers of a round may take: a slow peer works off its backlog. */
const ROUND_END_MS_MAX = 60_000;
const END_MS_MAX = 5000;

/** A server under measurement. */
export interface ServerProcess {
	readonly pid: number;
	/** As its peer's client takes it. */
	readonly address: string;
	close(): Promise<void>;
}

type PipedProcess = ChildProcess & { readonly stdin: Writable; readonly stdout: Readable; readonly pid: number };

function start(command: readonly string[], env: Readonly<Record<string, string>> = {}): PipedProcess {
	const [program = '', ...args] = command;
	const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env } });
	if (child.pid === undefined) throw new Error(`could not start ${program}`);
	return child as PipedProcess;
}

/** Asks a process to end, and ends it if it does not. */
async function end(child: PipedProcess, signal?: NodeJS.Signals): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const ended = once(child, 'exit');
	child.stdin.end();
	if (signal !== undefined) child.kill(signal);
	const timer = setTimeout(() => child.kill('SIGKILL'), END_MS_MAX);
	await ended;
	clearTimeout(timer);
}

/** The first line that a process writes; rejects when it ends, or says nothing for too long. */
function firstLine(
	child: PipedProcess,
	lines: Interface,
	what: string,
	readyMsMax: number = READY_MS_MAX,
): Promise<string> {
	return new Promise((resolve, reject) => {
		const timer = setTimeout(() => reject(new Error(`${what} is not ready after ${readyMsMax} ms`)), readyMsMax);
		child.once('error', reject);
		child.once('exit', (code) => reject(new Error(`${what} ended with ${code} before it was ready`)));
		lines.once('line', (line) => {
			clearTimeout(timer);
			resolve(line);
		});
	});
}

/** Starts a server that writes `ready ADDRESS` and ends with its standard input. */
export async function startAnnouncedServer(command: readonly string[], address?: string): Promise<ServerProcess> {
	const child = start(command);
	const line = await firstLine(child, createInterface({ input: child.stdout }), command.join(' '));
	return {
		pid: child.pid,
		address: address ?? line.replace(/^ready /, ''),
		close: () => end(child),
	};
}

/** Starts a server that is known to answer by its first client, and ends at SIGTERM. */
export function startServer(
	command: readonly string[],
	address: string,
	env: Readonly<Record<string, string>> = {},
): ServerProcess {
	const child = start(command, env);
	child.stdout.resume();
	return { pid: child.pid, address, close: () => end(child, 'SIGTERM') };
}

/** Starts a server that writes `ready ADDRESS` and leaves in its own time at SIGTERM; `close` rejects if it does not leave well. */
export async function startLeavingServer(command: readonly string[], leaveMsMax: number): Promise<ServerProcess> {
	const child = start(command);
	const line = await firstLine(child, createInterface({ input: child.stdout }), command.join(' '));
	const exited = once(child, 'exit');
	return {
		pid: child.pid,
		address: line.replace(/^ready /, ''),
		close: async () => {
			child.kill('SIGTERM');
			const timer = setTimeout(() => child.kill('SIGKILL'), leaveMsMax);
			const [code, signal] = await exited;
			clearTimeout(timer);
			if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code ?? signal}`);
		},
	};
}

/** A process that makes calls, and is told how many and for how long. */
export class LoadClient {
	readonly pid: number;
	readonly #child: PipedProcess;
	readonly #lines: Interface;

	private constructor(child: PipedProcess, lines: Interface) {
		this.pid = child.pid;
		this.#child = child;
		this.#lines = lines;
	}

	/** Starts one and waits for its first line: its peer has answered. */
	static async start(command: readonly string[], readyMsMax?: number): Promise<LoadClient> {
		const child = start(command);
		const lines = createInterface({ input: child.stdout });
		try {
			await firstLine(child, lines, command.join(' '), readyMsMax);
		} catch (error) {
			await end(child);
			throw error;
		}
		return new LoadClient(child, lines);
	}

	/** A command that is not answered. */
	tell(command: string): void {
		this.#child.stdin.write(`${command}\n`);
	}

	/** One round. Rejects when the process ends or does not answer. */
	run(command: LoadCommand): Promise<LoadReport> {
		return this.ask(command, command.warmupMs + command.durationMs + ROUND_END_MS_MAX) as Promise<LoadReport>;
	}

	/** Any command; the answer is one line of JSON. */
	async ask(command: unknown, timeoutMs: number = READY_MS_MAX): Promise<unknown> {
		const controller = new AbortController();
		const { signal } = controller;
		const answer = once(this.#lines, 'line', { signal }).then(([line]) => JSON.parse(String(line)) as unknown);
		const exit = once(this.#child, 'exit', { signal }).then(([code]): never => {
			throw new Error(`the load generator ended with ${code}`);
		});
		const late = delay(timeoutMs, undefined, { signal }).then((): never => {
			throw new Error(`no answer to ${JSON.stringify(command)} within ${timeoutMs} ms`);
		});
		this.#child.stdin.write(`${JSON.stringify(command)}\n`);
		try {
			return await Promise.race([answer, exit, late]);
		} finally {
			controller.abort();
			await Promise.allSettled([answer, exit, late]);
		}
	}

	close(): Promise<void> {
		return end(this.#child);
	}
}
