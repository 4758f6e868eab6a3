import { setTimeout as delay } from 'node:timers/promises';

import { isServing } from '@spock/protocol';
import { findConsul, TcpGate, waitFor } from '@spock/testkit';
import { type ConsulAgent, type ConsulCluster, startConsulCluster } from '@spock/testkit/consul-cluster';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { BackendSource } from '../../backend-source.ts';
import type { DiscoveryEvent } from '../../foundation/discovery-event.ts';
import { Registrations } from '../../registration/registrations.ts';
import { consulBackend } from './consul-backend.ts';

const LOOK_MS = 20;
const SERVICE = 'barista';

let cluster: ConsulCluster;
beforeAll(async () => {
	cluster = await startConsulCluster({
		binary: findConsul(process.env),
		// As Consul's own chart sets it.
		serverHcl: ['leave_on_terminate = true'],
	});
});

afterEach(async () => {
	for (const agent of [...cluster.servers, cluster.agent]) {
		agent.resume();
		agent.start();
	}
	await cluster.whenWhole();
});

afterAll(() => cluster?.[Symbol.asyncDispose]());

describe('an app registered at three servers without node agents', () => {
	it('is served on when its server is killed, and taken out there when that is back with its old data', async () => {
		await using site = await Site.start();
		await site.first.stop('SIGKILL');
		await site.movedTo('server-2/b1');
		site.first.start();
		await cluster.whenWhole();
		await site.isOnlyAt('server-2/b1');
		site.expectServed();
	});

	it('is served on when its server is killed and comes back with an empty disk', async () => {
		await using site = await Site.start();
		await site.first.stop('SIGKILL');
		await site.movedTo('server-2/b1');
		await site.first.erase();
		site.first.start();
		await cluster.whenWhole();
		await site.isOnlyAt('server-2/b1');
		site.expectServed();
	});

	it('is served on when its server leaves, without a failed lookup', async () => {
		await using site = await Site.start();
		await site.first.stop('SIGTERM');
		await site.movedTo('server-2/b1');
		site.first.start();
		await cluster.whenWhole();
		await site.isOnlyAt('server-2/b1');
		site.expectServed();
	});

	it('is served on in a rolling restart of all three', async () => {
		await using site = await Site.start();
		for (const server of cluster.servers) {
			await server.stop('SIGTERM');
			server.start();
			await cluster.whenWhole();
		}
		await waitFor('it in the registry', async () => (await site.where()).length === 1);
		site.expectServed();
	});

	it('is served on when its server stands still, and is taken out there when that goes on', async () => {
		await using site = await Site.start();
		site.first.pause();
		await site.movedTo('server-2/b1');
		site.first.resume();
		await cluster.whenWhole();
		await site.isOnlyAt('server-2/b1');
		site.expectServed();
	});

	it('is not registered twice while its server cannot be reached and publishes it as well', async () => {
		await using gate = await TcpGate.open(cluster.network.ports.http);
		const [, ...others] = cluster.servers.map(({ url }) => url);
		await using site = await Site.start([gate.url, ...others], { ttlMs: 9000 });
		gate.hold(true);
		await site.movedTo('server-2/b1');
		await waitFor('it in the registry', () => site.published.at(-1) === 'server-2');
		expect(site.published).toEqual(['server-1', 'nowhere', 'server-2']);
		gate.hold(false);
		await site.isOnlyAt('server-2/b1');
		// Nothing else says that an app is well whose sidecar cannot renew it.
		expect(site.odd.filter((found) => found !== 'critical')).toEqual([]);
	});
});

/** An app that is registered, and another process that looks it up all the time, and what Consul publishes meanwhile. */
class Site implements AsyncDisposable {
	readonly first: ConsulAgent = cluster.servers[0] as ConsulAgent;
	readonly events: DiscoveryEvent[] = [];
	/** What lookups gave that were not served by just one. */
	readonly odd: string[] = [];
	/** What Consul published, each once in a row: the nodes at which it is well. */
	readonly published: string[] = [];
	readonly #end = new AbortController();
	readonly #running: Promise<unknown>[] = [];

	static async start(
		urls: readonly string[] = cluster.servers.map(({ url }) => url),
		options: { readonly ttlMs?: number } = {},
	): Promise<Site> {
		const site = new Site();
		const token = cluster.managementToken;
		const backend = consulBackend({ addresses: urls, token });
		const registrations = new Registrations({
			registrar: backend.registrar ?? expect.fail(),
			owner: 'pod',
			...options,
			onEvent: (event) => site.events.push(event),
		});
		const app = { told: () => undefined };
		const reply = await registrations.claim({ service: SERVICE, id: 'b1', host: '10.0.0.1', port: 80 }, app);
		expect(reply).toMatchObject({ state: 'registered', instance: 'server-1/b1' });
		const reader = consulBackend({ addresses: cluster.servers.map(({ url }) => url).reverse(), token });
		const source = new BackendSource({ backend: reader });
		await waitFor('it to be found', async () => (await source.get({ service: SERVICE })).instances.some(isServing));
		site.#running.push(site.#look(source), site.#follow());
		site.#end.signal.addEventListener('abort', () => {
			registrations.close();
			site.#running.push(source.close(), backend.close());
		});
		return site;
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
		const entries = (await cluster.agent.tryJson<readonly Entry[]>({ path })) ?? [];
		return entries.map(({ Node, Service }) => `${Node.Node}/${Service.ID}`);
	}

	/** No lookup failed, and none had it twice. */
	expectServed(): void {
		expect(this.odd).toEqual([]);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#end.abort();
		await Promise.all(this.#running);
		for (const server of cluster.servers) await server.ask({ method: 'PUT', path: '/v1/agent/service/deregister/b1' });
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
			const asked = (cluster.servers[2] as ConsulAgent).isRunning ? cluster.servers[2] : cluster.servers[1];
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
