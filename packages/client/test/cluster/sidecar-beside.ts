import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { type RunningProcess, sidecarBin, spawnProcess, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { CLUSTER_SIZE, type ConsulCluster } from '@spock/testkit/consul-cluster';

const RULES = 'node_prefix "" { policy = "read" } service_prefix "" { policy = "read" }';
const POLICY = 'reads-services';

/** A sidecar on the machine of the cluster's client agent, set up as docs/guide/consul.md advises, with a token of its own. */
export class SidecarBeside implements AsyncDisposable {
	/** The socket for its clients. */
	readonly path: string;
	readonly #cluster: ConsulCluster;
	readonly #place: TempSocket;
	readonly #tokenFile: string;
	readonly #options: readonly string[];
	#accessor = '';
	#process: RunningProcess | undefined;

	private constructor(cluster: ConsulCluster, place: TempSocket, options: readonly string[]) {
		this.#cluster = cluster;
		this.#options = options;
		this.#place = place;
		this.path = place.path;
		this.#tokenFile = join(place.directory, 'token');
	}

	/** Starts it, with more options of its command line. */
	static async start(cluster: ConsulCluster, options: readonly string[] = []): Promise<SidecarBeside> {
		const sidecar = new SidecarBeside(cluster, await tempSocket(), options);
		try {
			await sidecar.giveToken();
			await sidecar.#start();
			return sidecar;
		} catch (error) {
			await sidecar[Symbol.asyncDispose]();
			throw error;
		}
	}

	/** Makes a token that may read services, and writes it into the sidecar's file. */
	async giveToken(): Promise<void> {
		const { agent } = this.#cluster;
		const policies = await agent.json<readonly { readonly Name: string }[]>({ path: '/v1/acl/policies' });
		if (!policies.some(({ Name }) => Name === POLICY)) {
			await agent.json({ method: 'PUT', path: '/v1/acl/policy', body: { Name: POLICY, Rules: RULES } });
		}
		const body = { Policies: [{ Name: POLICY }] };
		const token = await agent.json<{ readonly AccessorID: string; readonly SecretID: string }>({
			method: 'PUT',
			path: '/v1/acl/token',
			body,
		});
		this.#accessor = token.AccessorID;
		// An agent may ask a server that has not heard of the token yet, and remembers the refusal.
		for (const { ask } of [...this.#cluster.servers, agent].map((known) => ({ ask: known.ask.bind(known) }))) {
			const path = '/v1/acl/token/self?stale';
			await waitFor('the token', async () => (await ask({ path, token: token.SecretID })).status === 200);
		}
		await writeFile(this.#tokenFile, `${token.SecretID}\n`);
	}

	/** Deletes its token: Consul refuses it from now on. */
	async revokeToken(): Promise<void> {
		await this.#cluster.agent.json({ method: 'DELETE', path: `/v1/acl/token/${this.#accessor}` });
	}

	/** The end of its log. */
	log(): string {
		return `${this.#process?.stdout().slice(-3000) ?? ''}${this.#process?.stderr().slice(-1000) ?? ''}`;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#process?.stop('SIGKILL');
		await this.#place[Symbol.asyncDispose]();
	}

	async #start(): Promise<void> {
		const { network, urls } = this.#cluster;
		const [program = '', ...args] = network.command(CLUSTER_SIZE - 1, [
			process.execPath,
			sidecarBin,
			...['start', '--backend', 'consul', '--consul', urls.join(','), '--consul-token-file', this.#tokenFile],
			...['--socket', this.path, '--grace-ms', '0', '--log-format', 'json', '--log-level', 'info', ...this.#options],
		]);
		const sidecar = spawnProcess(program, args);
		this.#process = sidecar;
		const isOver = (): boolean => sidecar.child.exitCode !== null || sidecar.child.signalCode !== null;
		await waitFor('the sidecar', () => existsSync(this.path) || isOver());
		if (isOver()) throw new Error(`the sidecar ended: ${this.log()}`);
	}
}
