import { createDiplomat, type Diplomat } from '@spock/client';
import { BackendSource, type BackendSourceOptions, consulBackend } from '@spock/discovery';
import { createSidecar } from '@spock/sidecar';
import { type FakeConsul, startFakeConsul, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

interface Fixture extends AsyncDisposable {
	readonly consul: FakeConsul;
	readonly diplomat: Diplomat;
}

type Options = Partial<BackendSourceOptions>;

async function sourceOver(consul: FakeConsul, options: Options): Promise<BackendSource> {
	const backend = consulBackend({ addresses: [consul.url], random: () => 0 });
	return new BackendSource({ backend, emptyHoldMs: 0, ...options });
}

async function direct(options: Options = {}): Promise<Fixture> {
	const consul = await startFakeConsul();
	const diplomat = createDiplomat({ source: await sourceOver(consul, options) });
	return {
		consul,
		diplomat,
		[Symbol.asyncDispose]: async () => {
			await diplomat.close();
			await consul.stop();
		},
	};
}

async function throughSidecar(options: Options = {}): Promise<Fixture> {
	const consul = await startFakeConsul();
	const place = await tempSocket();
	const source = await sourceOver(consul, options);
	const sidecar = createSidecar({ source, listen: [{ address: { path: place.path } }], limits: { graceMs: 0 } });
	await sidecar.start();
	const diplomat = createDiplomat({ path: place.path });
	await diplomat.ready();
	return {
		consul,
		diplomat,
		[Symbol.asyncDispose]: async () => {
			await diplomat.close();
			sidecar.terminate();
			sidecar.terminate();
			await sidecar.ended;
			await consul.stop();
			await place[Symbol.asyncDispose]();
		},
	};
}

const BARISTA = [{ id: 'b1', address: '1.2.3.4', port: 8765, checks: [{ id: 'c1', status: 'passing' as const }] }];

describe.each([
	{ way: 'through a sidecar', open: throughSidecar },
	{ way: 'in direct mode', open: direct },
])('$way', ({ open }) => {
	it('NO_SUCH_SERVICE: the registry knows no instance', async () => {
		await using fixture = await open();
		const refusal = { code: 'NO_SUCH_SERVICE', retryable: false, details: { service: 'barista' } };
		await expect(fixture.diplomat.getService('barista')).rejects.toMatchObject(refusal);
		await expect(fixture.diplomat.getService('barista', { fresh: true })).rejects.toMatchObject(refusal);
		expect(fixture.diplomat.pick('barista')).toBeUndefined();
	});

	it('NO_HEALTHY_INSTANCE: it has some, and none is healthy', async () => {
		await using fixture = await open();
		fixture.consul.set('barista', [{ id: 'b1', checks: [{ status: 'critical' }] }]);
		const refusal = { code: 'NO_HEALTHY_INSTANCE', retryable: true, details: { statuses: { critical: 1 } } };
		await expect(fixture.diplomat.getService('barista')).rejects.toMatchObject(refusal);
		await expect(fixture.diplomat.getService('barista', { fresh: true })).rejects.toMatchObject(refusal);
		expect((await fixture.diplomat.getInstances('barista')).instances).toHaveLength(1);
	});

	it('ACL_DENIED: the registry refuses the token, or filters everything from its answer', async () => {
		await using refused = await open();
		await refused.diplomat.listServices();
		refused.consul.fail(...Array.from({ length: 4 }, () => ({ status: 403, text: 'Permission denied' })));
		await expect(refused.diplomat.getService('barista')).rejects.toMatchObject({
			code: 'ACL_DENIED',
			retryable: false,
		});

		await using filtered = await open();
		await filtered.diplomat.listServices();
		const headers = { 'x-consul-results-filtered-by-acls': 'true' };
		filtered.consul.fail(...Array.from({ length: 4 }, () => ({ headers, body: [] })));
		await expect(filtered.diplomat.getService('barista')).rejects.toMatchObject({ code: 'ACL_DENIED' });
	});

	it('ACL_DENIED later on wipes nothing: what is known is served, and its age is told', async () => {
		await using fixture = await open();
		fixture.consul.set('barista', BARISTA);
		await fixture.diplomat.getService('barista');
		await waitFor('the watch', () => fixture.consul.blocked === 1);
		fixture.consul.fail(...Array.from({ length: 3 }, () => ({ status: 403, text: 'ACL not found' })));
		fixture.consul.touch();
		await waitFor('the age', async () => (await fixture.diplomat.getService('barista')).stale === true);
	});

	it('NOT_READY: the registry has not answered yet', async () => {
		await using fixture = await open({ firstAnswerMs: 50 });
		fixture.consul.hold(true);
		const refusal = { code: 'NOT_READY', retryable: true };
		await expect(fixture.diplomat.getInstances('barista', { fresh: true })).rejects.toMatchObject(refusal);
	});

	it('NOT_READY comes before the deadline that the caller has set', async () => {
		await using fixture = await open();
		fixture.consul.hold(true);
		const asked = fixture.diplomat.getService('barista', { fresh: true, timeoutMs: 4000 });
		await expect(asked).rejects.toMatchObject({ code: 'NOT_READY' });
	});

	it('UNAVAILABLE: the registry is out of reach, and nothing is known', async () => {
		await using fixture = await open();
		await fixture.consul.stop();
		const refusal = { code: 'UNAVAILABLE', retryable: true };
		await expect(fixture.diplomat.getService('barista')).rejects.toMatchObject(refusal);
		await expect(fixture.diplomat.getInstances('barista', { fresh: true })).rejects.toMatchObject(refusal);
		expect(await fixture.diplomat.explain('barista')).toMatchObject({ state: 'cold', source: null, instances: [] });
	});

	it('UNAVAILABLE: what is known is older than the caller wants; without that wish it is served', async () => {
		await using fixture = await open();
		fixture.consul.set('barista', BARISTA);
		const before = Date.now();
		await fixture.diplomat.getService('barista');
		await fixture.consul.stop();
		const stale = await waitFor('the age', async () => {
			const address = await fixture.diplomat.getService('barista');
			return address.stale === true && (address.ageMs ?? 0) > 2 ? address : undefined;
		});
		expect(stale.verifiedAt).toBeGreaterThanOrEqual(before - 1);
		expect(stale.verifiedAt).toBeLessThanOrEqual(Date.now());
		for (const fresh of [false, true]) {
			await expect(fixture.diplomat.getService('barista', { maxAgeMs: 1, fresh })).rejects.toMatchObject({
				code: 'UNAVAILABLE',
				retryable: true,
				details: { service: 'barista', ageMs: expect.any(Number), maxAgeMs: 1 },
			});
		}
		expect(await fixture.diplomat.getService('barista', { maxAgeMs: 3_600_000 })).toMatchObject({ stale: true });
	});

	it('what is live and was not verified for longer than the caller wants is verified now', async () => {
		await using fixture = await open();
		fixture.consul.set('barista', BARISTA);
		const first = await fixture.diplomat.getInstances('barista');
		await waitFor('time to pass', () => Date.now() > first.verifiedAt + 5);
		const asked = fixture.consul.requests.length;
		const answer = await fixture.diplomat.getInstances('barista', { maxAgeMs: 1 });
		expect(answer).toMatchObject({ source: 'live', revision: first.revision });
		expect(answer.verifiedAt).toBeGreaterThan(first.verifiedAt);
		expect(fixture.consul.requests.length).toBeGreaterThan(asked);
		expect(await fixture.diplomat.getService('barista', { maxAgeMs: 60_000 })).not.toHaveProperty('stale');
	});

	it('explain: each instance, why, its checks without their output, and when it changed', async () => {
		await using fixture = await open({ panicThreshold: 0.9 });
		fixture.consul.set('barista', [
			...BARISTA,
			{ id: 'b2', checks: [{ id: 'c2', name: 'disk', status: 'critical', output: 's3cret' }] },
		]);
		await fixture.diplomat.getService('barista');
		const reply = await fixture.diplomat.explain('barista');
		expect(reply).toMatchObject({
			service: 'barista',
			state: 'fresh',
			source: 'live',
			panic: true,
			held: null,
			error: null,
		});
		expect(reply.instances).toMatchObject([
			{
				instance: 'node-1/b1',
				included: true,
				reason: 'all its checks pass',
				checks: [{ id: 'c1', status: 'passing' }],
			},
			{
				instance: 'node-1/b2',
				included: true,
				reason: 'the check "disk" is critical; served anyway, because too few are healthy (panic)',
				checks: [{ id: 'c2', name: 'disk', status: 'critical' }],
			},
		]);
		expect(JSON.stringify(reply)).not.toContain('s3cret');
		expect(reply.instances[0]?.changedAt).toBeLessThanOrEqual(Date.now());
	});
});

describe('who watches', () => {
	it('explain names the connection, the client and its process, for just that question', async () => {
		await using fixture = await throughSidecar();
		fixture.consul.set('barista', BARISTA);
		expect(await fixture.diplomat.explain('barista')).toMatchObject({ watchers: [], watcherCount: 0 });
		await fixture.diplomat.getService('barista');
		const { watchers, watcherCount } = await fixture.diplomat.explain('barista');
		expect(watchers).toEqual([{ connection: expect.any(Number), client: expect.any(String), pid: process.pid }]);
		expect(watcherCount).toBe(1);
		expect(await fixture.diplomat.explain({ service: 'barista', tags: ['v1'] })).toMatchObject({
			watchers: [],
			tags: ['v1'],
		});
	});
});
