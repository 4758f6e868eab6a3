import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { findProgram, isExecutable } from './find-program.ts';
import { freePorts } from './free-ports.ts';
import { type RunningProcess, spawnProcess } from './spawn-sidecar.ts';
import { untilUp } from './start-server.ts';

/** The release that tools/nats/build.sh builds. */
const NATS_VERSION = '2.15.2';
const HOST = '127.0.0.1';
/** Another process may take a free port before the server binds it. */
const STARTS_MAX = 3;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The path of a nats-server that has fast ingest: NATS_BIN, else the build of tools/nats/build.sh. Throws an Error that says what to do
 * when there is none, so that no test passes without one.
 */
export function findNats(env: Environment): string {
	const cache = env['SPOCK_CACHE_DIR'] || join(homedir(), '.cache/spock');
	const binary = env['NATS_BIN'] || join(cache, `nats-server-${NATS_VERSION}`, 'nats-server');
	if (isExecutable(binary)) return binary;
	throw new Error(`no NATS server at ${binary}: set NATS_BIN, or run \`bash tools/nats/build.sh\` (needs Go)`);
}

/** The path of an old one, as distributions have it: NATS_OLD_BIN, else `nats-server` on PATH. Throws an Error when there is none. */
export function findOldNats(env: Environment): string {
	const binary = env['NATS_OLD_BIN'] || findProgram(['nats-server'], env);
	if (binary !== undefined && isExecutable(binary)) return binary;
	throw new Error('no old NATS server: put `nats-server` on PATH (Debian 12: nats-server), or set NATS_OLD_BIN');
}

/** Options of {@link startNats}. */
export interface RealNatsOptions {
	/** From {@link findNats} or {@link findOldNats}. */
	readonly binary: string;
	/** 3: a cluster. Default 1. */
	readonly servers?: 1 | 3;
	/** Longest message in bytes. Default: the server's own. */
	readonly maxPayload?: number;
}

/** One server with JetStream. */
export interface RealNatsServer {
	readonly name: string;
	/** `127.0.0.1:4222`. */
	readonly address: string;
	/** Ends it by SIGKILL, as a crash does. */
	kill(): Promise<void>;
	/** Ends it by SIGTERM: it hands over what it leads. */
	stop(): Promise<void>;
	/** Starts it again at the same port with the same data; resolves when it is healthy. */
	start(): Promise<void>;
	/** Keeps a copy of what is on its disk now, for `setBack`. It must not run. */
	copy(): Promise<void>;
	/** Puts the copy in the place of its directory. It must not run. */
	setBack(): Promise<void>;
}

/** The servers of a test. Disposing them ends them and removes their data. */
export interface RealNats extends AsyncDisposable {
	readonly servers: readonly RealNatsServer[];
	readonly addresses: readonly string[];
}

/** Starts one server, or three as a cluster; resolves when all are healthy. */
export async function startNats(options: RealNatsOptions): Promise<RealNats> {
	const count = options.servers ?? 1;
	for (let attempt = 1; ; attempt++) {
		const home = await mkdtemp('/tmp/spock-nats-');
		const ports = await freePorts(3 * count, HOST);
		const routes = count === 1 ? [] : ports.slice(2 * count);
		const servers = Array.from({ length: count }, (_, index) => {
			const [client = 0, monitor = 0] = [ports[index], ports[count + index]];
			return new NatsProcess(options, join(home, `n${index + 1}`), { client, monitor, route: routes[index] }, routes);
		});
		const dispose = async (): Promise<void> => {
			await Promise.all(servers.map((server) => server.kill()));
			await rm(home, { recursive: true, force: true });
		};
		try {
			await Promise.all(servers.map((server) => server.start()));
			return { servers, addresses: servers.map(({ address }) => address), [Symbol.asyncDispose]: dispose };
		} catch (error) {
			await dispose();
			if (attempt >= STARTS_MAX) throw error;
		}
	}
}

interface Ports {
	readonly client: number;
	readonly monitor: number;
	readonly route: number | undefined;
}

class NatsProcess implements RealNatsServer {
	readonly name: string;
	readonly address: string;
	readonly #options: RealNatsOptions;
	readonly #home: string;
	readonly #ports: Ports;
	readonly #routes: readonly number[];
	#process: RunningProcess | undefined;

	constructor(options: RealNatsOptions, home: string, ports: Ports, routes: readonly number[]) {
		this.name = home.slice(home.lastIndexOf('/') + 1);
		this.address = `${HOST}:${ports.client}`;
		this.#options = options;
		this.#home = home;
		this.#ports = ports;
		this.#routes = routes;
	}

	async kill(): Promise<void> {
		await this.#end('SIGKILL');
	}

	async stop(): Promise<void> {
		await this.#end('SIGTERM');
	}

	async start(): Promise<void> {
		await mkdir(this.#home, { recursive: true });
		const file = join(this.#home, 'server.conf');
		await writeFile(file, this.#configuration());
		const server = spawnProcess(this.#options.binary, ['-c', file]);
		this.#process = server;
		await untilUp('a NATS server', server, () => this.#isHealthy());
	}

	async copy(): Promise<void> {
		await rm(this.#copy, { recursive: true, force: true });
		await cp(this.#store, this.#copy, { recursive: true });
	}

	async setBack(): Promise<void> {
		await rm(this.#store, { recursive: true, force: true });
		await cp(this.#copy, this.#store, { recursive: true });
	}

	get #store(): string {
		return join(this.#home, 'store');
	}

	get #copy(): string {
		return join(this.#home, 'copy');
	}

	async #end(signal: NodeJS.Signals): Promise<void> {
		await this.#process?.stop(signal);
		this.#process = undefined;
	}

	async #isHealthy(): Promise<boolean> {
		try {
			const response = await fetch(`http://${HOST}:${this.#ports.monitor}/healthz`, {
				signal: AbortSignal.timeout(2000),
			});
			return response.ok;
		} catch {
			// It does not listen yet; whoever waits asks again, and gives up with a reason.
			return false;
		}
	}

	#configuration(): string {
		const { monitor, route } = this.#ports;
		const { maxPayload } = this.#options;
		const lines = [
			`server_name: ${this.name}`,
			`listen: "${this.address}"`,
			`http: "${HOST}:${monitor}"`,
			`jetstream { store_dir: "${this.#store}", max_file: 4G, max_mem: 64M }`,
		];
		if (maxPayload !== undefined) lines.push(`max_payload: ${maxPayload}`);
		if (route !== undefined) {
			const urls = this.#routes.map((port) => `"nats://${HOST}:${port}"`).join(', ');
			lines.push(`cluster { name: test, listen: "${HOST}:${route}", routes: [${urls}] }`);
		}
		return `${lines.join('\n')}\n`;
	}
}
