import { setTimeout as delay } from 'node:timers/promises';

import { isServing } from '@spock/protocol';
import { waitFor } from '@spock/testkit';
import type { ConsulAgent, ConsulCluster } from '@spock/testkit/consul-cluster';
import { expect } from 'vitest';

import { BackendSource } from '../src/backend-source.ts';
import { consulBackend } from '../src/backends/consul/consul-backend.ts';
import type { DiscoveryEvent } from '../src/foundation/discovery-event.ts';
import { Registrations } from '../src/registration/registrations.ts';

const LOOK_MS = 20;
const SERVICE = 'barista';
/** As docs/guide/consul.md advises. */
const RULES = `service_prefix "" { policy = "read" } node_prefix "" { policy = "read" } service "${SERVICE}" { policy = "write" }`;

/** Options of a {@link RegistrationSite}. */
export interface RegistrationSiteOptions {
	/** The addresses at which the sidecar registers. Default: the servers. */
	readonly urls?: readonly string[];
	/** Those that the other process asks, the last one first. Default: the servers. */
	readonly readers?: readonly string[];
	readonly ttlMs?: number;
}

/** An app that is registered, and another process that looks it up all the time, and what Consul publishes meanwhile. */
export class RegistrationSite implements AsyncDisposable {
	readonly first: ConsulAgent;
	readonly events: DiscoveryEvent[] = [];
	/** What lookups gave that were not served by just one. */
	readonly odd: string[] = [];
	/** What Consul published, each once in a row: the nodes at which it is well. */
	readonly published: string[] = [];
	readonly #end = new AbortController();
	readonly #running: Promise<unknown>[] = [];

	readonly #cluster: ConsulCluster;
	readonly #options: RegistrationSiteOptions;
	readonly #app = { told: () => undefined };
	#token = '';
	#endSidecar: () => void = () => undefined;

	private constructor(cluster: ConsulCluster, options: RegistrationSiteOptions) {
		this.#cluster = cluster;
		this.first = cluster.servers[0] as ConsulAgent;
		this.#options = options;
	}

	/** Starts both, and waits until the app is found. */
	static async start(cluster: ConsulCluster, options: RegistrationSiteOptions = {}): Promise<RegistrationSite> {
		const site = new RegistrationSite(cluster, options);
		site.#token = await makeToken(cluster);
		await site.startSidecar();
		const addresses = (options.readers ?? cluster.servers.map(({ url }) => url)).toReversed();
		const source = new BackendSource({ backend: consulBackend({ addresses, token: site.#token }) });
		await waitFor('it to be found', async () => (await source.get({ service: SERVICE })).instances.some(isServing));
		site.#running.push(site.#look(source), site.#follow());
		site.#end.signal.addEventListener('abort', () => {
			site.#running.push(source.close());
		});
		return site;
	}

	/** As a sidecar that is killed, if one runs, and the next one, with which the app registers. */
	async startSidecar(): Promise<void> {
		this.#endSidecar();
		const { urls = this.#cluster.servers.map(({ url }) => url), ttlMs } = this.#options;
		const backend = consulBackend({ addresses: urls, token: this.#token });
		const registrations = new Registrations({
			registrar: backend.registrar ?? expect.fail(),
			owner: 'pod',
			...(ttlMs !== undefined && { ttlMs }),
			onEvent: (event) => this.events.push(event),
		});
		this.#endSidecar = () => {
			registrations.close();
			this.#running.push(backend.close());
		};
		registrations.adopt();
		const data = { service: SERVICE, id: 'b1', host: '10.0.0.1', port: 80 };
		expect(await registrations.claim(data, this.#app)).toMatchObject({ state: 'registered' });
	}

	async movedTo(instance: string): Promise<void> {
		await waitFor(`a move to ${instance}`, () =>
			this.events.some((event) => event.type === 'registration-moved' && event.to === instance),
		);
	}

	async isOnlyAt(instance: string): Promise<void> {
		await waitFor(`only ${instance}`, async () => (await this.where()).join() === instance);
	}

	/** Everything that Consul has of it. */
	async where(): Promise<readonly string[]> {
		const path = `/v1/health/service/${SERVICE}?consistent`;
		const entries = (await this.#cluster.agent.tryJson<readonly Entry[]>({ path })) ?? [];
		return entries.map(({ Node, Service }) => `${Node.Node}/${Service.ID}`);
	}

	/** No lookup failed, and none had it twice. */
	expectServed(): void {
		expect(this.odd).toEqual([]);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#endSidecar();
		this.#end.abort();
		await Promise.all(this.#running);
		const agents = [...this.#cluster.servers, this.#cluster.agent];
		for (const agent of agents) {
			agent.resume();
			agent.start();
		}
		await this.#cluster.whenWhole();
		// With what one has that was away: the next test begins without it.
		for (const agent of agents) await agent.ask({ method: 'PUT', path: '/v1/agent/service/deregister/b1' });
	}

	async #look(source: BackendSource): Promise<void> {
		while (!this.#end.signal.aborted) {
			const found = await source.get({ service: SERVICE }).then(
				({ instances }) => {
					const serving = instances.filter(isServing).length;
					return serving === 1 ? 'served' : serving > 1 ? 'twice' : instances.length > 0 ? 'critical' : 'unknown';
				},
				(error: Error) => error.message,
			);
			if (found !== 'served' && !this.#end.signal.aborted) this.odd.push(found);
			await delay(LOOK_MS);
		}
	}

	async #follow(): Promise<void> {
		for (let index = 0; !this.#end.signal.aborted; ) {
			const path = `/v1/health/service/${SERVICE}?stale&index=${index}&wait=1s`;
			const { servers } = this.#cluster;
			const asked = servers[2]?.isRunning ? servers[2] : servers[1];
			const reply = await asked?.ask({ path }).catch(() => undefined);
			if (reply?.status !== 200) {
				index = 0;
				await delay(LOOK_MS);
				continue;
			}
			index = reply.index;
			const entries = JSON.parse(reply.bytes.toString()) as readonly Entry[];
			const well = entries.filter(({ Checks }) => Checks.every(({ Status }) => Status !== 'critical'));
			const now = well.map(({ Node }) => Node.Node).join(' and ') || 'nowhere';
			if (this.published.at(-1) !== now) this.published.push(now);
		}
	}
}

interface Entry {
	readonly Node: { readonly Node: string };
	readonly Service: { readonly ID: string };
	readonly Checks: readonly { readonly Status: string }[];
}

async function makeToken(cluster: ConsulCluster): Promise<string> {
	const { agent, servers } = cluster;
	const policies = await agent.json<readonly { readonly Name: string }[]>({ path: '/v1/acl/policies' });
	if (!policies.some(({ Name }) => Name === SERVICE))
		await agent.json({ method: 'PUT', path: '/v1/acl/policy', body: { Name: SERVICE, Rules: RULES } });
	const body = { Policies: [{ Name: SERVICE }] };
	const { SecretID } = await agent.json<{ readonly SecretID: string }>({ method: 'PUT', path: '/v1/acl/token', body });
	// A server may not have it yet, and remembers the refusal.
	const path = '/v1/acl/token/self?stale';
	for (const one of [...servers, agent].filter(({ isRunning }) => isRunning))
		await waitFor('the token', async () => (await one.ask({ path, token: SecretID })).status === 200);
	return SecretID;
}
