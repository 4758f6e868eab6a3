import type { Socket } from 'node:net';

import { FakeClock, tcpListener, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { Http2Sessions } from './http2-sessions.ts';

/** A server that takes connections and never says a word, and what came of each. */
async function silentServer() {
	const sockets: Socket[] = [];
	const listener = await tcpListener((socket) => {
		sockets.push(socket.resume().on('error', () => undefined));
	});
	return {
		at: `${listener.host}:${listener.port}`,
		sockets,
		[Symbol.dispose]: () => {
			for (const socket of sockets) socket.destroy();
			listener.close();
		},
	};
}

it('a connection that does not answer a ping is cut, by the clock that it was given', async () => {
	using server = await silentServer();
	const clock = new FakeClock();
	const sessions = new Http2Sessions(`http://${server.at}`, {}, clock);
	const request = sessions.request({ method: 'GET', path: '/v1/status/leader' });
	const failed = new Promise((resolve) => request.once('error', resolve));
	(request as unknown as { end(): void }).end();
	await waitFor('the request', () => (server.sockets[0]?.bytesRead ?? 0) > 0);
	(request as unknown as { abort(): void }).abort();
	expect(clock.pendingTimers).toBe(1);
	await clock.advance(2000);
	await waitFor('the end of the connection', () => server.sockets[0]?.closed);
	expect(await failed).toBeInstanceOf(Error);
	expect(clock.pendingTimers).toBe(0);
});

it('who does not shake hands in time, by the same clock, speaks no HTTP/2', async () => {
	using server = await silentServer();
	const clock = new FakeClock();
	const asked = new Http2Sessions(`https://${server.at}`, {}, clock).isSpoken();
	await waitFor('the handshake', () => (server.sockets[0]?.bytesRead ?? 0) > 0);
	expect(clock.pendingTimers).toBe(1);
	await clock.advance(2000);
	expect(await asked).toBe(false);
	expect(clock.pendingTimers).toBe(0);
});
