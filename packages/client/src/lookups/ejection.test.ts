import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import type { ServiceAddress } from '@spock/protocol';
import { fakeSnapshot, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { at, directClient, HOSTS, picks } from '../../test/direct-client.ts';
import { simulate } from '../../test/simulated-client.ts';
import type { Diplomat } from '../diplomat.ts';

function fail(diplomat: Diplomat, host: string, times: number): void {
	for (let turn = 0; turn < times; turn++) diplomat.report(at(`${host}:80`), 'failure', 1);
}

describe('ejection', () => {
	it('an instance whose calls fail in a row gets no more for a while, then one chance', async () => {
		const { diplomat, clock } = directClient();
		expect(picks(diplomat, 8).size).toBe(4);
		fail(diplomat, '10.0.0.2', 4);
		expect(picks(diplomat, 8).size).toBe(4);
		fail(diplomat, '10.0.0.2', 1);
		expect(picks(diplomat, 8)).toEqual(new Set(['10.0.0.1', '10.0.0.3', '10.0.0.4']));
		expect(diplomat.status().ejected).toEqual([
			{
				service: 'barista',
				instance: 'node/10.0.0.2:80',
				host: '10.0.0.2',
				port: 80,
				leftMs: 10_000,
				failures: 5,
				ejections: 1,
			},
		]);
		await clock.advance(10_000);
		expect(diplomat.status().ejected).toEqual([]);
		expect(picks(diplomat, 8).size).toBe(4);
		fail(diplomat, '10.0.0.2', 1);
		expect(picks(diplomat, 8).size).toBe(3);
		await clock.advance(19_999);
		expect(picks(diplomat, 8).size).toBe(3);
		await clock.advance(1);
		expect(picks(diplomat, 8).size).toBe(4);
	});

	it('leases tell it by themselves, and lookups go by it, too', async () => {
		const { diplomat } = directClient({ ejectAfterFailures: 1 });
		const lease = await diplomat.acquire('barista');
		lease.release('failure');
		const hosts = new Set<string>();
		for (let turn = 0; turn < 8; turn++) hosts.add((await diplomat.getService('barista')).host);
		expect(hosts.has(lease.address.host)).toBe(false);
		expect(hosts.size).toBe(3);
	});

	it('never takes more than its share of a service: half of it, or what is set', () => {
		for (const [ejectedPercentMax, left] of [
			[50, 2],
			[25, 3],
			[0, 4],
			[100, 0],
		] as const) {
			const { diplomat } = directClient({ ejectAfterFailures: 1, ejectedPercentMax });
			for (const host of HOSTS) diplomat.report(at(host), 'failure', 1);
			const seen = picks(diplomat, 8);
			seen.delete(undefined);
			expect(seen.size).toBe(left);
			expect(diplomat.status().ejectedPercentMax).toBe(ejectedPercentMax);
		}
	});

	it('is of the instance, whatever question found it', () => {
		const { diplomat } = directClient({ ejectAfterFailures: 1 });
		const hosts = (): Set<string | undefined> =>
			new Set(Array.from({ length: 8 }, () => diplomat.pick({ service: 'barista', tags: ['v1'] })?.host));
		expect(hosts().size).toBe(4);
		fail(diplomat, '10.0.0.1', 1);
		expect(hosts().size).toBe(3);
	});

	it('is of one service at one place: an instance of the same name of another service, datacenter or peer gets its work', () => {
		const { diplomat } = directClient({ ejectAfterFailures: 1 });
		const failing = diplomat.pick('barista');
		if (failing === undefined) throw new Error('nobody serves');
		diplomat.report(failing, 'failure', 1);
		expect(picks(diplomat, 8)).not.toContain(failing.host);
		for (const other of [
			{ service: 'orders' },
			{ service: 'barista', datacenter: 'dc2' },
			{ service: 'barista', peer: 'east' },
		]) {
			const seen = new Set(Array.from({ length: 8 }, () => diplomat.pick(other)?.host));
			expect(seen).toContain(failing.host);
		}
		expect(diplomat.status().ejected).toMatchObject([{ service: 'barista', host: failing.host, port: 80 }]);
	});

	it('is not needed for an instance without a usable place: a source of anybody’s that tells of one blames no caller', () => {
		const { diplomat, publish } = directClient();
		const snapshot = fakeSnapshot('barista', 2, HOSTS);
		const [first, ...others] = snapshot.instances;
		if (first === undefined) throw new Error('no instance');
		for (const place of [{ host: '10.0.0.1\r\nX: 1' }, { host: '' }, { port: 70_000 }]) {
			publish({ ...snapshot, revision: snapshot.revision + 1, instances: [{ ...first, ...place }, ...others] });
			expect(picks(diplomat, 8)).toEqual(new Set(['10.0.0.2', '10.0.0.3', '10.0.0.4']));
		}
	});

	it('goes by calls of its own service: those in flight to another do not count', async () => {
		const { diplomat } = directClient({ policy: 'least-in-flight' });
		const lease = await diplomat.acquire('orders');
		expect(lease.address.host).toBe('10.0.0.1');
		expect(diplomat.tryAcquire('barista')?.address.host).toBe('10.0.0.1');
	});

	it('an address is reported by itself where this client has given it, whatever way; any other must say whose it is', async () => {
		const { diplomat } = directClient({ ejectAfterFailures: 1 });
		const given = [
			await diplomat.getService('barista'),
			diplomat.pick('barista'),
			(await diplomat.acquire('barista')).address,
		];
		for (const address of given) diplomat.report(address as ServiceAddress, 'success', 1);
		const [first] = given;
		const strange = 'address must be one that this client returned';
		expect(() => diplomat.report({ ...(first as ServiceAddress) }, 'failure', 1)).toThrow(strange);
		expect(() => diplomat.report('node/1' as never, 'failure', 1)).toThrow(strange);
		expect(() => diplomat.report(null as never, 'failure', 1)).toThrow(strange);
		for (const query of ['barista', {}, null]) {
			expect(() => diplomat.report({ ...(first as ServiceAddress), query } as never, 'failure', 1)).toThrow(strange);
		}
		expect(() => diplomat.report({ query: { service: 'barista' } } as never, 'failure', 1)).toThrow(strange);
		diplomat.report({ ...(first as ServiceAddress), query: { service: 'barista' } }, 'failure', 1);
		expect(diplomat.status().ejected).toHaveLength(1);
	});

	it.each([
		['has moved to another address', { host: '10.0.0.9' }, { host: '10.0.0.1' }],
		['is called well again by the registry', {}, { status: 'critical' }],
	] as const)('ends when the instance %s', (_what, then, first) => {
		const { diplomat, publish } = directClient({ ejectAfterFailures: 1 });
		const snapshot = fakeSnapshot('barista', 2, HOSTS);
		const [one, ...others] = snapshot.instances;
		if (one === undefined) throw new Error('no instance');
		publish({ ...snapshot, instances: [{ ...one, ...first }, ...others] });
		diplomat.pick('barista');
		diplomat.report({ ...one, ...first, query: { service: 'barista' } }, 'failure', 1);
		expect(diplomat.status().ejected).toHaveLength(1);
		publish({ ...snapshot, revision: 3, instances: [{ ...one, ...then }, ...others] });
		expect(picks(diplomat, 8).size).toBe(4);
	});

	it('ends when the instance has left the registry and is back, even if calls to the old process fail in between', () => {
		const { diplomat, publish } = directClient({ ejectAfterFailures: 2 });
		fail(diplomat, '10.0.0.1', 2);
		expect(picks(diplomat, 8)).not.toContain('10.0.0.1');
		publish(fakeSnapshot('barista', 2, HOSTS.slice(2)));
		fail(diplomat, '10.0.0.2', 2);
		publish(fakeSnapshot('barista', 3, HOSTS));
		expect(diplomat.status().ejected).toEqual([]);
		expect(picks(diplomat, 8)).toEqual(new Set(['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4']));
		// Nor is it on trial.
		fail(diplomat, '10.0.0.1', 1);
		expect(diplomat.status().ejected).toEqual([]);
	});

	it('is told on a channel, and by explain', async () => {
		const messages: unknown[] = [];
		const listener = (message: unknown): void => void messages.push(message);
		subscribe('spock:client:ejection', listener);
		try {
			const { diplomat } = directClient();
			await diplomat.getService('barista');
			fail(diplomat, '10.0.0.3', 6);
			expect(messages).toEqual([
				{
					service: 'barista',
					instance: 'node/10.0.0.3:80',
					host: '10.0.0.3',
					port: 80,
					leftMs: 10_000,
					failures: 5,
					ejections: 1,
				},
			]);
			const { instances } = await diplomat.explain('barista');
			expect(instances.map(({ included }) => included)).toEqual([true, true, false, true]);
			expect(instances[2]?.reason).toBe(
				'all its checks pass; ejected by this client: 5 calls in a row failed, back in 10000 ms',
			);
		} finally {
			unsubscribe('spock:client:ejection', listener);
		}
	});

	it('explain tells of instances that nobody can be sent to, and does not call them ejected', async () => {
		const { diplomat } = directClient({}, ['10.0.0.1:80', 'not a host:80', '10.0.0.3:70000']);
		await diplomat.getService('barista');
		const { instances } = await diplomat.explain('barista');
		expect(instances.map(({ included, reason }) => [included, reason])).toEqual([
			[true, 'all its checks pass'],
			[false, 'all its checks pass; its host or port is unusable'],
			[false, 'all its checks pass; its host or port is unusable'],
		]);
	});

	it('is told by explain over a sidecar as well, which knows nothing of it', async () => {
		const told = HOSTS.map((host) => ({ instance: `node/${host}`, included: true, reason: 'all its checks pass' }));
		const { diplomat, sidecar } = await simulate(
			{ ejectAfterFailures: 1 },
			{
				handle: ({ func }) => (func === 'explain' ? { data: { service: 'barista', instances: told } } : undefined),
			},
		);
		sidecar.publish(fakeSnapshot('barista', 1, HOSTS));
		await diplomat.getService('barista');
		fail(diplomat, '10.0.0.3', 1);
		const { instances } = await diplomat.explain('barista');
		expect(instances.map(({ included }) => included)).toEqual([true, true, false, true]);
		await diplomat.close();
	});

	it.each([[null], [{}], [{ instances: 7 }], [{ instances: [null, 7] }]])('explain passes on %j', async (data) => {
		const handle = ({ func }: { func: string }) => (func === 'explain' ? { data } : undefined);
		const { diplomat, sidecar } = await simulate({ ejectAfterFailures: 1 }, { handle });
		sidecar.publish(fakeSnapshot('barista', 1, HOSTS));
		await diplomat.getService('barista');
		fail(diplomat, '10.0.0.3', 1);
		expect(await diplomat.explain('barista')).toEqual(data);
		await diplomat.close();
	});

	it('what was reported of instances that nobody sees any more is forgotten', async () => {
		const { diplomat, clock } = directClient({
			ejectAfterFailures: 1,
			idleSubscriptionMs: 1000,
			ejectionMsMin: 100_000,
		});
		await diplomat.getService('barista');
		diplomat.report(at('10.0.0.99:80'), 'failure', 1);
		fail(diplomat, '10.0.0.1', 1);
		expect(diplomat.status().ejected).toHaveLength(2);
		diplomat.pick('barista');
		await clock.advance(500);
		await settle();
		expect(diplomat.status().ejected.map(({ instance }) => instance)).toEqual(['node/10.0.0.1:80']);
	});

	it('what is misspelt is refused, and not left out', async () => {
		const { diplomat } = directClient();
		const misspelt = { service: 'barista', tag: 'v2' };
		const message = 'unknown member "tag"; did you mean "tags"?';
		await expect(diplomat.acquire(misspelt)).rejects.toThrow(message);
		expect(() => diplomat.pick(misspelt)).toThrow(message);
		expect(() => diplomat.watchService(misspelt)).toThrow(message);
		await expect(diplomat.acquire('barista', { maxAge: 5 } as object)).rejects.toThrow('did you mean "maxAgeMs"?');
		const lease = await diplomat.acquire('barista');
		expect(() => lease.release('fail' as 'failure')).toThrow('outcome must be one of');
	});

	it('wrong reports throw, naming what is wrong', () => {
		const { diplomat } = directClient();
		expect(() => diplomat.report(at('10.0.0.1:80'), 'good' as 'success', 1)).toThrow(
			'outcome must be one of success, failure, cancelled, not "good"',
		);
		for (const durationMs of [-1, Number.NaN])
			expect(() => diplomat.report(at('10.0.0.1:80'), 'success', durationMs)).toThrow(
				`durationMs must be a finite number of at least 0, not ${durationMs}`,
			);
	});
});
