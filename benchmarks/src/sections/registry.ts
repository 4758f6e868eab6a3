import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { encodePayload, encodePush } from '@spock/protocol';

import { processorTimeUs, residentMb } from '../load/processor-time.ts';
import { manyInstances } from '../probes/many-instances.ts';
import { LoadClient, startServer } from '../processes.ts';
import type { RegistryFigure } from '../results.ts';
import type { Run } from '../run.ts';

/** Number of services, and of instances of each. */
const SIZES: readonly (readonly [services: number, instancesEach: number])[] = [
	[1, 100],
	[1, 1000],
	[100, 10],
	[1000, 10],
	[10_000, 1],
	[10_000, 10],
];
const SIZES_QUICK: typeof SIZES = [
	[1, 100],
	[1000, 10],
];
/** Connections that a change is pushed to, and changes. */
const PUSH_CONNECTIONS = 200;
const PUSH_CHANGES = 25;
const SUBSCRIBE_MS_MAX = 120_000;

/** Memory of a sidecar that watches a whole registry, and what one push costs it. */
export async function measureRegistry(run: Run): Promise<RegistryFigure[]> {
	const figures: RegistryFigure[] = [];
	for (const [services, instancesEach] of run.quick ? SIZES_QUICK : SIZES) {
		const memory = await measureMemory(run, services, instancesEach);
		const push = await measurePush(run, instancesEach);
		figures.push({ services, instancesEach, ...memory, ...push });
		run.say(`registry: ${services} services of ${instancesEach} instances`);
	}
	return figures;
}

async function measureMemory({ tools }: Run, services: number, instancesEach: number) {
	const name = `registry-${services}-${instancesEach}`;
	const file = join(tools.directory, `${name}.json`);
	writeFileSync(file, JSON.stringify({ services: registry(services, instancesEach) }));
	const path = join(tools.directory, `${name}.sock`);
	const command = [tools.node, tools.sidecar, 'start', '--backend', 'local', '--services', file, '--socket', path];
	const server = startServer(command, path);
	// One subscription first: then the sidecar has started and read its file.
	const first = await LoadClient.start([tools.node, tools.entry('probe'), 'subscribe', path, '1', '1']);
	const sidecarRssBeforeMb = residentMb(server.pid);
	await first.close();
	const everything = [tools.node, tools.entry('probe'), 'subscribe', path, String(services), '1'];
	const client = await LoadClient.start(everything, SUBSCRIBE_MS_MAX);
	try {
		return { sidecarRssMb: residentMb(server.pid), sidecarRssBeforeMb, clientRssMb: residentMb(client.pid) };
	} finally {
		await client.close();
		await server.close();
	}
}

async function measurePush({ tools }: Run, instancesEach: number) {
	const path = join(tools.directory, `push-${instancesEach}.sock`);
	const entry = tools.entry('probe');
	const server = await LoadClient.start([tools.node, entry, 'push-server', path, String(instancesEach)]);
	const command = [tools.node, entry, 'subscribe', path, '1', String(PUSH_CONNECTIONS)];
	const client = await LoadClient.start(command, SUBSCRIBE_MS_MAX);
	try {
		let pushes = 0;
		const change = async (): Promise<void> => {
			pushes += PUSH_CONNECTIONS;
			server.tell('change');
			await client.ask(pushes);
		};
		for (let index = 0; index < 5; index++) await change();
		const beforeUs = processorTimeUs(server.pid);
		for (let index = 0; index < PUSH_CHANGES; index++) await change();
		const pushCpuUs = (processorTimeUs(server.pid) - beforeUs) / (PUSH_CHANGES * PUSH_CONNECTIONS);
		return { pushBytes: Buffer.byteLength(pushLine(instancesEach)), pushCpuUs };
	} finally {
		await client.close();
		await server.close();
	}
}

function registry(services: number, instancesEach: number): Record<string, object[]> {
	const entries = Array.from({ length: services }, (_, service): [string, object[]] => [
		`service-${service}`,
		Array.from({ length: instancesEach }, (_unused, index) => ({
			id: `node-${index}/service-${service}-${index}`,
			host: `10.${service >> 8}.${service & 255}.${index & 255}`,
			port: 8000 + (index % 1000),
			zone: `zone-${index % 3}`,
		})),
	]);
	return Object.fromEntries(entries);
}

/** A push like those of the push server. */
function pushLine(count: number): string {
	const instances = manyInstances(count, 10);
	return encodePush(
		'service',
		encodePayload({ service: 'service-0', revision: 10, instances, source: 'live', ageMs: 0, verifiedAt: 1 }),
	);
}
