import { Registry } from 'prom-client';
import { expect, it } from 'vitest';

import { AdminServer } from './admin-server.ts';

it('is alive whatever its registry does, and ready only if it is', async () => {
	const state = { ready: false, reasons: ['the backend consul has not answered yet'] };
	const admin = new AdminServer({ host: '127.0.0.1', port: 0, registry: new Registry(), readiness: () => state });
	const address = await admin.start();
	try {
		const statusOf = async (path: string): Promise<number> => (await fetch(`http://${address}${path}`)).status;
		expect([await statusOf('/livez'), await statusOf('/readyz')]).toEqual([200, 503]);
		state.ready = true;
		expect([await statusOf('/livez'), await statusOf('/readyz')]).toEqual([200, 200]);
	} finally {
		await admin.close();
	}
});
