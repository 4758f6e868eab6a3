import { rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';

import type { IssuedCertificate } from './certificates.ts';
import { findProgram } from './find-program.ts';
import { type RunningProcess, spawnProcess } from './spawn-sidecar.ts';
import { startServer, untilUp } from './start-server.ts';

const ANSWER_TIMEOUT_MS = 5000;

/** The path of `redis-server`. Throws an Error that says what to do when it is not on the PATH. */
export function findRedis(env: Readonly<Record<string, string | undefined>>): string {
	const found = findProgram(['redis-server'], env);
	if (found === undefined) throw new Error('no Redis server: install one (Debian: redis-server)');
	return found;
}

/** Options of {@link startRedis}. */
export interface RealRedisOptions {
	/** From {@link findRedis}. */
	readonly binary: string;
	/** Where it listens. Default 127.0.0.1. */
	readonly host?: string;
	/** It takes TLS with this certificate, at `tlsPort`. Default: no TLS. */
	readonly tls?: IssuedCertificate;
	/** It follows this server, and takes no writes, until it is promoted. Default: it is a primary. */
	readonly replicaOf?: RealRedis;
}

/** A Redis server of this test. Disposing it ends it and removes its data. */
export interface RealRedis extends AsyncDisposable {
	readonly host: string;
	readonly port: number;
	/** 0 without TLS. */
	readonly tlsPort: number;
	/** Sends one command and gives the reply's text as it was sent. */
	command(text: string): Promise<string>;
	/** Ends it by SIGKILL, as a crash does. */
	kill(): Promise<void>;
	/** Stops its work while the kernel goes on to accept connections for it, until it is thawed. */
	freeze(isFrozen: boolean): void;
	/** Makes a replica a primary. */
	promote(): Promise<void>;
}

/** Starts an empty server, or a replica; resolves when it answers, and a replica when it has its primary's data. */
export function startRedis(options: RealRedisOptions): Promise<RealRedis> {
	return startServer('/tmp/spock-redis-', options.host, (home, [port, tlsPort]) => {
		return new RedisProcess(options, home, port, options.tls === undefined ? 0 : tlsPort);
	});
}

class RedisProcess implements RealRedis {
	readonly host: string;
	readonly port: number;
	readonly tlsPort: number;
	readonly #options: RealRedisOptions;
	readonly #home: string;
	#process: RunningProcess | undefined;

	constructor(options: RealRedisOptions, home: string, port: number, tlsPort: number) {
		this.#options = options;
		this.host = options.host ?? '127.0.0.1';
		this.port = port;
		this.tlsPort = tlsPort;
		this.#home = home;
	}

	async start(): Promise<void> {
		const { replicaOf } = this.#options;
		const server = spawnProcess(this.#options.binary, await this.#arguments());
		this.#process = server;
		const isUp = replicaOf === undefined ? /^\+PONG/ : /master_link_status:up/;
		const ask = replicaOf === undefined ? 'PING' : 'INFO replication';
		await untilUp('a Redis server', server, async () => isUp.test(await this.command(ask).catch(() => '')));
	}

	command(text: string): Promise<string> {
		return new Promise((resolve, reject) => {
			let answer = '';
			const socket = connect(this.port, this.host);
			socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy(new Error(`${text}: no answer`)));
			socket.setEncoding('utf8').on('data', (part: string) => {
				answer += part;
			});
			socket.on('error', reject).on('close', () => resolve(answer));
			// It answers what came before the end, and closes.
			socket.end(`${text}\r\nQUIT\r\n`);
		});
	}

	async kill(): Promise<void> {
		await this.#process?.stop('SIGKILL');
		this.#process = undefined;
	}

	freeze(isFrozen: boolean): void {
		this.#process?.child.kill(isFrozen ? 'SIGSTOP' : 'SIGCONT');
	}

	async promote(): Promise<void> {
		const answer = await this.command('REPLICAOF NO ONE');
		if (!answer.startsWith('+OK')) throw new Error(`REPLICAOF NO ONE: ${answer}`);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.kill();
		await rm(this.#home, { recursive: true, force: true });
	}

	async #arguments(): Promise<string[]> {
		const { tls, replicaOf } = this.#options;
		const args = [
			'--bind',
			this.host,
			'--port',
			String(this.port),
			'--dir',
			this.#home,
			'--save',
			'',
			'--appendonly',
			'no',
		];
		args.push('--repl-diskless-sync-delay', '0');
		if (replicaOf !== undefined) args.push('--replicaof', `${replicaOf.host} ${replicaOf.port}`);
		if (tls === undefined) return args;
		for (const name of ['cert', 'key'] as const) {
			const path = join(this.#home, `server.${name}`);
			await writeFile(path, tls[name], { mode: 0o600 });
			args.push(`--tls-${name}-file`, path);
		}
		return [...args, '--tls-port', String(this.tlsPort), '--tls-auth-clients', 'no'];
	}
}
