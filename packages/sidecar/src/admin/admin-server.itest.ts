import { once } from 'node:events';
import { createServer } from 'node:net';

import { Registry } from 'prom-client';
import { expect, it } from 'vitest';

import { AdminServer } from './admin-server.ts';

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
