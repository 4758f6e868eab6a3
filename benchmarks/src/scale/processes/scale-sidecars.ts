import { connect, type Diplomat } from '@spock/client';
import { type Backend, BackendSource, consulBackend } from '@spock/discovery';
import { createSidecar, type Sidecar, UpstreamBackend } from '@spock/sidecar';

import { CountingProxy } from '../../consul/counting-proxy.ts';
import { answerCommands } from './answer-commands.ts';

/** What {@link probeScaleSidecars} is given. */
export interface ScaleSidecarsSettings {
	/** Each gets a sidecar at this path, with an app. */
	readonly paths: readonly string[];
	readonly services: readonly string[];
	/** Node Spocks, which take turns; or Consul, each sidecar by itself. */
	readonly nodes: readonly string[];
	readonly consul: string;
}

/** `start` starts all; `reset` counts from now on; `count` is answered with what passed to Consul since. */
export type ScaleSidecarsCommand = { readonly kind: 'start' | 'reset' | 'count' };

/** Sidecars that share a process, each with its sockets, its own cache and an app that watches all services. */
export async function probeScaleSidecars([settings = '{}']: readonly string[]): Promise<void> {
	const { paths, services, nodes, consul } = JSON.parse(settings) as ScaleSidecarsSettings;
	const proxy = await CountingProxy.start(consul);
	const running: { readonly sidecar: Sidecar; readonly diplomat: Diplomat }[] = [];
	const startAll = async (): Promise<void> => {
		for (const [index, path] of paths.entries()) {
			const node = nodes[index % Math.max(1, nodes.length)];
			const instance = `sidecar of ${path}`;
			const backend = backendOf(node, proxy.url, instance);
			const sidecar = createSidecar({
				source: new BackendSource({ backend }),
				listen: [{ address: { path } }],
				instance,
				...(backend instanceof UpstreamBackend && { upstreams: backend }),
			});
			await sidecar.start();
			const diplomat = await connect({ path, readyTimeoutMs: 60_000, timeoutMs: 60_000 });
			await Promise.all(services.map((service) => diplomat.getInstances(service)));
			for (const service of services) diplomat.observeService(service, { next: () => undefined });
			running.push({ sidecar, diplomat });
		}
	};
	await answerCommands<ScaleSidecarsCommand>(async ({ kind }) => {
		if (kind === 'start') await startAll();
		if (kind === 'reset') proxy.reset();
		return { ...proxy.traffic(), held: proxy.held, failed: proxy.failed, sidecars: running.length };
	});
}

function backendOf(node: string | undefined, consul: string, sidecar: string): Backend {
	if (node === undefined) return consulBackend({ addresses: [consul] });
	return new UpstreamBackend({ places: [{ name: `unix:${node}`, address: { path: node } }], sidecar, name: sidecar });
}
