import type { ServiceAddress } from '@spock/protocol';
import { fakeSnapshot, settle, wireError } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';

/** A value as messages name it. */
function shown(value: unknown): string {
	if (typeof value === 'string') return JSON.stringify(value);
	if (Array.isArray(value)) return 'an array';
	return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

describe('lookups', () => {
	it('the first subscribes, later ones are picked here with no I/O', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80', '10.0.0.2:80']));
		const first = await diplomat.getService('barista');
		const written = sidecar.requests.length;
		const answers = [
			await diplomat.getService('barista'),
			await diplomat.getService('barista'),
			diplomat.pick('barista'),
		];
		expect(new Set([first, ...answers].map((address) => address?.host))).toEqual(new Set(['10.0.0.1', '10.0.0.2']));
		expect(answers[1]).toBe(first);
		expect(Object.isFrozen(first)).toBe(true);
		expect(sidecar.requests).toHaveLength(written);
		expect(sidecar.requestsOf('watchService')).toHaveLength(1);
		await diplomat.close();
	});

	it('a thousand first lookups share one subscription', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		await Promise.all(Array.from({ length: 1000 }, () => diplomat.getService('barista')));
		expect(sidecar.requestsOf('watchService')).toHaveLength(1);
		await diplomat.close();
	});

	it('follow a push at once', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		await diplomat.getService('barista');
		sidecar.publish(fakeSnapshot('barista', 2, ['10.0.0.2:80']));
		await settle();
		expect(diplomat.pick('barista')?.host).toBe('10.0.0.2');
		await diplomat.close();
	});

	it('a push that is not newer is dropped, and a broken one is a fault', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 5, ['10.0.0.5:80']));
		await diplomat.getService('barista');
		for (const revision of [4, 5])
			sidecar.connection.push('service', fakeSnapshot('barista', revision, ['10.0.0.4:80']));
		for (const broken of [null, {}, { service: 'barista', revision: 9, instances: [null] }])
			sidecar.connection.push('service', broken);
		sidecar.connection.push('service', fakeSnapshot('nobody asked', 9, []));
		sidecar.connection.push('of a later version', null);
		await settle();
		expect(diplomat.pick('barista')?.host).toBe('10.0.0.5');
		expect(diplomat.status().protocolFaults).toBe(3);
		await diplomat.close();
	});

	it.each([7, '', {}, null, true])('the key %j is no key: all lookups would be of one instance', async (wrong) => {
		for (const lookups of ['local', 'remote'] as const) {
			const { diplomat, sidecar } = await simulate({ lookups });
			sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80', '10.0.0.2:80']));
			await diplomat.getService('barista');
			const key = wrong as string;
			const refusal = new TypeError(`key must be a string that is not empty, not ${shown(wrong)}`);
			expect(() => diplomat.pick('barista', { key })).toThrow(refusal);
			expect(() => diplomat.getService('barista', { key })).toThrow(refusal);
			await expect(diplomat.acquire('barista', { key })).rejects.toThrow(refusal);
			await expect(diplomat.acquire('barista', { key, fresh: true })).rejects.toThrow(refusal);
			if (lookups === 'local') expect(() => diplomat.tryAcquire('barista', { key })).toThrow(refusal);
			await diplomat.close();
		}
	});

	it.each([undefined, null, 7, ['barista']])('of %j is told what a service is', async (wrong) => {
		const message = `service must be a name, or an object with service, tags, datacenter, meta, peer, not ${shown(wrong)}`;
		for (const lookups of ['local', 'remote'] as const) {
			const { diplomat } = await simulate({ lookups });
			const service = wrong as unknown as string;
			await expect((async () => diplomat.getService(service))()).rejects.toThrow(new TypeError(message));
			await expect(diplomat.getInstances(service)).rejects.toThrow(new TypeError(message));
			expect(() => diplomat.pick(service)).toThrow(new TypeError(message));
			expect(() => diplomat.watchService(service)).toThrow(new TypeError(message));
			await diplomat.close();
		}
	});

	it('a name with a control character is BAD_REQUEST, also where it is spelt as the key of a known query', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publish({ ...fakeSnapshot('payments', 1, ['10.0.0.1:80']), tags: ['v1'] });
		await diplomat.getService({ service: 'payments', tags: ['v1'] });
		const refusal = { code: 'BAD_REQUEST', details: { path: 'service' } };
		for (const name of ['payments\n[["v1"],null,null,null]', 'a\tb', 'a\ud800']) {
			await expect(diplomat.getService(name)).rejects.toMatchObject(refusal);
			await expect(diplomat.getInstances({ service: name })).rejects.toMatchObject(refusal);
			expect(() => diplomat.pick(name)).toThrow(expect.objectContaining(refusal));
			expect(() => diplomat.watchService(name)).toThrow(expect.objectContaining(refusal));
		}
		expect(sidecar.requestsOf('watchService')).toHaveLength(1);
		await diplomat.close();
	});

	it('tell an unknown service from an unhealthy one', async () => {
		const { diplomat, sidecar } = await simulate();
		const known = fakeSnapshot('waiter', 1, ['10.0.0.1:80']);
		sidecar.publish({ ...known, instances: known.instances.map((one) => ({ ...one, status: 'critical' as const })) });
		await expect(diplomat.getService('nobody')).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
		await expect(diplomat.getService('waiter')).rejects.toMatchObject({
			code: 'NO_HEALTHY_INSTANCE',
			details: { statuses: { critical: 1 } },
		});
		expect(diplomat.pick('waiter')).toBeUndefined();
		await diplomat.close();
	});

	it('by tags and by key; queries with equal tags are one subscription', async () => {
		const { diplomat, sidecar } = await simulate();
		const hosts = Array.from({ length: 10 }, (_, index) => `10.0.0.${index}:80`);
		sidecar.publish({ ...fakeSnapshot('barista', 1, hosts), tags: ['a', 'b'] });
		const query = { service: 'barista', tags: ['b', 'a', 'a'] };
		const [first, again] = [
			await diplomat.getService(query, { key: 'user-1' }),
			await diplomat.getService({ service: 'barista', tags: ['a', 'b'] }, { key: 'user-1' }),
		];
		expect(again).toBe(first);
		expect(diplomat.pick(query, { key: 'user-1' })).toBe(first);
		expect(sidecar.requestsOf('watchService')).toMatchObject([{ data: { service: 'barista', tags: ['a', 'b'] } }]);
		await diplomat.close();
	});

	it('fresh ones, and all with `remote`, ask the sidecar each time', async () => {
		const { diplomat, sidecar } = await simulate({ lookups: 'remote' });
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		expect(await diplomat.getService('barista')).toEqual({ host: '10.0.0.1', port: 80, instance: 'node/10.0.0.1:80' });
		await diplomat.getService('barista', { fresh: true, timeoutMs: 50, key: 'k' });
		expect(sidecar.requestsOf('getService').map(({ data }) => data)).toEqual([
			{ service: 'barista' },
			{ service: 'barista', key: 'k' },
		]);
		expect(sidecar.requestsOf('watchService')).toHaveLength(0);
		await diplomat.close();
	});

	it('two services whose replies are equal have addresses of their own: a failure counts for the one that was called', async () => {
		const { diplomat, sidecar } = await simulate({ ejectAfterFailures: 1 });
		for (const service of ['a', 'b']) sidecar.publish(fakeSnapshot(service, 1, ['10.0.0.1:80', '10.0.0.2:80']));
		const ask = (service: string): Promise<ServiceAddress> => diplomat.getService(service, { fresh: true });
		const [a, b] = [await ask('a'), await ask('b')];
		expect(await ask('a')).toEqual(b);
		diplomat.report(b, 'failure', 1);
		expect(diplomat.status().ejected.map(({ service }) => service)).toEqual(['b']);
		diplomat.report(a, 'failure', 1);
		expect(diplomat.status().ejected.map(({ service }) => service)).toEqual(['b', 'a']);
		await diplomat.close();
	});

	it('past the most subscriptions they go over the wire', async () => {
		const { diplomat, sidecar } = await simulate({ subscriptionsMax: 1 });
		for (const service of ['a', 'b']) sidecar.publish(fakeSnapshot(service, 1, ['10.0.0.1:80']));
		for (const service of ['a', 'b', 'b']) await diplomat.getService(service);
		expect(diplomat.status().subscriptions).toBe(1);
		expect(sidecar.requestsOf('getService')).toHaveLength(2);
		expect((await diplomat.getInstances('b')).revision).toBe(1);
		await diplomat.close();
	});

	it('subscriptions that nobody reads are ended, those in use are not', async () => {
		const { diplomat, sidecar, clock } = await simulate({ idleSubscriptionMs: 1000 });
		for (const service of ['idle', 'used']) {
			sidecar.publish(fakeSnapshot(service, 1, ['10.0.0.1:80']));
			await diplomat.getService(service);
		}
		for (let turn = 0; turn < 10; turn++) {
			await clock.advance(300);
			diplomat.pick('used');
		}
		expect(sidecar.requestsOf('unwatchService').map(({ data }) => data)).toEqual([{ service: 'idle' }]);
		expect(diplomat.status().subscriptions).toBe(1);
		await diplomat.close();
	});

	it('a wrong deadline throws at the call, naming option and value', async () => {
		const { diplomat } = await simulate();
		for (const timeoutMs of [Number.POSITIVE_INFINITY, 3e9, Number.NaN, -5, 0, 1.5]) {
			expect(() => diplomat.getService('barista', { timeoutMs })).toThrow(/^timeoutMs must be an integer from 1 to/);
			expect(() => diplomat.request('ping', 1, { timeoutMs })).toThrow(RangeError);
			expect(() => diplomat.getInstances('barista', { timeoutMs })).toThrow(RangeError);
		}
		await expect(diplomat.getService('')).rejects.toMatchObject({ code: 'BAD_REQUEST', details: { path: 'service' } });
		await diplomat.close();
	});

	it('a sidecar that is not ready is asked again, for calls within their deadlines, whose reason it is, and for watches', async () => {
		let refusals = 5;
		const { diplomat, sidecar, clock } = await simulate(
			{},
			{
				handle: ({ func }) =>
					func === 'watchService' && refusals-- > 0 ? { error: wireError('NOT_READY', true) } : undefined,
			},
		);
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		const late = expect(diplomat.getService('barista', { timeoutMs: 50 })).rejects.toMatchObject({ code: 'NOT_READY' });
		const patient = diplomat.getService('barista');
		await clock.advance(50);
		await late;
		await clock.advance(4000);
		expect(await patient).toMatchObject({ host: '10.0.0.1' });
		expect(diplomat.pick('barista')?.host).toBe('10.0.0.1');
		await diplomat.close();
	});
});

describe('while the sidecar is away', () => {
	it('answers go on, marked stale, with an age that grows; and are live again after', async () => {
		const { diplomat, sidecar, clock, network } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		expect(await diplomat.getService('barista')).not.toHaveProperty('stale');
		network.failsWith = 'ECONNREFUSED';
		sidecar.connection.drop();
		await settle();
		await clock.advance(1000);
		// An age is in whole milliseconds, although clocks have fractions.
		clock.work(0.25);
		expect(await diplomat.getService('barista')).toMatchObject({ host: '10.0.0.1', stale: true, ageMs: 1000 });
		await clock.advance(500);
		expect(diplomat.pick('barista')).toMatchObject({ stale: true, ageMs: 1500 });
		expect(await diplomat.getInstances('barista')).toMatchObject({ source: 'last-known-good', ageMs: 1500 });
		network.failsWith = undefined;
		await clock.advance(2000);
		expect(await diplomat.getService('barista')).not.toHaveProperty('stale');
		await diplomat.close();
	});

	it('another process that remembers less than is known replaces nothing, until it has a live answer', async () => {
		const { diplomat, sidecar, clock } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 5, ['10.0.0.1:80']));
		await diplomat.getService('barista');
		sidecar.options = { instance: 'fake-2' };
		const old = { source: 'last-known-good', ageMs: 60_000 } as const;
		sidecar.publish({ ...fakeSnapshot('barista', 1, ['10.0.0.9:80']), ...old });
		sidecar.connection.drop();
		await clock.advance(1000);
		expect(diplomat.status()).toMatchObject({ state: 'ready', instance: 'fake-2' });
		expect(await diplomat.getService('barista')).toMatchObject({ host: '10.0.0.1', stale: true });
		sidecar.publish(fakeSnapshot('barista', 2, ['10.0.0.2:80']));
		await settle();
		expect(await diplomat.getService('barista')).toMatchObject({ host: '10.0.0.2' });
		await diplomat.close();
	});

	it('another process may start its revisions again', async () => {
		const { diplomat, sidecar, clock } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 50, ['10.0.0.1:80']));
		await diplomat.getService('barista');
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.2:80']));
		await settle();
		expect(diplomat.pick('barista')?.host).toBe('10.0.0.1');
		sidecar.options = { instance: 'fake-2' };
		sidecar.connection.drop();
		await clock.advance(1000);
		expect(diplomat.pick('barista')).toMatchObject({ host: '10.0.0.2' });
		expect(diplomat.status().instance).toBe('fake-2');
		await diplomat.close();
	});

	it('a lookup in flight is repeated on the next connection, within its deadline', async () => {
		let holding = true;
		const { diplomat, sidecar, clock } = await simulate(
			{},
			{ handle: ({ func }) => (func === 'getService' && holding ? 'hold' : undefined) },
		);
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		const lookup = diplomat.getService('barista', { fresh: true });
		await settle();
		holding = false;
		sidecar.connection.drop();
		await clock.advance(1000);
		expect(await lookup).toMatchObject({ host: '10.0.0.1' });
		expect(sidecar.requestsOf('getService')).toHaveLength(2);
		await diplomat.close();
	});

	it('a first lookup that the sidecar does not answer says what to look at', async () => {
		const { diplomat, clock } = await simulate(
			{},
			{ handle: ({ func }) => (func === 'watchService' ? 'hold' : undefined) },
		);
		const settled = expect(diplomat.getService('barista', { timeoutMs: 200 })).rejects.toMatchObject({
			code: 'TIMEOUT',
			message: expect.stringMatching(
				/"barista" came within 200 ms; the sidecar at .*simulated.sock is connected.*check its log/,
			),
		});
		await clock.advance(200);
		await settled;
		await diplomat.close();
	});

	it('a first lookup waits for the sidecar, and at its deadline says what is wrong', async () => {
		const { diplomat, clock } = await simulate({}, {}, 'ENOENT');
		const settled = expect(diplomat.getService('barista', { timeoutMs: 200 })).rejects.toMatchObject({
			code: 'TIMEOUT',
			message: expect.stringContaining('/nowhere/simulated.sock'),
		});
		await clock.advance(200);
		await settled;
		await diplomat.close();
		expect(clock.pendingTimers).toBe(0);
	});
});
