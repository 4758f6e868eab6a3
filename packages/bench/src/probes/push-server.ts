import { createInterface } from 'node:readline';

import { BackendSource } from '@spock/discovery';
import type { ServiceInstance } from '@spock/protocol';
import { createSidecar, SidecarMetrics } from '@spock/sidecar';

import { manualBackend } from './manual-backend.ts';

/**
 * A sidecar whose registry changes on command: each line of input changes the port of every instance. Arguments: the
 * socket, and the number of instances.
 */
export async function servePushes([path = '', count = '1']: readonly string[]): Promise<void> {
	const backend = manualBackend(instances(Number(count), 1));
	const source = new BackendSource({ backend });
	const sidecar = createSidecar({ source, observer: new SidecarMetrics(), listen: [{ address: { path } }] });
	await sidecar.start();
	process.stdout.write(`ready ${path}\n`);
	let port = 1;
	for await (const _ of createInterface({ input: process.stdin })) {
		port++;
		backend.publish(instances(Number(count), port));
	}
	process.exit(0);
}

function instances(count: number, port: number): ServiceInstance[] {
	return Array.from({ length: count }, (_, index) =>
		Object.freeze({
			instance: `node-${String(index).padStart(5, '0')}/service-${index}`,
			host: `10.1.${index >> 8}.${index & 255}`,
			port,
			weight: 1,
			status: 'passing',
			tags: [],
			meta: {},
			zone: null,
			datacenter: 'dc1',
		}),
	);
}
