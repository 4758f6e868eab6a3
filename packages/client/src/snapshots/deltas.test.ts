import { type ServiceInstance, type ServiceSnapshot, SNAPSHOT_BYTES_MAX } from '@spock/protocol';
import { fakeInstance, fakeSnapshot, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';

const A = fakeInstance('node/a', { host: '10.0.0.1' });
const B = fakeInstance('node/b', { host: '10.0.0.2' });
const C = fakeInstance('node/c', { host: '10.0.0.3' });

function snapshotOf(revision: number, instances: readonly ServiceInstance[]): ServiceSnapshot {
	return { ...fakeSnapshot('barista', revision, []), verifiedAt: 1_767_225_600_000, instances };
}

function deltaOf(base: number, revision: number, changed: readonly ServiceInstance[], gone: readonly string[] = []) {
	const { instances: _, ...state } = snapshotOf(revision, []);
	return { ...state, base, changed, gone };
}

/** A client that watches what has these instances, and all snapshots that it was given. */
async function watching(instances: readonly ServiceInstance[], options: Parameters<typeof simulate>[0] = {}) {
	const simulation = await simulate(options);
	const { diplomat, sidecar } = simulation;
	sidecar.publish(snapshotOf(1, instances));
	const seen: ServiceSnapshot[] = [];
	void (async () => {
		for await (const snapshot of diplomat.watchService('barista')) seen.push(snapshot);
	})();
	await settle();
	const names = () => seen.at(-1)?.instances.map(({ instance }) => instance);
	return { ...simulation, seen, names };
}

describe('a delta', () => {
	it('is offered in hello, and so are parts', async () => {
		const { sidecar, diplomat } = await watching([A]);
		const [hello] = sidecar.requestsOf('hello');
		expect(hello?.data).toMatchObject({ features: expect.arrayContaining(['deltas', 'parts']) });
		await diplomat.close();
	});

	it('leaves instances that have not changed the same objects, and keeps the turn where none has', async () => {
		const { sidecar, diplomat, seen } = await watching([A, B]);
		const first = diplomat.pick('barista')?.host;
		sidecar.connection.push('service', { ...deltaOf(1, 2, []), verifiedAt: 5 });
		await settle();
		expect(seen.at(-1)).toMatchObject({ revision: 2, verifiedAt: 5 });
		expect(seen.at(-1)?.instances).toBe(seen[0]?.instances);
		const second = diplomat.pick('barista')?.host;
		expect([first, second].sort()).toEqual([A.host, B.host]);
		sidecar.connection.push('service', deltaOf(2, 3, [C]));
		await settle();
		expect(seen.at(-1)?.instances[0]).toBe(seen[0]?.instances[0]);
		expect(Object.isFrozen(seen.at(-1)?.instances)).toBe(true);
		await diplomat.close();
	});

	it('on an unknown base makes what is known last known until the whole has come', async () => {
		const { sidecar, diplomat, clock, seen, names } = await watching([A]);
		sidecar.connection.push('service', deltaOf(2, 3, [B]));
		await settle();
		expect(seen.at(-1)).toMatchObject({ revision: 1, source: 'last-known-good' });
		// Neither is what builds on that one of any use, and it makes nothing worse.
		for (let revision = 3; revision < 20; revision++)
			sidecar.connection.push('service', deltaOf(revision, revision + 1, [B]));
		await settle();
		expect(seen).toHaveLength(2);
		sidecar.options = {
			handle: ({ func }) => (func === 'watchService' ? { data: snapshotOf(20, [A, B, C]) } : undefined),
		};
		await clock.advance(200);
		expect(seen.at(-1)).toMatchObject({ revision: 20, source: 'live' });
		sidecar.connection.push('service', deltaOf(20, 21, [], ['node/a']));
		await settle();
		expect(names()).toEqual(['node/b', 'node/c']);
		expect(sidecar.requestsOf('watchService')).toHaveLength(2);
		await diplomat.close();
	});

	it('that overtakes the answer which it builds on is asked about, and lost by no caller', async () => {
		const { diplomat, sidecar, clock } = await simulate(
			{},
			{ handle: ({ func }) => (func === 'watchService' ? 'hold' : undefined) },
		);
		const first = diplomat.getInstances('barista');
		await settle();
		sidecar.connection.push('service', deltaOf(1, 2, [B]));
		const [request] = sidecar.requestsOf('watchService');
		sidecar.connection.reply(request?.id ?? -1, snapshotOf(1, [A]));
		expect(await first).toMatchObject({ revision: 1 });
		expect(await diplomat.getInstances('barista')).toMatchObject({ source: 'last-known-good' });
		sidecar.options = {
			handle: ({ func }) => (func === 'watchService' ? { data: snapshotOf(2, [A, B]) } : undefined),
		};
		await clock.advance(200);
		expect(await diplomat.getInstances('barista')).toMatchObject({ revision: 2, source: 'live' });
		await diplomat.close();
	});

	it('builds on the connection that it came by: what another process has sent is no base, whatever its revision', async () => {
		const { sidecar, diplomat, clock, seen, names } = await watching([A], { stableMs: 10 });
		await clock.advance(10);
		const [old] = sidecar.connections;
		sidecar.options = {
			instance: 'its successor',
			handle: ({ func }) => (func === 'watchService' ? 'hold' : undefined),
		};
		old?.push('goaway', { reason: 'upgrade', graceMs: 1000 });
		await settle();
		expect(sidecar.connections).toHaveLength(2);
		// The successor counts its own revisions: its first one is no base of the old sidecar's, nor the other way round.
		old?.push('service', deltaOf(1, 2, [B]));
		sidecar.connection.push('service', deltaOf(1, 2, [B]));
		await settle();
		expect(names()).toEqual(['node/a']);
		const request = sidecar.requestsOf('watchService').at(-1);
		sidecar.connection.reply(request?.id ?? -1, snapshotOf(2, [C]));
		await settle();
		old?.push('service', deltaOf(2, 3, [A]));
		sidecar.connection.push('service', deltaOf(2, 3, [B]));
		await settle();
		expect(names()).toEqual(['node/b', 'node/c']);
		expect(seen.every(({ instances }) => instances.length === 1 || instances[1]?.instance === 'node/c')).toBe(true);
		await diplomat.close();
	});

	it('builds on what was sent after a reconnect, and not on what was known before', async () => {
		const { sidecar, diplomat, clock, names } = await watching([A]);
		sidecar.connection.drop();
		await clock.advance(1000);
		expect(sidecar.connections).toHaveLength(2);
		sidecar.connection.push('service', deltaOf(1, 2, [B]));
		await settle();
		expect(names()).toEqual(['node/a', 'node/b']);
		await diplomat.close();
	});

	it('about what is not watched, or that cannot be read, disturbs nothing else', async () => {
		const { sidecar, diplomat, seen } = await watching([A]);
		sidecar.connection.push('service', { ...deltaOf(1, 2, [B]), service: 'roaster' });
		await settle();
		expect(seen).toHaveLength(1);
		sidecar.connection.push('service', { ...deltaOf(1, 2, [B]), service: 5 });
		await settle();
		expect(seen.at(-1)).toMatchObject({ revision: 1, source: 'last-known-good' });
		await diplomat.close();
	});

	it('that leaves no instance but such as cannot be read is one that cannot be read', async () => {
		const bad = { ...B, port: 70_000 };
		const { sidecar, diplomat, seen } = await watching([A, bad]);
		sidecar.connection.push('service', deltaOf(1, 2, [], ['node/a']));
		await settle();
		expect(seen.at(-1)).toMatchObject({ revision: 1, source: 'last-known-good' });
		await diplomat.close();
	});
});

describe('a snapshot in parts', () => {
	const { instances: _, ...state } = snapshotOf(2, []);
	const last = { ...state, parts: { of: 7, count: 2 } };
	const part = (index: number, instances: unknown) => ({ of: 7, index, instances });

	it('changes nothing before it is complete', async () => {
		const { sidecar, diplomat, seen, names } = await watching([A]);
		sidecar.connection.push('part', part(0, [B]));
		sidecar.connection.push('part', part(1, [C]));
		await settle();
		expect(seen).toHaveLength(1);
		sidecar.connection.push('service', last);
		await settle();
		expect(names()).toEqual(['node/b', 'node/c']);
		expect(seen.at(-1)).toEqual(snapshotOf(2, [B, C]));
		await diplomat.close();
	});

	it('may be an answer, and answers of other kinds between are left alone', async () => {
		const { diplomat, sidecar } = await simulate(
			{},
			{
				handle: ({ func }) => {
					if (func !== 'getInstances') return undefined;
					sidecar.connection.push('part', part(0, [A]));
					sidecar.connection.push('part', part(1, [B]));
					return { data: last };
				},
			},
		);
		expect(await diplomat.getInstances('barista', { fresh: true })).toEqual(snapshotOf(2, [A, B]));
		sidecar.connection.push('part', part(0, [A]));
		const echo = { parts: { of: 7, count: 1 } };
		expect(await diplomat.request('ping', echo)).toEqual(echo);
		await diplomat.close();
	});

	it('without its parts is PROTOCOL as an answer', async () => {
		const { diplomat } = await simulate(
			{},
			{ handle: ({ func }) => (func === 'getInstances' ? { data: last } : undefined) },
		);
		await expect(diplomat.getInstances('barista', { fresh: true })).rejects.toMatchObject({ code: 'PROTOCOL' });
		await diplomat.close();
	});

	it('that is longer than any client must keep is dropped, and asked for again', async () => {
		const { sidecar, diplomat, seen } = await watching([A]);
		const tags = ['x'.repeat(1_000_000)];
		const count = Math.ceil(SNAPSHOT_BYTES_MAX / 1_000_000) + 1;
		for (let index = 0; index < count; index++) {
			sidecar.connection.push('part', part(index, [{ ...B, tags }]));
			await settle();
		}
		expect(diplomat.status().protocolFaults).toBeGreaterThan(0);
		sidecar.connection.push('service', { ...state, parts: { of: 7, count } });
		await settle();
		expect(seen.at(-1)).toMatchObject({ revision: 1, source: 'last-known-good' });
		await diplomat.close();
	});

	it('is forgotten with its connection', async () => {
		const { sidecar, diplomat, clock, names } = await watching([A]);
		sidecar.connection.push('part', part(0, [B]));
		await settle();
		sidecar.connection.drop();
		await clock.advance(1000);
		sidecar.connection.push('part', part(1, [C]));
		sidecar.connection.push('service', last);
		await settle();
		expect(names()).toEqual(['node/a']);
		await diplomat.close();
	});
});
