import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

import { Registry } from 'prom-client';
import { expect, it } from 'vitest';

import { ADMIN_CONNECTIONS_MAX, AdminServer } from './admin-server.ts';

it('is alive whatever its registry does, and ready only if it is', async () => {
	const reason = 'the backend consul has not answered yet';
	const checks = [{ name: 'registry' as const, ok: false, reason, since: 1 }];
	const state = { ready: false, reasons: [reason], checks };
	const admin = new AdminServer({ host: '127.0.0.1', port: 0, registry: new Registry(), readiness: () => state });
	const address = await admin.start();
	try {
		const statusOf = async (path: string): Promise<number> => (await fetch(`http://${address}${path}`)).status;
		expect([await statusOf('/livez'), await statusOf('/readyz')]).toEqual([200, 503]);
		const response = await fetch(`http://${address}/readyz`);
		expect(response.headers.get('content-type')).toBe('application/json');
		expect(await response.json()).toEqual(state);
		state.ready = true;
		expect([await statusOf('/livez'), await statusOf('/readyz')]).toEqual([200, 200]);
	} finally {
		await admin.close();
	}
});

it.each([
	['half requests', 'GET /livez HTTP/1.1\r\nx: '],
	['connections that say nothing', ''],
])('answers probes however many %s there are', async (_what, said) => {
	const readiness = () => ({ ready: true, reasons: [] });
	const admin = new AdminServer({ host: '127.0.0.1', port: 0, registry: new Registry(), readiness });
	const address = await admin.start();
	const crowd: Socket[] = [];
	try {
		for (let round = 0; round < 3; round++) {
			for (let count = 0; count < ADMIN_CONNECTIONS_MAX / 2; count++) {
				const socket = connect(Number(address.split(':')[1]), '127.0.0.1').on('error', () => undefined);
				crowd.push(socket);
				await once(socket, 'connect');
				socket.write(said);
			}
			for (let probe = 0; probe < 10; probe++) {
				const headers = { connection: 'close' };
				expect((await fetch(`http://${address}/livez`, { headers })).status).toBe(200);
			}
		}
	} finally {
		for (const socket of crowd) socket.destroy();
		await admin.close();
	}
});

it('may be started until its port is free: no try leaves a listener behind', async () => {
	const taken = createServer().listen(0, '127.0.0.1');
	await once(taken, 'listening');
	const { port } = taken.address() as { readonly port: number };
	const readiness = () => ({ ready: true, reasons: [] });
	const admin = new AdminServer({ host: '127.0.0.1', port, registry: new Registry(), readiness });
	const warnings: string[] = [];
	const onWarning = ({ name }: Error): void => void warnings.push(name);
	process.on('warning', onWarning);
	try {
		for (let attempt = 0; attempt < 20; attempt++) {
			await expect(admin.start()).rejects.toThrow(`cannot serve the admin port at 127.0.0.1:${port}: `);
		}
		taken.close();
		await once(taken, 'close');
		const address = await admin.start();
		expect((await fetch(`http://${address}/livez`)).status).toBe(200);
		expect(warnings).toEqual([]);
	} finally {
		process.off('warning', onWarning);
		await admin.close();
	}
});
