import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { waitFor } from './wait-for.ts';

/**
 * The built command line of the sidecar: that of the package, or with SPOCK_SIDECAR_BIN another form of it. `npm test` names the
 * bundle that the image has, which starts in half the time; CI runs the package too.
 */
export const sidecarBin: string =
	process.env['SPOCK_SIDECAR_BIN'] ||
	fileURLToPath(new URL('../../../packages/sidecar/bin/sidecar.js', import.meta.url));

/** What a finished process left. */
export interface ProcessResult {
	readonly exitCode: number | null;
	readonly signal: NodeJS.Signals | null;
	readonly stdout: string;
	readonly stderr: string;
}

/** A process under test. Disposing it ends it by SIGKILL if it still runs. */
export interface RunningProcess extends AsyncDisposable {
	readonly child: ChildProcess;
	readonly pid: number;
	/** What it has printed so far. */
	stdout(): string;
	stderr(): string;
	/** Resolves when it has ended and its output is complete. */
	readonly finished: Promise<ProcessResult>;
	/** Sends a signal and waits for the end. */
	stop(signal?: NodeJS.Signals): Promise<ProcessResult>;
}

/** Options of {@link spawnProcess}. */
export interface SpawnOptions {
	readonly env?: Readonly<Record<string, string>>;
	readonly cwd?: string;
	/** All that it can read. Default: nothing. */
	readonly input?: string;
	/** True: its input stays open for as long as this process lives. Default false. */
	readonly keepInput?: boolean;
}

/** Starts a program with only the given variables added to PATH, HOME and where Node keeps what it has compiled: no SPOCK_* or CONSUL_* leaks into a test. */
export function spawnProcess(command: string, args: readonly string[], options: SpawnOptions = {}): RunningProcess {
	const { PATH = '', HOME = '/', NODE_COMPILE_CACHE } = process.env;
	const child = spawn(command, args, {
		cwd: options.cwd,
		env: { PATH, HOME, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }), ...options.env },
		stdio: ['pipe', 'pipe', 'pipe'],
	});
	let stdout = '';
	let stderr = '';
	child.stdout?.setEncoding('utf8').on('data', (text: string) => {
		stdout += text;
	});
	child.stderr?.setEncoding('utf8').on('data', (text: string) => {
		stderr += text;
	});
	// A program may end without having read it.
	child.stdin?.on('error', () => undefined);
	if (options.keepInput) child.stdin?.write(options.input ?? '');
	else child.stdin?.end(options.input);
	const finished = new Promise<ProcessResult>((resolve, reject) => {
		child.on('error', reject);
		child.on('close', (exitCode, signal) => resolve({ exitCode, signal, stdout, stderr }));
	});
	finished.catch(() => undefined);
	const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<ProcessResult> => {
		if (child.exitCode === null && child.signalCode === null) child.kill(signal);
		return finished;
	};
	return {
		child,
		pid: child.pid ?? -1,
		stdout: () => stdout,
		stderr: () => stderr,
		finished,
		stop,
		[Symbol.asyncDispose]: async () => {
			if (child.exitCode === null && child.signalCode === null) {
				child.kill('SIGKILL');
				await once(child, 'close');
			}
		},
	};
}

/** Options of {@link runSidecar} and {@link startSidecar}. */
export interface SidecarSpawnOptions extends Pick<SpawnOptions, 'env' | 'cwd'> {
	/** The command. Default: {@link sidecarBin}. */
	readonly bin?: string;
}

/** Runs the built `sidecar` command. Throws if the packages are not built. */
export function runSidecar(
	args: readonly string[],
	{ bin = sidecarBin, ...options }: SidecarSpawnOptions = {},
): RunningProcess {
	if (!existsSync(join(dirname(bin), '../dist/cli/main.js'))) {
		throw new Error('the sidecar is not built: run `npm run build` first');
	}
	return spawnProcess(process.execPath, [bin, ...args], options);
}

/**
 * Output of a command, where the commands that it advises, between backticks, are `sidecar …`, without what names the sidecar that is asked: how it
 * is called, and where, is another matter than what is advised.
 */
export function withPlainCommands(output: string): string {
	return output.replaceAll(/`(?:node |npx )\S*sidecar(?:\.js)? ([^`]*)`/g, (_, command: string) => {
		return `\`sidecar ${command.replaceAll(/ --(?:socket|connect|token-file|tls-\w+) \S+/g, '')}\``;
	});
}

/** Why a start has failed, as the last line of its log says; undefined if that is another line. */
export function reasonIn(log: string): string | undefined {
	const last = JSON.parse(log.trim().split('\n').at(-1) || '{}') as {
		readonly level?: string;
		readonly reason?: string;
	};
	return last.level === 'fatal' ? last.reason : undefined;
}

/** Starts a sidecar and waits until it accepts at its socket: the file alone may be what a killed one has left. */
export async function startSidecar(
	path: string,
	args: readonly string[],
	options: SidecarSpawnOptions = {},
): Promise<RunningProcess> {
	const sidecar = runSidecar(['start', '--socket', path, '--grace-ms', '0', ...args], options);
	let ended = false;
	sidecar.finished.then(
		() => {
			ended = true;
		},
		() => {
			ended = true;
		},
	);
	await waitFor(`a sidecar at ${path}`, async () => ended || (await accepts(path)));
	if (ended) throw new Error(`the sidecar ended: ${sidecar.stdout()}${sidecar.stderr()}`);
	return sidecar;
}

/** True if somebody listens. */
function accepts(path: string): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = connect(path);
		const settle = (isUp: boolean): void => {
			socket.destroy();
			resolve(isUp);
		};
		socket.once('connect', () => settle(true)).once('error', () => settle(false));
	});
}
