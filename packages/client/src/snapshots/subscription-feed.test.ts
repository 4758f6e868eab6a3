import { type FakeAnswer, fakeKey, fakeSnapshot, type RecordedRequest, settle, wireError } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';

/** Answers subscriptions in its own way, and all else as the fake sidecar does. */
const watching = (answer: (request: RecordedRequest) => FakeAnswer | undefined) => ({
	handle: (request: RecordedRequest) => (request.func === 'watchService' ? answer(request) : undefined),
});

describe('a subscription', () => {
	it('past the most there may be is OVERLOADED, and those that are go on', async () => {
		const { diplomat, sidecar } = await simulate({ subscriptionsMax: 1 });
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		const first = diplomat.watchService('barista');
		await first.next();
		await expect(diplomat.watchService('roaster').next()).rejects.toMatchObject({
			code: 'OVERLOADED',
			details: { subscriptionsMax: 1 },
		});
		sidecar.publish(fakeSnapshot('barista', 2, ['10.0.0.2:80']));
		expect((await first.next()).value).toMatchObject({ revision: 2 });
		await diplomat.close();
	});

	it('that was refused is asked for again at once for somebody who asks now', async () => {
		let isReady = false;
		const { diplomat, sidecar, clock } = await simulate(
			{},
			watching(() => (isReady ? undefined : { error: wireError('NOT_READY', true) })),
		);
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		const late = expect(diplomat.getInstances('barista', { timeoutMs: 50 })).rejects.toMatchObject({
			code: 'NOT_READY',
		});
		await clock.advance(50);
		await late;
		isReady = true;
		const before = sidecar.requestsOf('watchService').length;
		expect(await diplomat.getInstances('barista')).toMatchObject({ revision: 1 });
		expect(sidecar.requestsOf('watchService')).toHaveLength(before + 1);
		await diplomat.close();
	});

	it('that is refused is asked for again at least each second while a caller waits', async () => {
		let isReady = false;
		const { diplomat, sidecar, clock } = await simulate(
			{},
			watching(() => (isReady ? undefined : { error: wireError('OVERLOADED', true) })),
		);
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		const asked = diplomat.getInstances('barista', { timeoutMs: 60_000 });
		await clock.advance(50_000);
		isReady = true;
		await clock.advance(1000);
		expect(await asked).toMatchObject({ revision: 1 });
		await diplomat.close();
	});

	it('that was refused says why to whoever watches it next; what waiting may mend is waited out', async () => {
		let code = 'ACL_DENIED';
		const { diplomat, sidecar, clock } = await simulate(
			{},
			watching(() => (code === '' ? undefined : { error: wireError(code, code !== 'ACL_DENIED') })),
		);
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		await expect(diplomat.getInstances('barista')).rejects.toMatchObject({ code: 'ACL_DENIED' });
		await expect(diplomat.watchService('barista').next()).rejects.toMatchObject({ code: 'ACL_DENIED' });
		code = 'UNAVAILABLE';
		await clock.advance(10_000);
		const next = diplomat.watchService('barista').next();
		await clock.advance(10_000);
		code = '';
		await clock.advance(20_000);
		expect((await next).value).toMatchObject({ revision: 1 });
		await diplomat.close();
	});

	it('that is refused after a reconnect leaves what is known, marked stale', async () => {
		let isDenied = false;
		const { diplomat, sidecar, clock } = await simulate(
			{},
			watching(() => (isDenied ? { error: wireError('ACL_DENIED') } : undefined)),
		);
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		await diplomat.getService('barista');
		isDenied = true;
		sidecar.connection.drop();
		await clock.advance(1000);
		expect(diplomat.status().state).toBe('ready');
		expect(await diplomat.getService('barista')).toMatchObject({ host: '10.0.0.1', stale: true });
		expect(await diplomat.getInstances('barista')).toMatchObject({ source: 'last-known-good' });
		await diplomat.close();
	});

	it('moved by a goaway hears nothing of the first connection any more, neither an answer nor a refusal', async () => {
		const { diplomat, sidecar, clock } = await simulate(
			{ stableMs: 10 },
			watching(({ connection }) => (connection === 0 ? 'hold' : undefined)),
		);
		await clock.advance(10);
		const answers = Promise.all([diplomat.getInstances('barista'), diplomat.getInstances('roaster')]);
		sidecar.publish(fakeSnapshot('barista', 5, ['10.0.0.5:80']));
		sidecar.publish(fakeSnapshot('roaster', 5, ['10.0.0.6:80']));
		await settle();
		const [first] = sidecar.connections;
		const [barista, roaster] = sidecar.requestsOf('watchService');
		first?.push('goaway', { reason: 'upgrade', graceMs: 1000 });
		await settle();
		expect(await answers).toMatchObject([{ revision: 5 }, { revision: 5 }]);
		first?.reply(barista?.id ?? -1, fakeSnapshot('barista', 9, ['10.0.0.9:80']));
		first?.fail(roaster?.id ?? -1, wireError('ACL_DENIED'));
		await settle();
		expect(await diplomat.getInstances('barista')).toMatchObject({ revision: 5 });
		expect(await diplomat.getInstances('roaster')).toMatchObject({ revision: 5, source: 'live' });
		await diplomat.close();
	});

	it('that nobody reads ends while the sidecar is away too: the next one is not told of it', async () => {
		const { diplomat, sidecar, clock, network } = await simulate({ idleSubscriptionMs: 1000 });
		await diplomat.getInstances('barista');
		network.failsWith = 'ECONNREFUSED';
		sidecar.connection.drop();
		await clock.advance(3000);
		expect(diplomat.status().subscriptions).toBe(0);
		network.failsWith = undefined;
		await clock.advance(3000);
		expect(diplomat.status().state).toBe('ready');
		expect(sidecar.requestsOf('watchService')).toHaveLength(1);
		expect(sidecar.requestsOf('unwatchService')).toHaveLength(0);
		await diplomat.close();
	});
});

describe('a push that cannot be read', () => {
	it('makes what is known last known, and asks anew: what is true now is live again', async () => {
		const { diplomat, sidecar, clock } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		sidecar.publish(fakeSnapshot('roaster', 1, ['10.0.0.9:80']));
		expect(await diplomat.getService('barista')).not.toHaveProperty('stale');
		await diplomat.getService('roaster');
		sidecar.connection.push('service', { ...fakeSnapshot('barista', 2, []), instances: 'none' });
		await settle();
		expect(await diplomat.getService('barista')).toMatchObject({ host: '10.0.0.1', stale: true });
		expect(await diplomat.getService('roaster')).not.toHaveProperty('stale');
		expect(diplomat.status().protocolFaults).toBe(1);
		await clock.advance(200);
		expect(sidecar.requestsOf('watchService')).toHaveLength(3);
		expect(await diplomat.getService('barista')).toEqual(expect.not.objectContaining({ stale: true }));
		await diplomat.close();
	});

	it('and does not say what it is about concerns all of its kind', async () => {
		const { diplomat, sidecar, clock } = await simulate();
		for (const name of ['barista', 'roaster']) sidecar.publish(fakeSnapshot(name, 1, ['10.0.0.1:80']));
		for (const name of ['barista', 'roaster']) await diplomat.getService(name);
		sidecar.connection.push('service', null);
		await settle();
		for (const name of ['barista', 'roaster']) expect(await diplomat.getService(name)).toMatchObject({ stale: true });
		await clock.advance(200);
		for (const name of ['barista', 'roaster']) expect(await diplomat.getService(name)).not.toHaveProperty('stale');
		await diplomat.close();
	});

	it('is asked about soon again where one that could be read came between', async () => {
		const { diplomat, sidecar, clock } = await simulate();
		for (let revision = 1; revision < 20; revision += 2) {
			sidecar.publish(fakeSnapshot('barista', revision, ['10.0.0.1:80']));
			expect(await diplomat.getService('barista')).not.toHaveProperty('stale');
			sidecar.connection.push('service', { ...fakeSnapshot('barista', revision + 1, []), instances: 'none' });
			await settle();
			expect(await diplomat.getService('barista')).toHaveProperty('stale', true);
			await clock.advance(200);
			expect(await diplomat.getService('barista')).not.toHaveProperty('stale');
		}
		await diplomat.close();
	});

	it('about what nobody wants any more by the time is asked about by nobody', async () => {
		const { diplomat, sidecar, clock } = await simulate({ idleSubscriptionMs: 1 });
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		const watch = diplomat.watchService('barista');
		await watch.next();
		sidecar.connection.push('service', { ...fakeSnapshot('barista', 2, []), instances: 'none' });
		await settle();
		await watch.return?.();
		await clock.advance(20_000);
		expect(sidecar.requestsOf('watchService')).toHaveLength(1);
		await diplomat.close();
	});

	it('about what nobody wants concerns nobody', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		await diplomat.getService('barista');
		sidecar.connection.push('service', { service: 'roaster' });
		await settle();
		expect(await diplomat.getService('barista')).not.toHaveProperty('stale');
		await diplomat.close();
	});

	it('of a sidecar that sends nothing else is no hot loop: it is asked ever less often', async () => {
		const { diplomat, sidecar, clock } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		await diplomat.getService('barista');
		for (let step = 0; step < 600; step++) {
			sidecar.connection.push('service', { service: 'barista', revision: 'none' });
			await clock.advance(100);
		}
		expect(sidecar.requestsOf('watchService').length).toBeLessThan(25);
		// One that can be read ends it.
		sidecar.publish(fakeSnapshot('barista', 2, ['10.0.0.2:80']));
		await settle();
		expect(await diplomat.getService('barista')).toEqual(expect.not.objectContaining({ stale: true }));
		const asked = sidecar.requestsOf('watchService').length;
		await clock.advance(30_000);
		expect(sidecar.requestsOf('watchService')).toHaveLength(asked);
		await diplomat.close();
	});

	it('of keys does the same', async () => {
		const { diplomat, sidecar, clock } = await simulate();
		sidecar.publishKey(fakeKey('app/limits', 1, '5'));
		expect(await diplomat.getKey('app/limits')).toMatchObject({ value: '5', source: 'live' });
		sidecar.connection.push('key', { ...fakeKey('app/limits', 2, '6'), value: 6 });
		await settle();
		expect(await diplomat.getKey('app/limits')).toMatchObject({ value: '5', source: 'last-known-good' });
		await clock.advance(200);
		expect(await diplomat.getKey('app/limits')).toMatchObject({ value: '5', source: 'live' });
		await diplomat.close();
	});
});

describe('a sidecar', () => {
	it('that does not say which process it is counts as one: its older revisions are dropped', async () => {
		const hello = { version: 1, features: ['push'] };
		const { diplomat, sidecar } = await simulate(
			{},
			{ handle: ({ func }) => (func === 'hello' ? { data: hello } : undefined) },
		);
		sidecar.publish(fakeSnapshot('barista', 3, ['10.0.0.3:80']));
		expect(await diplomat.getInstances('barista')).toMatchObject({ revision: 3 });
		sidecar.publish(fakeSnapshot('barista', 2, ['10.0.0.2:80']));
		await settle();
		expect(await diplomat.getInstances('barista')).toMatchObject({ revision: 3 });
		expect(diplomat.status()).toMatchObject({ sidecar: null, instance: null, baseline: false });
		await diplomat.close();
	});

	it('that turns out to be a baseline one while a caller waits is asked over the wire, as ever after', async () => {
		const instances = fakeSnapshot('barista', 1, ['10.0.0.1:80']);
		const { diplomat, sidecar, network, clock } = await simulate(
			{},
			{
				hello: 'unknown-func',
				handle: ({ func }) => (func === 'getInstances' ? { data: instances } : undefined),
			},
			'ENOENT',
		);
		const waiting = diplomat.getInstances('barista');
		network.failsWith = undefined;
		await clock.advance(1000);
		expect(await waiting).toMatchObject({ revision: 1 });
		expect(await diplomat.getInstances('barista')).toMatchObject({ revision: 1 });
		expect(sidecar.requestsOf('getInstances')).toHaveLength(2);
		expect(sidecar.requestsOf('watchService')).toHaveLength(0);
		await diplomat.close();
	});
});
