import { fakeSnapshot } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { directClient, HOSTS } from '../../test/direct-client.ts';
import { simulate } from '../../test/simulated-client.ts';
import type { Lease } from './instance-records.ts';

describe('a lease', () => {
	it('is of an instance, for one call; released once, however often it is', async () => {
		const { diplomat } = directClient({ policy: 'least-in-flight' });
		const lease = await diplomat.acquire('barista');
		expect(lease.query).toEqual({ service: 'barista' });
		expect(lease.address).toEqual({ host: '10.0.0.1', port: 80, instance: 'node/10.0.0.1:80' });
		// Drawn are the first and the second: the first is busy.
		expect(diplomat.tryAcquire('barista')?.address.host).toBe('10.0.0.2');
		lease.release('success');
		lease.release('success');
		expect(diplomat.tryAcquire('barista')?.address.host).toBe('10.0.0.1');
		expect(diplomat.tryAcquire('barista')?.address.host).toBe('10.0.0.1');
	});

	it('takes the time since it was made, or what it is told', async () => {
		const { diplomat, clock } = directClient({ policy: 'least-latency' });
		const slow = await diplomat.acquire('barista');
		await clock.advance(500);
		slow.release('success');
		const told = await diplomat.acquire('barista');
		expect(told.address.host).toBe('10.0.0.2');
		told.release('success', 900);
		expect(diplomat.tryAcquire('barista')?.address.host).toBe('10.0.0.1');
	});

	it.each([
		['success', Number.NaN, RangeError],
		['success', Number.POSITIVE_INFINITY, RangeError],
		['success', -1, RangeError],
		['success', '5' as never, RangeError],
		['succes' as never, 5, TypeError],
	] as const)('released with %j and %j it throws, and is not released', async (outcome, durationMs, error) => {
		const { diplomat } = directClient({ policy: 'least-in-flight' }, HOSTS.slice(0, 2));
		const lease = await diplomat.acquire('barista');
		expect(() => lease.release(outcome, durationMs)).toThrow(error);
		expect(() => diplomat.report(lease.address, outcome, durationMs)).toThrow(error);
		// It still counts as busy.
		const others = [1, 2, 3].map(() => diplomat.tryAcquire('barista')?.address.host);
		expect(others.filter((host) => host === lease.address.host)).toHaveLength(1);
		lease.release('success', 5);
		lease.release('success', Number.NaN);
	});

	it('is never of an excluded instance while another serves', async () => {
		const { diplomat } = directClient();
		const exclude = new Set<string>();
		const hosts: string[] = [];
		for (let turn = 0; turn < HOSTS.length; turn++) {
			const { address } = await diplomat.acquire('barista', { exclude });
			hosts.push(address.host);
			exclude.add(address.instance);
		}
		expect(new Set(hosts).size).toBe(HOSTS.length);
		expect((await diplomat.acquire('barista', { exclude })).address.host).toMatch(/^10\.0\.0\./);
		expect(diplomat.pick('barista', { exclude: new Set(HOSTS.slice(1).map((host) => `node/${host}`)) })?.host).toBe(
			'10.0.0.1',
		);
	});

	it('of a service that has none rejects as a lookup does, and not at all in this tick', async () => {
		const { diplomat } = directClient({}, []);
		await expect(diplomat.acquire('barista')).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
		expect(diplomat.tryAcquire('barista')).toBeUndefined();
		await diplomat.close();
		await expect(diplomat.acquire('barista')).rejects.toMatchObject({ code: 'CLOSED' });
		expect(diplomat.tryAcquire('barista')).toBeUndefined();
	});

	it('over a sidecar: the first subscribes, the next are taken in this tick', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 1, HOSTS));
		expect(diplomat.tryAcquire('barista')).toBeUndefined();
		const lease = await diplomat.acquire('barista');
		expect(HOSTS).toContain(`${lease.address.host}:80`);
		expect(diplomat.tryAcquire('barista')).toBeDefined();
		expect(sidecar.requestsOf('watchService')).toHaveLength(1);
		await diplomat.close();
	});

	it('where the sidecar picks, its answer is leased, and nobody is ejected here', async () => {
		const { diplomat, sidecar } = await simulate({ lookups: 'remote' });
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		let lease: Lease | undefined;
		for (let turn = 0; turn < 6; turn++) {
			lease = await diplomat.acquire('barista');
			lease.release('failure');
		}
		expect(lease?.address.host).toBe('10.0.0.1');
		expect(diplomat.status().ejected).toEqual([]);
		await diplomat.close();
	});
});
