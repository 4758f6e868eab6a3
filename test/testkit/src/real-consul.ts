import { mkdtemp, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { findProgram, isExecutable } from './find-program.ts';
import { freePorts } from './free-ports.ts';
import { type RunningProcess, spawnProcess } from './spawn-sidecar.ts';
import { waitFor } from './wait-for.ts';

/** The release that tools/consul/build.sh builds. */
const CONSUL_VERSION = '1.20.2';
const HOST = '127.0.0.1';
/** Another process may take a free port before Consul binds it. */
const STARTS_MAX = 3;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The path of a Consul server: CONSUL_BIN, else `consul` on PATH, else the build of tools/consul/build.sh. Throws an Error
 * that says what to do when there is none, so that no test passes without one.
 */
export function findConsul(env: Environment): string {
	const named = env['CONSUL_BIN'];
	if (named) {
		if (!isExecutable(named)) throw new Error(`CONSUL_BIN is no executable file: ${named}`);
		return named;
	}
	const cache = env['SPOCK_CACHE_DIR'] || join(homedir(), '.cache/spock');
	const consul = findProgram(['consul'], env) ?? join(cache, `consul-${CONSUL_VERSION}`, 'consul');
	if (isExecutable(consul)) return consul;
	throw new Error(
		'no Consul server: put `consul` on PATH, set CONSUL_BIN, or run `bash tools/consul/build.sh` (needs Go)',
	);
}

/** Options of {@link startConsul}. */
export interface RealConsulOptions {
	/** From {@link findConsul}. */
	readonly binary: string;
	/** `dev` keeps everything in memory, `server` in a directory that a restart finds again. Default `dev`. */
	readonly mode?: 'dev' | 'server';
	/** More configuration, in HCL, as Consul's `-hcl` takes it. */
	readonly hcl?: readonly string[];
	/** The token that `put` sends and that the start needs to see a leader. Default: none. */
	readonly token?: string;
	/** Where it listens. Default 127.0.0.1. */
	readonly address?: string;
	/** Default: one that is free. */
	readonly httpPort?: number;
}

/** A Consul agent of this test. Disposing it ends it and removes its data. */
export interface RealConsul extends AsyncDisposable {
	readonly url: string;
	/** Of the agent that runs now. */
	readonly pid: number;
	/** Registers, deregisters and so on. Throws an Error with the answer if it is not 2xx. */
	put(path: string, body?: unknown): Promise<void>;
	/** Ends the agent by SIGKILL, as a crash does. */
	kill(): Promise<void>;
	/** Starts it again on the same ports with the same data; resolves when it has a leader. */
	restart(): Promise<void>;
}

/** Starts an agent and waits until it has a leader. */
export async function startConsul(options: RealConsulOptions): Promise<RealConsul> {
	for (let attempt = 1; ; attempt++) {
		const dataDirectory = await mkdtemp('/tmp/spock-consul-');
		const [http = 0, server = 0, serfLan = 0] = await freePorts(3, HOST);
		const consul = new ConsulProcess(options, dataDirectory, { http: options.httpPort ?? http, server, serfLan });
		try {
			await consul.restart();
			return consul;
		} catch (error) {
			await consul[Symbol.asyncDispose]();
			if (attempt >= STARTS_MAX) throw error;
		}
	}
}

interface Ports {
	readonly http: number;
	readonly server: number;
	readonly serfLan: number;
}

class ConsulProcess implements RealConsul {
	readonly url: string;
	readonly #options: RealConsulOptions;
	readonly #dataDirectory: string;
	readonly #ports: Ports;
	readonly #address: string;
	#process: RunningProcess | undefined;

	constructor(options: RealConsulOptions, dataDirectory: string, ports: Ports) {
		this.#options = options;
		this.#dataDirectory = dataDirectory;
		this.#ports = ports;
		this.#address = options.address ?? HOST;
		this.url = `http://${this.#address}:${ports.http}`;
	}

	get pid(): number {
		if (this.#process === undefined) throw new Error('Consul is not running');
		return this.#process.pid;
	}

	async put(path: string, body?: unknown): Promise<void> {
		const headers = this.#headers();
		const init = { method: 'PUT', headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
		const response = await fetch(`${this.url}${path}`, init);
		const text = await response.text();
		if (!response.ok) throw new Error(`PUT ${path}: ${response.status} ${text}`);
	}

	async kill(): Promise<void> {
		await this.#process?.stop('SIGKILL');
		this.#process = undefined;
	}

	async restart(): Promise<void> {
		await this.kill();
		const consul = spawnProcess(this.#options.binary, this.#arguments());
		this.#process = consul;
		let ended = false;
		const end = (): void => {
			ended = true;
		};
		consul.finished.then(end, end);
		await waitFor('a Consul server with a leader', async () => ended || (await this.#hasLeader()), 60_000);
		if (ended) throw new Error(`Consul ended: ${consul.stdout().slice(-2000)}${consul.stderr().slice(-2000)}`);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.kill();
		await rm(this.#dataDirectory, { recursive: true, force: true });
	}

	#headers(): Record<string, string> {
		const { token } = this.#options;
		return token === undefined ? {} : { 'x-consul-token': token };
	}

	async #hasLeader(): Promise<boolean> {
		try {
			const response = await fetch(`${this.url}/v1/catalog/nodes?consistent`, {
				headers: this.#headers(),
				signal: AbortSignal.timeout(2000),
			});
			return response.ok && ((await response.json()) as unknown[]).length > 0;
		} catch {
			// It does not listen yet; waitFor asks again, and gives up with a reason.
			return false;
		}
	}

	#arguments(): string[] {
		const { mode = 'dev', hcl = [] } = this.#options;
		const { http, server, serfLan } = this.#ports;
		const kind = mode === 'dev' ? ['-dev'] : ['-server', '-bootstrap-expect=1', `-data-dir=${this.#dataDirectory}`];
		const settings = [
			'disable_update_check = true',
			// The disabled ones would collide with another agent on this machine.
			`ports { http = ${http} server = ${server} serf_lan = ${serfLan} serf_wan = -1 dns = -1 grpc = -1 grpc_tls = -1 }`,
			...hcl,
		];
		return [
			'agent',
			...kind,
			'-node=test',
			`-bind=${this.#address}`,
			`-client=${this.#address}`,
			'-log-level=warn',
			...settings.flatMap((setting) => ['-hcl', setting]),
		];
	}
}
