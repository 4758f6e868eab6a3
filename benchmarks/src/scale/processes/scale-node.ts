import { BackendSource } from '@spock/discovery';
import type { ServiceInstance } from '@spock/protocol';
import { createSidecar, type SidecarListen, SidecarMetrics } from '@spock/sidecar';

import { manualBackend } from '../../probes/manual-backend.ts';
import { manyInstances } from '../../probes/many-instances.ts';
import { answerCommands, memoryNow } from './answer-commands.ts';

/** What a {@link probeScaleNode} is given. */
export interface ScaleNodeSettings {
	readonly path: string;
	/** Also listens there, with TLS. */
	readonly tls?: { readonly port: number; readonly cert: string; readonly key: string };
	/** Of every service. */
	readonly instances: number;
}

/** `change` gives one instance another port, and answers with the port. */
export type ScaleNodeCommand = { readonly kind: 'change' | 'memory' };

const FIRST_PORT = 1000;

/** A node Spock whose registry is a list in its own process. */
export async function probeScaleNode([settings = '{}']: readonly string[]): Promise<void> {
	const { path, tls, instances } = JSON.parse(settings) as ScaleNodeSettings;
	let list: readonly ServiceInstance[] = manyInstances(instances, FIRST_PORT);
	const backend = manualBackend(list);
	const listen: SidecarListen[] = [{ address: { path } }];
	if (tls !== undefined) {
		const { port, cert, key } = tls;
		listen.push({ address: { host: '127.0.0.1', port }, tls: { secrets: { cert, key } } });
	}
	const source = new BackendSource({ backend });
	const sidecar = createSidecar({ source, observer: new SidecarMetrics().observer, listen });
	await sidecar.start();
	let changes = 0;
	await answerCommands<ScaleNodeCommand>(({ kind }) => {
		if (kind === 'memory') return memoryNow();
		const at = changes % instances;
		const port = FIRST_PORT + 1 + changes++;
		// Another list: the cache has the one before.
		list = list.map((instance, index) => (index === at ? Object.freeze({ ...instance, port }) : instance));
		backend.publish(list);
		return port;
	});
}
