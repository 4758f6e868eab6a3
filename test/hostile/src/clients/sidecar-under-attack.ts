import { readdirSync, readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';

import { type RunningProcess, sidecarBin, spawnProcess, tempSocket, waitFor } from '@spock/testkit';

const HOOK = fileURLToPath(new URL('gc-hook.mjs', import.meta.url));
/** Linux counts the time of processes in these. */
const TICKS_PER_SECOND = 100;

/** What a process has. */
export interface Facts {
	/** After a forced collection: the heap and what hangs on it, and all of the process's memory. */
	readonly heapBytes: number;
	readonly rssBytes: number;
	readonly fds: number;
}

/** A built sidecar in a process of its own over a services file that can change, and a look into it. Linux only. */
export class SidecarUnderAttack implements AsyncDisposable {
	readonly path: string;
	readonly process: RunningProcess;
	readonly #directory: AsyncDisposable;
	readonly #servicesFile: string;

	private constructor(path: string, process: RunningProcess, directory: AsyncDisposable, servicesFile: string) {
		this.path = path;
		this.process = process;
		this.#directory = directory;
		this.#servicesFile = servicesFile;
	}

	/** `fdsMax`: how many files it may have open. */
	static async start(fdsMax?: number, logLevel: string = 'warn'): Promise<SidecarUnderAttack> {
		const socket = await tempSocket();
		const services = `${socket.directory}/services.json`;
		await writeVersion(services, 0);
		const flags = ['--backend', 'local', '--services', services, '--log-level', logLevel, '--grace-ms', '0'];
		flags.push('--events', `${socket.directory}/events`);
		const command = [
			process.execPath,
			'--expose-gc',
			'--import',
			HOOK,
			sidecarBin,
			'start',
			'--socket',
			socket.path,
			...flags,
		];
		const limit = fdsMax === undefined ? '' : `ulimit -n ${fdsMax} && `;
		const running = spawnProcess('bash', ['-c', `${limit}exec "$@"`, 'bash', ...command]);
		const sidecar = new SidecarUnderAttack(socket.path, running, socket, services);
		try {
			await waitFor('the sidecar to take connections', () => isTaken(socket.path));
			return sidecar;
		} catch (error) {
			await sidecar[Symbol.asyncDispose]();
			throw new Error(`${running.stdout()}${running.stderr()}`, { cause: error });
		}
	}

	/** Changes the service `changing`. */
	publish(version: number): Promise<void> {
		return writeVersion(this.#servicesFile, version);
	}

	/** Collects its garbage and looks. */
	async facts(): Promise<Facts> {
		const lines = (): string[] => this.process.stderr().match(/^collected .*$/gm) ?? [];
		const before = lines().length;
		this.process.child.kill('SIGUSR2');
		const line = await waitFor('the sidecar to collect its garbage', () => lines()[before]);
		return { ...(JSON.parse(line.slice('collected '.length)) as Omit<Facts, 'fds'>), fds: this.fds };
	}

	get fds(): number {
		return readdirSync(`/proc/${this.process.pid}/fd`).length;
	}

	/** Time of the processor that it has used, in milliseconds. */
	get processorMs(): number {
		const stat = readFileSync(`/proc/${this.process.pid}/stat`, 'utf8');
		// Behind the name, which may hold anything: user and system time are the 12th and 13th.
		const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
		return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.process[Symbol.asyncDispose]();
		await this.#directory[Symbol.asyncDispose]();
	}
}

/** Replaced whole, so that no reader sees a half. */
async function writeVersion(file: string, version: number): Promise<void> {
	const services = {
		barista: [{ host: '10.0.0.1', port: 8765 }],
		// Nobody but the well-behaved client knows of it: attackers register instances of the others.
		steady: [{ host: '10.0.0.4', port: 8765 }],
		waiter: [{ host: '10.0.0.2', port: 1 }],
		changing: [{ host: '10.0.0.3', port: 2, meta: { version: String(version) } }],
	};
	await writeFile(`${file}.new`, JSON.stringify({ services }));
	await rename(`${file}.new`, file);
}

function isTaken(path: string): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = connect(path);
		socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
		socket.once('connect', () => socket.destroy());
	});
}
