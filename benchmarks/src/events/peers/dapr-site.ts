import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { freePort } from '../../free-port.ts';
import { type ServerProcess, startServer } from '../../processes.ts';
import { addressOf, addStream, readJetStream, restartBroker, startBroker } from './nats-site.ts';
import { DAPR_COMPONENT } from './sender.ts';
import { killServer, type Site } from './site.ts';

const HOST = '127.0.0.1';
const READY_MS_MAX = 30_000;

/** Dapr's daemon beside the app, with one component: JetStream at the same server that the other peers have. */
export async function openDaprSite(daprd: string, directory: string): Promise<Site> {
	const nats = await startBroker();
	const resources = join(directory, 'resources');
	mkdirSync(resources);
	writeFileSync(join(resources, 'events.yaml'), componentAt(addressOf(nats)));
	const [http, api, internal] = [await freePort(), await freePort(), await freePort()];
	const command = [
		...[daprd, '--app-id', 'bench', '--resources-path', resources, '--log-level', 'fatal'],
		...['--dapr-listen-addresses', HOST, '--dapr-http-port', String(http), '--dapr-grpc-port', String(api)],
		...['--dapr-internal-grpc-listen-address', HOST, '--dapr-internal-grpc-port', String(internal)],
		'--enable-metrics=false',
	];
	const start = (): ServerProcess => startServer(command, `${HOST}:${http}`);
	let sidecar = start();
	const close = async (): Promise<void> => {
		await sidecar.close();
		await nats[Symbol.asyncDispose]();
	};
	try {
		await addStream(nats);
		await untilReady(`http://${sidecar.address}/v1.0/healthz/outbound`);
	} catch (error) {
		await close();
		throw error;
	}
	return {
		address: sidecar.address,
		kill: async (target) => {
			if (target === 'broker') return restartBroker(nats);
			await killServer(sidecar);
			sidecar = start();
		},
		read: () => readJetStream(nats),
		close,
	};
}

/** JSON is YAML, too. */
function componentAt(nats: string): string {
	return JSON.stringify({
		apiVersion: 'dapr.io/v1alpha1',
		kind: 'Component',
		metadata: { name: DAPR_COMPONENT },
		spec: { type: 'pubsub.jetstream', version: 'v1', metadata: [{ name: 'natsURL', value: `nats://${nats}` }] },
	});
}

/** Its components are loaded. */
async function untilReady(url: string): Promise<void> {
	const deadlineMs = performance.now() + READY_MS_MAX;
	for (;;) {
		try {
			const { ok } = await fetch(url);
			if (ok) return;
		} catch {
			// It does not listen yet.
		}
		if (performance.now() > deadlineMs) throw new Error(`daprd is not ready after ${READY_MS_MAX} ms`);
		await delay(20);
	}
}
