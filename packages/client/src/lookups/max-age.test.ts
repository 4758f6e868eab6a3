import type { ServiceSource } from '@spock/protocol';
import { FakeClock, fakeSnapshot, settle, wireError } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';
import { createDiplomat } from '../connect.ts';

/** A client that knows barista from a push of this long ago. */
async function knowing(ageMs: number) {
	const simulation = await simulate();
	const { sidecar, clock, diplomat } = simulation;
	const verifiedAt = clock.wallNow();
	sidecar.publish({ ...fakeSnapshot('barista', 1, ['10.0.0.1:80', '10.0.0.2:80']), verifiedAt });
	await diplomat.getService('barista');
	await clock.advance(ageMs);
	return { ...simulation, verifiedAt };
}

const asked = (sidecar: { requestsOf(func: string): readonly { readonly data: unknown }[] }) =>
	sidecar.requestsOf('getInstances').map(({ data }) => data);

describe('maxAgeMs of a lookup', () => {
	it('what was verified lately enough is picked in this process', async () => {
		const { diplomat, sidecar } = await knowing(5000);
		expect(await diplomat.getService('barista', { maxAgeMs: 5000 })).toMatchObject({ port: 80 });
		expect(diplomat.pick('barista', { maxAgeMs: 5000 })).toMatchObject({ port: 80 });
		expect((await diplomat.getInstances('barista', { maxAgeMs: 5000 })).revision).toBe(1);
		expect(asked(sidecar)).toEqual([]);
	});

	it('what is older is asked of the sidecar, whose word is good for the next lookups too', async () => {
		const { diplomat, sidecar, clock } = await knowing(5001);
		expect(diplomat.pick('barista', { maxAgeMs: 5000 })).toBeUndefined();
		const verified = { ...sidecar.snapshotOf({ service: 'barista' }), verifiedAt: clock.wallNow() };
		sidecar.options = { handle: ({ func }) => (func === 'getInstances' ? { data: verified } : undefined) };
		expect(await diplomat.getService('barista', { maxAgeMs: 5000 })).toMatchObject({ port: 80 });
		expect(await diplomat.getService('barista', { maxAgeMs: 5000 })).toMatchObject({ port: 80 });
		expect(diplomat.pick('barista', { maxAgeMs: 5000 })).toMatchObject({ port: 80 });
		expect(asked(sidecar)).toEqual([{ service: 'barista', maxAgeMs: 5000 }]);
	});

	it('what the sidecar says instead is the answer, also where its push is not there yet', async () => {
		const { diplomat, sidecar, clock } = await knowing(5001);
		const data = { ...fakeSnapshot('barista', 2, ['10.0.0.9:81']), verifiedAt: clock.wallNow() };
		sidecar.options = { handle: ({ func }) => (func === 'getInstances' ? { data } : undefined) };
		for (let turn = 0; turn < 4; turn++) {
			expect(await diplomat.getService('barista', { maxAgeMs: 5000 })).toMatchObject({ port: 81 });
		}
		expect(await diplomat.getInstances('barista', { maxAgeMs: 5000 })).toMatchObject({ revision: 2 });
	});

	it('what is pushed right behind a first answer that is too old is what the lookup is given', async () => {
		const { diplomat, sidecar, clock } = await simulate();
		sidecar.options = { handle: ({ func }) => (func === 'watchService' ? 'hold' : undefined) };
		const asking = diplomat.getInstances('barista', { maxAgeMs: 2000 });
		await settle();
		const [{ id }] = sidecar.requestsOf('watchService') as unknown as readonly [{ readonly id: number }];
		const verifiedAt = clock.wallNow();
		const old = {
			...fakeSnapshot('barista', 1, ['10.0.0.1:80']),
			...{ source: 'last-known-good', ageMs: 3921, verifiedAt: verifiedAt - 3921 },
		};
		const live = { ...fakeSnapshot('barista', 2, ['10.0.0.9:81']), verifiedAt };
		// In one read, as after the process of the app or of the sidecar stood still.
		sidecar.connection.sendRaw(
			`${JSON.stringify({ id, data: old })}\n${JSON.stringify({ event: 'service', data: live })}\n`,
		);
		expect(await asking).toMatchObject({ revision: 2, source: 'live' });
	});

	it('the same revision of another process says nothing of what is known', async () => {
		const { diplomat, sidecar, clock } = await knowing(5001);
		const data = { ...fakeSnapshot('barista', 1, ['10.0.0.9:81']), verifiedAt: clock.wallNow() };
		sidecar.options = {
			instance: 'fake-2',
			handle: ({ func }) => (func === 'watchService' ? 'hold' : func === 'getInstances' ? { data } : undefined),
		};
		sidecar.connection.push('goaway', { reason: 'upgrade', graceMs: 1000 });
		await settle();
		expect(diplomat.status()).toMatchObject({ state: 'ready', instance: 'fake-2' });
		for (let turn = 0; turn < 2; turn++) {
			expect((await diplomat.getInstances('barista', { maxAgeMs: 5000 })).instances).toMatchObject([{ port: 81 }]);
			expect(await diplomat.getService('barista', { maxAgeMs: 5000 })).toMatchObject({ port: 81 });
		}
		expect(diplomat.pick('barista', { maxAgeMs: 5000 })).toBeUndefined();
	});

	it('an answer of the process before says nothing of what its successor has sent', async () => {
		const { diplomat, sidecar, clock } = await knowing(5001);
		sidecar.options = { handle: ({ func }) => (func === 'getInstances' ? 'hold' : undefined) };
		const asking = diplomat.getInstances('barista', { maxAgeMs: 5000 });
		await settle();
		const before = sidecar.connection;
		sidecar.options = { instance: 'fake-2' };
		sidecar.publish({ ...fakeSnapshot('barista', 1, ['10.0.0.9:81']), verifiedAt: clock.wallNow() - 5001 });
		before.push('goaway', { reason: 'upgrade', graceMs: 1000 });
		await settle();
		expect(diplomat.pick('barista')).toMatchObject({ port: 81 });
		const data = { ...fakeSnapshot('barista', 1, ['10.0.0.1:80']), verifiedAt: clock.wallNow() };
		before.reply(sidecar.requestsOf('getInstances')[0]?.id ?? -1, data);
		expect((await asking).instances).toMatchObject([{ port: 80 }]);
		expect(diplomat.pick('barista', { maxAgeMs: 5000 })).toBeUndefined();
	});

	it('UNAVAILABLE of the sidecar is the answer', async () => {
		const { diplomat, sidecar } = await knowing(5001);
		const error = { ...wireError('UNAVAILABLE', true), details: { ageMs: 5001, maxAgeMs: 5000 } };
		sidecar.options = { handle: ({ func }) => (func === 'getInstances' ? { error } : undefined) };
		await expect(diplomat.getService('barista', { maxAgeMs: 5000 })).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			details: { ageMs: 5001, maxAgeMs: 5000 },
		});
	});

	it('while the sidecar is away what is young enough is served, and what is older is UNAVAILABLE at the deadline', async () => {
		const { diplomat, sidecar, network, clock } = await knowing(1000);
		network.failsWith = 'ECONNREFUSED';
		sidecar.connection.drop();
		await settle();
		expect(await diplomat.getService('barista', { maxAgeMs: 5000 })).toMatchObject({ stale: true });
		await clock.advance(4001);
		const refusal = { code: 'UNAVAILABLE', details: { service: 'barista', ageMs: 5001, maxAgeMs: 5000 } };
		const asked = { maxAgeMs: 5000, timeoutMs: 100 };
		const late = [diplomat.getService('barista', asked), diplomat.getInstances('barista', asked)].map((one) =>
			expect(one).rejects.toMatchObject(refusal),
		);
		expect(diplomat.pick('barista', { maxAgeMs: 5000 })).toBeUndefined();
		expect(await diplomat.getService('barista')).toMatchObject({ stale: true, ageMs: 5001 });
		await clock.advance(100);
		await Promise.all(late);
	});

	it('a sidecar that is away and back before the deadline is waited for', async () => {
		const { diplomat, sidecar, network, clock } = await knowing(5001);
		network.failsWith = 'ECONNREFUSED';
		sidecar.connection.drop();
		await settle();
		const asked = diplomat.getInstances('barista', { maxAgeMs: 5000 });
		await clock.advance(1000);
		network.failsWith = undefined;
		sidecar.publish({ ...fakeSnapshot('barista', 2, ['10.0.0.9:81']), verifiedAt: clock.wallNow() + 2000 });
		await clock.advance(2000);
		expect((await asked).instances).toMatchObject([{ port: 81 }]);
	});

	it('goes with every question over the wire; a sidecar that knows nothing of it is not believed beyond it', async () => {
		const { diplomat, sidecar } = await simulate({ lookups: 'remote' });
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		expect(await diplomat.getService('barista', { maxAgeMs: 70, key: 'k' })).toMatchObject({ port: 80 });
		expect(sidecar.requestsOf('getService').at(-1)?.data).toEqual({ service: 'barista', key: 'k', maxAgeMs: 70 });
		sidecar.publish({ ...fakeSnapshot('barista', 2, ['10.0.0.1:80']), source: 'last-known-good', ageMs: 71 });
		const data = { host: '10.0.0.1', port: 80, stale: true, ageMs: 71 };
		sidecar.options = { handle: ({ func }) => (func === 'getService' ? { data } : undefined) };
		const refusal = { code: 'UNAVAILABLE', details: { ageMs: 71, maxAgeMs: 70 } };
		await expect(diplomat.getService('barista', { maxAgeMs: 70 })).rejects.toMatchObject(refusal);
		await expect(diplomat.getInstances('barista', { maxAgeMs: 70 })).rejects.toMatchObject(refusal);
		expect(await diplomat.getService('barista', { maxAgeMs: 71 })).toMatchObject({ stale: true });
	});

	it('of a sidecar that does not say when it was verified, or after the wall clock was set back, nothing is young', async () => {
		const { diplomat, sidecar, clock } = await simulate();
		sidecar.publish({ ...fakeSnapshot('barista', 1, ['10.0.0.1:80']), verifiedAt: 0 });
		await diplomat.getService('barista');
		expect(diplomat.pick('barista', { maxAgeMs: 1_000_000 })).toBeUndefined();
		expect(await diplomat.getService('barista', { maxAgeMs: 1_000_000 })).toMatchObject({ port: 80 });
		expect(asked(sidecar)).toHaveLength(1);
		sidecar.publish({ ...fakeSnapshot('barista', 2, ['10.0.0.1:80']), verifiedAt: clock.wallNow() });
		await settle();
		expect(diplomat.pick('barista', { maxAgeMs: 0 })).toMatchObject({ port: 80 });
		clock.wallOffsetMs = -60_000;
		expect(diplomat.pick('barista', { maxAgeMs: 1_000_000 })).toBeUndefined();
	});

	it.each([-1, 0.5, '5'])('a maxAgeMs of %j is refused by name', async (maxAgeMs) => {
		const { diplomat } = await knowing(0);
		const options = { maxAgeMs: maxAgeMs as number };
		expect(() => diplomat.getService('barista', options)).toThrow(/maxAgeMs/);
		expect(() => diplomat.getInstances('barista', options)).toThrow(/maxAgeMs/);
		expect(() => diplomat.pick('barista', options)).toThrow(/maxAgeMs/);
	});

	it('in direct mode it is for the source to keep', async () => {
		const clock = new FakeClock();
		const snapshot = { ...fakeSnapshot('barista', 1, ['10.0.0.1:80']), verifiedAt: clock.wallNow() };
		const options: unknown[] = [];
		const source: ServiceSource = {
			name: 'mine',
			peek: () => snapshot,
			get: async (_query, given) => {
				options.push(given);
				return { ...snapshot, verifiedAt: clock.wallNow() };
			},
			watch: (_query, observer) => {
				observer.next(snapshot);
				return { stop: () => undefined };
			},
			list: async () => ({ services: [], source: 'live', ageMs: 0, verifiedAt: 0 }),
			close: async () => undefined,
		};
		await using diplomat = createDiplomat({ source, clock });
		expect(await diplomat.getService('barista', { maxAgeMs: 10 })).toMatchObject({ port: 80 });
		expect(options).toEqual([]);
		await clock.advance(11);
		expect(await diplomat.getService('barista', { maxAgeMs: 10 })).toMatchObject({ port: 80 });
		expect(options).toMatchObject([{ maxAgeMs: 10 }]);
		expect(diplomat.pick('barista', { maxAgeMs: 10 })).toMatchObject({ port: 80 });
		expect(await diplomat.explain('barista')).toMatchObject({
			state: 'fresh',
			instances: [{ included: true, changedAt: null, checks: [] }],
		});
	});
});

describe('panic on a client', () => {
	it('a snapshot that says so has all its instances picked', async () => {
		const { diplomat, sidecar } = await simulate();
		const { instances, ...snapshot } = fakeSnapshot('barista', 1, ['10.0.0.1:80', '10.0.0.2:80']);
		const sick = instances.map((instance) => ({ ...instance, status: 'critical' as const }));
		sidecar.publish({ ...snapshot, instances: sick });
		await expect(diplomat.getService('barista')).rejects.toMatchObject({ code: 'NO_HEALTHY_INSTANCE' });
		sidecar.publish({ ...snapshot, revision: 2, instances: sick, panic: true });
		await settle();
		const hosts = [await diplomat.getService('barista'), await diplomat.getService('barista')].map(({ host }) => host);
		expect(hosts.sort()).toEqual(['10.0.0.1', '10.0.0.2']);
		expect(await diplomat.getInstances('barista')).toMatchObject({ panic: true });
		sidecar.publish({ ...snapshot, revision: 3, instances: sick, source: 'last-known-good', held: true });
		await settle();
		expect(await diplomat.getInstances('barista')).toMatchObject({ held: true });
	});
});
