import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

import { tempSocket } from '@spock/testkit';
import { expect, it } from 'vitest';

import { connect } from '../../src/connect.ts';
import { openEvents } from '../../src/events/open-events.ts';
import { ModelSidecar } from './model-sidecar.ts';

async function listen(sidecar: ModelSidecar, path: string): Promise<Server> {
	const server = createServer((socket) => sidecar.accept(socket));
	server.listen(path);
	await once(server, 'listening');
	return server;
}

it('events over real sockets come once and in order, although the sidecar dies in the middle', async () => {
	await using place = await tempSocket();
	const { path } = place;
	const sidecar = new ModelSidecar();
	let server = await listen(sidecar, path);
	const diplomat = await connect({ path, heartbeatMs: 60_000 });
	const events = openEvents({ diplomat });
	const COUNT = 20_000;
	for (let n = 1; n <= COUNT; n++) {
		if (!events.emit(n % 2 === 0 ? 'even' : 'odd', { n, text: 'é'.repeat(n % 50) }))
			await events.room({ timeoutMs: 30_000 });
		if (n % 5000 === 0) {
			sidecar.drop();
			// It takes its path with it.
			await new Promise((resolve) => server.close(resolve));
			server = await listen(sidecar, path);
		}
	}
	await events.flush({ timeoutMs: 30_000 });
	expect(events.status()).toMatchObject({ accepted: COUNT, persisted: COUNT, kept: 0, unsent: 0 });
	expect(sidecar.gaps).toBe(0);
	expect(sidecar.payloads.map((payload) => (payload as { n: number }).n)).toEqual(
		Array.from({ length: COUNT }, (_, index) => index + 1),
	);
	await diplomat.drain();
	server.close();
});

it('what was emitted in an earlier tick has left the process while the window is open', async () => {
	await using place = await tempSocket();
	const { path } = place;
	const sidecar = new ModelSidecar({ acks: false });
	const server = await listen(sidecar, path);
	const diplomat = await connect({ path, heartbeatMs: 60_000 });
	const events = openEvents({ diplomat });
	await expect.poll(() => events.status().state).toBe('idle');
	for (let n = 0; n < 120; n++) events.emit('a', 'x'.repeat(1000));
	expect(events.status().unsent).toBeGreaterThan(0);
	await Promise.resolve();
	await new Promise((resolve) => setImmediate(resolve));
	expect(events.status()).toMatchObject({ kept: 120, unsent: 0 });
	await diplomat.close();
	server.close();
});
