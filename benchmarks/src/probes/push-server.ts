import { createInterface } from 'node:readline';

import { BackendSource } from '@spock/discovery';
import { createSidecar, SidecarMetrics } from '@spock/sidecar';

import { manualBackend } from './manual-backend.ts';
import { manyInstances } from './many-instances.ts';

/**
 * A sidecar whose registry changes on command: each line of input changes the port of every instance. Arguments: the
 * socket, and the number of instances.
 */
export async function servePushes([path = '', count = '1']: readonly string[]): Promise<void> {
	const backend = manualBackend(manyInstances(Number(count), 1));
	const source = new BackendSource({ backend });
	const sidecar = createSidecar({ source, observer: new SidecarMetrics().observer, listen: [{ address: { path } }] });
	await sidecar.start();
	process.stdout.write(`ready ${path}\n`);
	let port = 1;
	for await (const _ of createInterface({ input: process.stdin })) {
		port++;
		backend.publish(manyInstances(Number(count), port));
	}
	process.exit(0);
}
