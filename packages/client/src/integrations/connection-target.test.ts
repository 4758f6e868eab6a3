import { fakeSnapshot, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';
import { ConnectionTarget, sniOf } from './connection-target.ts';

const address = { host: '10.0.0.1', port: 5432, instance: 'pg-1' };

describe('the target of connections', () => {
	it('wrong options throw, and name themselves', async () => {
		const { diplomat } = await simulate();
		const target = (options: object) => new ConnectionTarget({ diplomat, service: 'orders-db', ...options });
		expect(() => target({ diplomat: undefined })).toThrow(/diplomat must be/);
		expect(() => target({ service: '' })).toThrow(expect.objectContaining({ code: 'BAD_REQUEST' }));
		expect(() => target({ tags: 'primary' })).toThrow(expect.objectContaining({ code: 'BAD_REQUEST' }));
		expect(() => target({ lookupTimeoutMs: 0 })).toThrow(/lookupTimeoutMs must be/);
		await diplomat.close();
	});

	it('asks with all that selects instances, and leaves out what failed', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publish(fakeSnapshot('orders-db', 1, ['10.0.0.1:5432', '10.0.0.2:5432']));
		await settle();
		const target = new ConnectionTarget({ diplomat, service: 'orders-db' });
		const { signal } = new AbortController();
		const first = (await target.acquire(signal, undefined)).address;
		for (let turn = 0; turn < 3; turn++) {
			const { host } = (await target.acquire(signal, new Set([first.instance]))).address;
			expect(host).not.toBe(first.host);
		}
		const tagged = new ConnectionTarget({ diplomat, service: 'orders-db', tags: ['primary'], datacenter: 'dc2' });
		expect(tagged.query).toEqual({ service: 'orders-db', tags: ['primary'], datacenter: 'dc2' });
		await diplomat.close();
	});

	it('every error names the service', async () => {
		const { diplomat } = await simulate();
		const target = new ConnectionTarget({ diplomat, service: 'orders-db' });
		const abort = new AbortController();
		abort.abort();
		const message = expect.stringContaining('orders-db');
		await expect(target.acquire(abort.signal, undefined)).rejects.toMatchObject({ code: 'ABORTED', message });
		await diplomat.close();
		const { signal } = new AbortController();
		const details = expect.objectContaining({ service: 'orders-db' });
		await expect(target.acquire(signal, undefined)).rejects.toMatchObject({ code: 'CLOSED', message, details });
	});

	it('the server’s name is what is asked for, else that of the TLS options, else the instance’s host', async () => {
		const { diplomat } = await simulate();
		const name = (servername?: ConstructorParameters<typeof ConnectionTarget>[0]['servername'], fallback?: string) =>
			new ConnectionTarget({
				diplomat,
				service: 'orders-db',
				...(servername !== undefined && { servername }),
			}).servername(address, fallback);
		expect(name()).toBe('10.0.0.1');
		expect(name(undefined, 'db.example')).toBe('db.example');
		expect(name('pg.example', 'db.example')).toBe('pg.example');
		expect(name(({ service }, { instance }) => `${instance}.${service}.example`)).toBe('pg-1.orders-db.example');
		await diplomat.close();
	});

	it('an address is no SNI', () => {
		expect(['db.example', '10.0.0.1', '::1'].map(sniOf)).toEqual(['db.example', undefined, undefined]);
	});
});
