import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { clusterHcl, serverHcl } from './cluster/cluster-hcl.ts';
import { ConsulAgent } from './cluster/consul-agent.ts';
import { type ConsulNetwork, loopbackNetwork } from './cluster/consul-network.ts';
import { waitFor } from './wait-for.ts';

export { ConsulAgent } from './cluster/consul-agent.ts';
export { type ConsulNetwork, loopbackNetwork } from './cluster/consul-network.ts';
export { type NamespaceNetwork, namespaceNetwork } from './cluster/namespace-network.ts';

const SERVERS = 3;
const START_MS_MAX = 60_000;
/** Of one question in a row that is asked until the answer is good. */
const ASK_MS = 1000;

/** How many agents a cluster has: its servers, and the client agent. */
export const CLUSTER_SIZE: number = SERVERS + 1;

/** Options of {@link startConsulCluster}. */
export interface ConsulClusterOptions {
	/** From `findConsul`. */
	readonly binary: string;
	/** Where the agents live, {@link CLUSTER_SIZE} of them. Default: 127.0.0.1 to 127.0.0.4. The cluster owns it. */
	readonly network?: ConsulNetwork;
	/** Connections that each agent takes from one client. Default: Consul's own, 200. */
	readonly connectionsMax?: number;
	/** More configuration of the servers, in HCL. */
	readonly serverHcl?: readonly string[];
}

/** Three servers and a client agent, with ACLs that deny by default. Disposing ends them all and removes their data. */
export interface ConsulCluster extends AsyncDisposable {
	readonly servers: readonly ConsulAgent[];
	/** The client agent: the one on the same machine as an app. Its number on the network is the last one. */
	readonly agent: ConsulAgent;
	readonly network: ConsulNetwork;
	/** The addresses for a sidecar, as the documentation advises: the local agent, then the servers. */
	readonly urls: readonly string[];
	/** May do everything. */
	readonly managementToken: string;
	/** The number of the server that leads. Waits until one does and a majority follows it. */
	leader(): Promise<number>;
	/** Resolves when every server votes, all know it, and the client agent reaches them. */
	whenWhole(): Promise<void>;
	/** Has a server that was cut off look for the others now: by itself it tries once in half a minute. */
	rejoin(server: number): Promise<void>;
	/** Resolves, with the time, as soon as the client agent answers a consistent read: Consul itself is back then. */
	whenConsistent(): Promise<number>;
	/** All that the servers know, as `consul snapshot save` writes it. */
	saveSnapshot(): Promise<Buffer>;
	/** Replaces all that they know: the index goes back. */
	restoreSnapshot(snapshot: Buffer): Promise<void>;
}

/** Starts a cluster and waits until it is whole. Rejects with what the agents last said. */
export async function startConsulCluster(options: ConsulClusterOptions): Promise<ConsulCluster> {
	const network = options.network ?? (await loopbackNetwork(CLUSTER_SIZE));
	const directory = await mkdtemp('/tmp/spock-cluster-');
	const cluster = new Cluster(options, network, directory);
	try {
		await cluster.start();
		return cluster;
	} catch (error) {
		await cluster[Symbol.asyncDispose]();
		throw error;
	}
}

class Cluster implements ConsulCluster {
	readonly servers: readonly ConsulAgent[];
	readonly agent: ConsulAgent;
	readonly network: ConsulNetwork;
	readonly managementToken: string = randomUUID();
	readonly #all: readonly ConsulAgent[];
	readonly #directory: string;

	constructor(
		{ binary, connectionsMax, serverHcl: more = [] }: ConsulClusterOptions,
		network: ConsulNetwork,
		directory: string,
	) {
		this.network = network;
		this.#directory = directory;
		const { addresses, ports } = network;
		const hcl = { addresses, servers: SERVERS, ports, managementToken: this.managementToken, connectionsMax };
		this.#all = addresses.map((address, number) => {
			const isServer = number < SERVERS;
			const name = isServer ? `server-${number + 1}` : 'client';
			return new ConsulAgent({
				name,
				address,
				httpPort: ports.http,
				isServer,
				directory: join(directory, name),
				command: network.command(number, [binary]),
				hcl: [...clusterHcl(hcl), ...(isServer ? [...serverHcl(hcl), ...more] : [])],
				token: this.managementToken,
			});
		});
		this.servers = this.#all.slice(0, SERVERS);
		this.agent = this.#all[SERVERS] as ConsulAgent;
	}

	get urls(): readonly string[] {
		return [this.agent, ...this.servers].map(({ url }) => url);
	}

	async start(): Promise<void> {
		for (const agent of this.#all) {
			await mkdir(join(this.#directory, agent.name));
			agent.start();
		}
		await this.whenWhole();
	}

	async leader(): Promise<number> {
		return waitFor(
			'a leader',
			async () => {
				const answers = await Promise.all(
					this.servers.map((server) => server.tryJson<string>({ path: '/v1/status/leader', timeoutMs: ASK_MS })),
				);
				const { server: port } = this.network.ports;
				const number = this.servers.findIndex(
					({ address, isRunning }, own) => isRunning && answers[own] === `${address}:${port}`,
				);
				if (number < 0) return undefined;
				// A leader that has just lost its followers still thinks that it leads; only a majority makes this answer.
				const path = '/v1/catalog/datacenters?consistent';
				const confirmed = await (this.servers[number] as ConsulAgent).tryJson({ path, timeoutMs: ASK_MS });
				return confirmed === undefined ? undefined : { number };
			},
			START_MS_MAX,
		).then(({ number }) => number);
	}

	async whenWhole(): Promise<void> {
		const whole = async (): Promise<void> => {
			await waitFor('a whole cluster', () => this.#isWhole(), START_MS_MAX);
			// The leader's word, once: services that change all the time make no server wait for the others.
			const { index } = await waitFor('the leader', () => this.#askIndex(this.agent, 'consistent'), START_MS_MAX);
			await waitFor('servers that have caught up', () => this.#haveCaughtUp(index), START_MS_MAX);
		};
		await whole().catch((error: unknown) => {
			const words = this.#all.map((agent) => `${agent.name}: ${agent.lastWords()}`).join('\n');
			throw new Error(`the cluster is not whole:\n${words}`, { cause: error });
		});
	}

	async rejoin(server: number): Promise<void> {
		const { addresses, ports } = this.network;
		const other = addresses[(server + 1) % SERVERS];
		await this.servers[server]?.json({ method: 'PUT', path: `/v1/agent/join/${other}:${ports.serfLan}` });
	}

	whenConsistent(): Promise<number> {
		const path = '/v1/catalog/nodes?consistent';
		return waitFor(
			'a consistent answer',
			async () => ((await this.agent.tryJson({ path, timeoutMs: ASK_MS })) === undefined ? undefined : Date.now()),
			START_MS_MAX,
		);
	}

	async saveSnapshot(): Promise<Buffer> {
		const { status, bytes } = await this.agent.ask({ path: '/v1/snapshot' });
		if (status !== 200) throw new Error(`saving a snapshot: ${status} ${bytes.toString()}`);
		return bytes;
	}

	async restoreSnapshot(snapshot: Buffer): Promise<void> {
		await this.agent.json({ method: 'PUT', path: '/v1/snapshot', body: snapshot, timeoutMs: 30_000 });
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await Promise.all(this.#all.map((agent) => agent.stop()));
		await this.network[Symbol.asyncDispose]();
		await rm(this.#directory, { recursive: true, force: true });
	}

	/** Every server votes, and every agent has all the others for alive. */
	async #isWhole(): Promise<boolean> {
		for (const agent of this.#all) if (agent.lastWords() !== '') throw new Error(`${agent.name} has ended`);
		const timeoutMs = ASK_MS;
		const raft = await this.agent.tryJson<RaftConfiguration>({ path: '/v1/operator/raft/configuration', timeoutMs });
		if (raft?.Servers.filter(({ Voter }) => Voter).length !== SERVERS) return false;
		if (!raft.Servers.some(({ Leader }) => Leader)) return false;
		const seen = await Promise.all(
			this.#all.map((agent) => agent.tryJson<readonly Member[]>({ path: '/v1/agent/members', timeoutMs })),
		);
		return seen.every((members) => members?.filter(({ Status }) => Status === SERF_ALIVE).length === this.#all.length);
	}

	/** A server that was away has caught up when it gives the leader's index, or a later one, without asking the others. */
	async #haveCaughtUp(index: number): Promise<boolean> {
		const answers = await Promise.all(this.servers.map((server) => this.#askIndex(server, 'stale')));
		return answers.every((answer) => answer !== undefined && answer.index >= index);
	}

	/** The index of all services; undefined where there is no answer. */
	async #askIndex(agent: ConsulAgent, consistency: 'stale' | 'consistent'): Promise<{ index: number } | undefined> {
		try {
			const { status, index } = await agent.ask({ path: `/v1/catalog/services?${consistency}`, timeoutMs: ASK_MS });
			return status === 200 ? { index } : undefined;
		} catch {
			// Not there yet: the caller's bound ends the asking.
			return undefined;
		}
	}
}

/** https://github.com/hashicorp/serf/blob/master/serf/serf.go: MemberStatus */
const SERF_ALIVE = 1;

interface Member {
	readonly Status: number;
}

interface RaftConfiguration {
	readonly Servers: readonly { readonly Leader: boolean; readonly Voter: boolean }[];
}
