import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';

import { type RunningProcess, startSidecar, tempSocket } from '@spock/testkit';
import { expect, it } from 'vitest';

const CLIENTS = 200;
const MIB = 1024 * 1024;
/** Each copy of what a client has not read would add up to more than twice this. */
const GROWTH_MAX = 100 * MIB;

const SERVICES = {
	'in parts': { instances: 10_000, features: ['push', 'parts'] },
	'in one piece': { instances: 6000, features: ['push'] },
};

/** Asks for the service, and stops to read at the first bytes of the answer. */
async function watchUnread(path: string, features: readonly string[]): Promise<Socket> {
	const socket = createConnection(path);
	const requests = [
		{ id: 1, func: 'hello', data: { versions: [1], features } },
		{ id: 2, func: 'watchService', data: { service: 'large' } },
	];
	for (const request of requests) socket.write(`${JSON.stringify(request)}\n`);
	for (let answered = ''; !answered.includes('"instance"'); ) {
		const [chunk] = (await once(socket, 'data')) as [Buffer];
		answered += chunk.toString();
	}
	socket.pause();
	return socket;
}

function residentBytes({ child }: RunningProcess): number {
	const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
	return Number(kib) * 1024;
}

it.runIf(process.platform === 'linux').each(Object.entries(SERVICES))(
	'a large answer that many clients have not read yet, %s, is in memory once',
	async (_way, { instances, features }) => {
		await using place = await tempSocket();
		const file = join(place.directory, 'services.json');
		const large = Array.from({ length: instances }, (_, id) => ({ id: `n/${id}`, host: '10.1.2.3', port: 1 + id }));
		writeFileSync(file, JSON.stringify({ services: { large } }));
		await using sidecar = await startSidecar(place.path, ['--services', file]);
		const sockets = [await watchUnread(place.path, features)];
		const before = residentBytes(sidecar);
		for (let index = 0; index < CLIENTS; index++) sockets.push(await watchUnread(place.path, features));
		const grown = residentBytes(sidecar) - before;
		for (const socket of sockets) socket.destroy();
		expect(grown).toBeLessThan(GROWTH_MAX);
	},
	60_000,
);
