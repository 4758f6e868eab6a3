import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import {
	freePort,
	type RunningProcess,
	spawnProcess,
	startSidecar,
	type TempSocket,
	tempSocket,
	waitFor,
} from '@spock/testkit';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** As in the services file; the address is made up. */
export type Instances = readonly {
	readonly id: string;
	readonly status?: string;
	readonly weight?: number;
	readonly tags?: readonly string[];
	readonly zone?: string;
}[];

/** A real sidecar over a services file, with an admin port that stays the same when it is started again. */
export class ShownSidecar implements AsyncDisposable {
	readonly url: string;
	readonly #place: TempSocket;
	readonly #file: string;
	readonly #port: number;
	readonly #args: readonly string[];
	#process: RunningProcess | undefined;
	readonly #clients: RunningProcess[] = [];

	private constructor(place: TempSocket, port: number, args: readonly string[]) {
		this.#args = args;
		this.#place = place;
		this.#port = port;
		this.#file = join(place.directory, 'services.json');
		this.url = `http://127.0.0.1:${port}/`;
	}

	/** `args` are more of its settings. */
	static async start(
		services: Readonly<Record<string, Instances>>,
		args: readonly string[] = [],
	): Promise<ShownSidecar> {
		const shown = new ShownSidecar(await tempSocket(), await freePort(), args);
		shown.write(services);
		await shown.restart();
		return shown;
	}

	get path(): string {
		return this.#place.path;
	}

	/** Edits the registry. */
	write(services: Readonly<Record<string, Instances>>): void {
		const entries = Object.entries(services).map(([name, instances], row) => [
			name,
			instances.map((instance, index) => ({ host: `10.0.${row % 250}.${index + 1}`, port: 8000 + index, ...instance })),
		]);
		writeFileSync(this.#file, JSON.stringify({ services: Object.fromEntries(entries) }));
	}

	/** Ends it, at once. */
	async kill(): Promise<void> {
		await this.#process?.stop('SIGKILL');
	}

	async restart(): Promise<void> {
		await this.kill();
		const args = ['--services', this.#file, '--admin', `127.0.0.1:${this.#port}`, ...this.#args];
		this.#process = await startSidecar(this.path, args);
		const { stdout } = this.#process;
		await waitFor('the admin port', () => stdout().includes('admin port'));
	}

	/** A real client, in a process of its own, that looks these services up and goes on doing so. */
	async client(services: readonly string[]): Promise<RunningProcess> {
		const script = `
			import { connect } from '@spock/client';
			const diplomat = await connect({ path: ${JSON.stringify(this.path)} });
			const services = ${JSON.stringify(services)};
			await Promise.all(services.map((service) => diplomat.getService(service).catch(() => undefined)));
			console.log('ready');
			setInterval(() => diplomat.explain(services[0]).catch(() => undefined), 20);
		`;
		const client = spawnProcess(process.execPath, ['--input-type=module', '-e', script], { cwd: root });
		this.#clients.push(client);
		await waitFor('a client', () => client.stdout().includes('ready') || (client.child.exitCode !== null && 'ended'));
		if (client.child.exitCode !== null) throw new Error(`the client ended: ${client.stderr()}`);
		return client;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		for (const client of this.#clients) await client[Symbol.asyncDispose]();
		await this.#process?.[Symbol.asyncDispose]();
		await this.#place[Symbol.asyncDispose]();
	}
}
