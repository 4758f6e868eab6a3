import { readdirSync } from 'node:fs';
import { chown, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { IssuedCertificate } from './certificates.ts';
import { findProgram, isExecutable } from './find-program.ts';
import { type RunningProcess, spawnProcess } from './spawn-sidecar.ts';
import { startServer, untilUp } from './start-server.ts';

/** Debian keeps the server's programs off the PATH, by version. */
const DEBIAN_HOME = '/usr/lib/postgresql';
/** The server's own user, of the server and of the database: it refuses to run as root. */
const USER = 'postgres';
/** Not every directory with a server has them all. */
const PROGRAMS = ['postgres', 'initdb', 'pg_isready', 'pg_ctl', 'pg_basebackup'];

/**
 * The directory of PostgreSQL's programs: POSTGRES_BIN, else that of `postgres` on PATH, else Debian's newest. Throws an
 * Error that says what to do when there is none.
 */
export function findPostgres(env: Readonly<Record<string, string | undefined>>): string {
	const onPath = findProgram(['postgres'], env);
	const places = [env['POSTGRES_BIN'], onPath && dirname(onPath), ...debianHomes()];
	const isWhole = (place: string): boolean => PROGRAMS.every((name) => isExecutable(join(place, name)));
	const found = places.find((place) => place !== undefined && isWhole(place));
	if (found !== undefined) return found;
	throw new Error(
		'no PostgreSQL server: install one (Debian: postgresql), or name its directory of programs by POSTGRES_BIN',
	);
}

function debianHomes(): string[] {
	try {
		const versions = readdirSync(DEBIAN_HOME).sort((left, right) => Number(right) - Number(left));
		return versions.map((version) => join(DEBIAN_HOME, version, 'bin'));
	} catch {
		// No Debian package is installed; findPostgres says what to do.
		return [];
	}
}

/** Options of {@link startPostgres}. */
export interface RealPostgresOptions {
	/** From {@link findPostgres}. */
	readonly binaries: string;
	/** Where it listens. Default 127.0.0.1. */
	readonly host?: string;
	/** It takes TLS with this certificate too. Default: no TLS. */
	readonly tls?: IssuedCertificate;
	/** It follows this server, and takes no writes, until it is promoted. Default: it is a primary. */
	readonly standbyOf?: RealPostgres;
}

/** A PostgreSQL server of this test, with the database and the user `postgres` and no password. */
export interface RealPostgres extends AsyncDisposable {
	readonly host: string;
	readonly port: number;
	/** Ends it by SIGKILL, as a crash does. */
	kill(): Promise<void>;
	/** Ends it as an operator does in haste: open connections are cut, with a word (SIGINT, "fast"). */
	stop(): Promise<void>;
	/** Stops its work while the kernel goes on to accept connections for it, until it is thawed. */
	freeze(isFrozen: boolean): void;
	/** Makes a standby the primary; resolves when it takes writes. */
	promote(): Promise<void>;
}

/** Starts a server with an empty database, or a standby with the data of its primary; resolves when it takes connections. */
export function startPostgres(options: RealPostgresOptions): Promise<RealPostgres> {
	return startServer('/tmp/spock-postgres-', options.host, (home, [port]) => new PostgresProcess(options, home, port));
}

class PostgresProcess implements RealPostgres {
	readonly host: string;
	readonly port: number;
	readonly #options: RealPostgresOptions;
	readonly #home: string;
	readonly #data: string;
	#process: RunningProcess | undefined;

	constructor(options: RealPostgresOptions, home: string, port: number) {
		this.#options = options;
		this.host = options.host ?? '127.0.0.1';
		this.port = port;
		this.#home = home;
		this.#data = join(home, 'data');
	}

	async start(): Promise<void> {
		await this.#makeData();
		const settings = [
			`listen_addresses=${this.host}`,
			`port=${this.port}`,
			'unix_socket_directories=',
			// Nothing has to outlive the machine.
			'fsync=off',
			'shared_buffers=16MB',
			'max_connections=50',
			...(this.#options.tls === undefined ? [] : ['ssl=on']),
		];
		const server = this.#program('postgres', ['-D', this.#data, ...settings.flatMap((setting) => ['-c', setting])]);
		this.#process = server;
		await untilUp('a PostgreSQL server', server, () => this.#isReady());
	}

	async kill(): Promise<void> {
		await this.#process?.stop('SIGKILL');
		this.#process = undefined;
	}

	async stop(): Promise<void> {
		await this.#process?.stop('SIGINT');
		this.#process = undefined;
	}

	freeze(isFrozen: boolean): void {
		this.#process?.child.kill(isFrozen ? 'SIGSTOP' : 'SIGCONT');
	}

	async promote(): Promise<void> {
		await this.#run('pg_ctl', ['-D', this.#data, '-w', '-t', '60', 'promote']);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.kill();
		// What the killed server leaves behind may still write while it ends by itself.
		await rm(this.#home, { recursive: true, force: true, maxRetries: 10 });
	}

	async #makeData(): Promise<void> {
		const { standbyOf, tls } = this.#options;
		if (process.getuid?.() === 0) {
			const [uid = 0, gid = 0] = await Promise.all(['-u', '-g'].map((what) => idOf(what)));
			await chown(this.#home, uid, gid);
		}
		if (standbyOf === undefined) {
			await this.#run('initdb', ['-D', this.#data, '-U', USER, '--auth=trust', '--no-sync', '--encoding=UTF8']);
		} else {
			const from = ['-h', standbyOf.host, '-p', String(standbyOf.port), '-U', USER];
			await this.#run('pg_basebackup', [...from, '-D', this.#data, '-R', '--checkpoint=fast', '--no-sync']);
		}
		if (tls === undefined) return;
		// As root, so that they belong to root: the server takes a key of root's that its group may read.
		const [uid, gid] = process.getuid?.() === 0 ? [await idOf('-u'), await idOf('-g')] : [undefined, undefined];
		for (const [name, content] of [
			['server.crt', tls.cert],
			['server.key', tls.key],
		] as const) {
			const path = join(this.#data, name);
			await writeFile(path, content, { mode: 0o600 });
			if (uid !== undefined && gid !== undefined) await chown(path, uid, gid);
		}
	}

	async #isReady(): Promise<boolean> {
		const args = ['-q', '-h', this.host, '-p', String(this.port), '-t', '5'];
		return (await this.#program('pg_isready', args).finished).exitCode === 0;
	}

	async #run(name: string, args: readonly string[]): Promise<void> {
		const { exitCode, stdout, stderr } = await this.#program(name, args).finished;
		if (exitCode !== 0) throw new Error(`${name} ended with ${exitCode}: ${(stdout + stderr).slice(-2000)}`);
	}

	#program(name: string, args: readonly string[]): RunningProcess {
		const path = join(this.#options.binaries, name);
		const options = { cwd: this.#home, env: { LC_ALL: 'C.UTF-8' } };
		if (process.getuid?.() !== 0) return spawnProcess(path, args, options);
		const as = [`--reuid=${USER}`, `--regid=${USER}`, '--clear-groups', '--'];
		return spawnProcess('setpriv', [...as, path, ...args], options);
	}
}

async function idOf(what: string): Promise<number> {
	const { exitCode, stdout, stderr } = await spawnProcess('id', [what, USER]).finished;
	if (exitCode !== 0) throw new Error(`there is no user ${USER} to run the server as: ${stderr}`);
	return Number(stdout);
}
