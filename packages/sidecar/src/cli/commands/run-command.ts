import type { SpawnOptions } from 'node:child_process';
import { constants } from 'node:os';

import { CommandError } from '../output/output.ts';

/** What a command that stands for another one hears of; everything else that a process can be sent cannot be caught. */
const RELAYED: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'];

/** Passes signals to one receiver at a time, so that none is lost when the receiver changes. */
export class SignalRelay {
	/** Receives each signal from now on. */
	receiver: (signal: NodeJS.Signals) => void;
	readonly #listener = (signal: NodeJS.Signals): void => this.receiver(signal);

	constructor(receiver: (signal: NodeJS.Signals) => void) {
		this.receiver = receiver;
		for (const signal of RELAYED) process.on(signal, this.#listener);
	}

	/** Signals do again what they do by default. */
	close(): void {
		for (const signal of RELAYED) process.off(signal, this.#listener);
	}
}

/** A terminal sends these to its whole process group, so the command has received them already. */
const FROM_TERMINAL: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT', 'SIGWINCH']);
/** Dying of one of these would write a core file of this process over the command's own. */
const WITH_CORE: ReadonlySet<NodeJS.Signals> = new Set([
	'SIGQUIT',
	'SIGILL',
	'SIGTRAP',
	'SIGABRT',
	'SIGBUS',
	'SIGFPE',
	'SIGSEGV',
	'SIGSYS',
	'SIGXCPU',
	'SIGXFSZ',
]);

/** As `env` and the shells have them. */
export const CANNOT_RUN = 126;
export const NOT_FOUND = 127;

/** From Node 22.15 on. */
type Execve = (file: string, args: readonly string[], env: NodeJS.ProcessEnv) => never;

/**
 * Runs a command with this process's stdin, stdout and stderr until it ends, and passes signals on to it. Gives its exit
 * code; where it was ended by a signal this process ends by the same one, so that the parent process sees it.
 *
 * As process 1 of a container it has the command take its place, where Node can do that (22.15 and later): the command is then
 * process 1 itself, and what that has to reap is its business as ever. A Node before that stays in between, and cannot reap
 * orphans that it has not started.
 */
export async function runCommand([file = '', ...args]: readonly string[], signals: SignalRelay): Promise<number> {
	const { execve } = process as { readonly execve?: Execve };
	const path = process.pid === 1 && execve !== undefined ? await findProgram(file) : undefined;
	if (path !== undefined) execve?.(path, [file, ...args], process.env);
	const { spawn } = await import('node:child_process');
	// Not `process.stdin`, whose stream would read what is for the command.
	const isTerminal = (await import('node:tty')).isatty(0);
	const options: SpawnOptions = { stdio: 'inherit' };
	const child = spawn(file, args, options);
	signals.receiver = (signal) => {
		if (!(isTerminal && FROM_TERMINAL.has(signal))) child.kill(signal);
	};
	return new Promise<number>((resolve, reject) => {
		child.once('error', (error) => reject(cannotRun(file, error)));
		child.once('exit', (code, signal) => {
			signals.close();
			resolve(signal === null ? (code ?? 1) : dieOf(signal));
		});
	});
}

/** Ends this process by a signal that has no listener any more. Returns the equivalent exit code for when it survives, as process 1 does. */
export function dieOf(signal: NodeJS.Signals): number {
	const exitCode = 128 + constants.signals[signal];
	if (WITH_CORE.has(signal)) return exitCode;
	process.kill(process.pid, signal);
	return exitCode;
}

/** Where the program is, as a shell looks for it; undefined if it is nowhere, which starting it then explains. */
async function findProgram(file: string): Promise<string | undefined> {
	const { access, stat, constants: modes } = await import('node:fs/promises');
	/** Node ends the process if the kernel refuses `execve`, so check beforehand. */
	const isProgram = async (path: string): Promise<boolean> => {
		try {
			await access(path, modes.X_OK);
			return (await stat(path)).isFile();
		} catch {
			return false;
		}
	};
	if (file.includes('/')) return (await isProgram(file)) ? file : undefined;
	for (const directory of (process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin').split(':')) {
		const path = `${directory || '.'}/${file}`;
		if (await isProgram(path)) return path;
	}
	return undefined;
}

function cannotRun(file: string, cause: NodeJS.ErrnoException): CommandError {
	if (cause.code === 'ENOENT') return new CommandError(NOT_FOUND, `command not found: ${file}`, { cause });
	return new CommandError(CANNOT_RUN, `${file} cannot be started: ${cause.code ?? cause.message}`, { cause });
}
