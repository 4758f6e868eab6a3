import { createLocalBackend, Registrations } from '@spock/discovery';
import { type CloseReason, createSidecar } from '@spock/sidecar';
import { FakeClock, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';
import { FakeSource } from './fake-source.ts';
import { RawClient } from './raw-client.ts';

const GRACE_MS = 30_000;
const HELLO = { versions: [1], heartbeatMs: 10_000 };

/** A sidecar at a socket and at a port, whose time the test has, and what it keeps registered. */
async function running() {
	const place = await tempSocket();
	const clock = new FakeClock();
	const backend = await createLocalBackend();
	const registrar = backend.registrar ?? expect.fail('the local backend cannot register');
	const registrations = new Registrations({ registrar, owner: 'me', clock, reconnectGraceMs: GRACE_MS });
	const reasons: CloseReason[] = [];
	const sidecar = createSidecar({
		source: new FakeSource(),
		registrations,
		listen: [{ address: { path: place.path } }, { address: { host: '127.0.0.1', port: 0 } }],
		limits: { graceMs: 0 },
		observer: { connectionClosed: (_, reason) => reasons.push(reason) },
		clock,
	});
	const [, address = ''] = await sidecar.start();
	const status = (): string | undefined => registrations.list()[0]?.status;
	return {
		path: place.path,
		port: Number(address.split(':').at(-1)),
		clock,
		registrations,
		reasons,
		status,
		[Symbol.asyncDispose]: async () => {
			sidecar.terminate();
			sidecar.terminate();
			await sidecar.ended;
			await backend.close();
			await place[Symbol.asyncDispose]();
		},
	};
}

const register = { service: 'barista', id: 'b1', port: 80 };

it('an app at the socket that misses three heartbeats is critical, with a reason, until it is heard again', async () => {
	await using site = await running();
	await using app = await RawClient.open(site.path);
	await app.ask(1, 'hello', HELLO);
	await app.ask(2, 'registerService', register);
	await site.clock.advance(40_000);
	expect(site.registrations.list()).toMatchObject([
		{ phase: 'held', status: 'critical', note: expect.stringContaining('three of its heartbeats') },
	]);
	await site.clock.advance(10 * GRACE_MS);
	expect([site.reasons, site.status()]).toEqual([[], 'critical']);
	await app.ask(3, 'ping');
	await waitFor('its own word', () => site.status() === 'passing');
});

it('a client of an earlier version, which promises nothing, may be silent', async () => {
	await using site = await running();
	await using app = await RawClient.open(site.path);
	await app.ask(1, 'hello', { versions: [1] });
	await app.ask(2, 'registerService', register);
	await site.clock.advance(10 * GRACE_MS);
	expect([site.reasons, site.status()]).toEqual([[], 'passing']);
});

it('over TCP one that is gone with its machine is cut off, and its registration gone after the grace', async () => {
	await using site = await running();
	await using app = await RawClient.open(site.port);
	await app.ask(1, 'hello', HELLO);
	await app.ask(2, 'registerService', register);
	// Nothing comes from it any more; the kernel has not been told.
	app.socket.pause();
	await site.clock.advance(40_000);
	await waitFor('the end of the connection', () => site.reasons.length === 1);
	expect([site.reasons, site.registrations.list()]).toMatchObject([['silent'], [{ phase: 'grace' }]]);
	await site.clock.advance(GRACE_MS);
	expect(site.registrations.count).toBe(0);
});
