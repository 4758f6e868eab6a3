import { type Backend, BackendSource, createLocalBackend, Registrations } from '@spock/discovery';
import type { ServiceInstance, ServiceSnapshot, SpockError, UpstreamStatus } from '@spock/protocol';
import { AcceptedTokens, createSidecar } from '@spock/sidecar';
import { FakeSidecar, fakeSnapshot, startFakeConsul, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { RawClient } from './raw-client.ts';
import { type SharedSidecar, sharedSidecar, upstreamOf } from './upstream-fixture.ts';

const barista = { service: 'barista' };

function set({ consul }: SharedSidecar, service: string, ports: readonly number[]): void {
	consul.set(
		service,
		ports.map((port) => ({ id: `${service}-${port}`, address: '10.0.0.1', port })),
	);
}

/** Every snapshot of a service, and the last one. */
function follow(source: BackendSource) {
	const seen: ServiceSnapshot[] = [];
	source.watch(barista, { next: (snapshot) => seen.push(snapshot) });
	return { seen, last: () => seen.at(-1) };
}

function ports(snapshot: { readonly instances: readonly ServiceInstance[] } | undefined): readonly number[] {
	return snapshot?.instances.map(({ port }) => port) ?? [];
}

describe('a sidecar that asks another', () => {
	it('serves what the other one has while the registry is away, as old as it is there, and says why', async () => {
		await using shared = await sharedSidecar();
		set(shared, 'barista', [80]);
		const source = new BackendSource({ backend: upstreamOf([shared]) });
		const { last } = follow(source);
		await waitFor('the live answer', () => last()?.source === 'live');
		await shared.registryGate.shut();
		await waitFor('the stale answer', () => last()?.source === 'last-known-good');
		const here = source.peek(barista);
		const there = shared.source.peek(barista);
		expect([ports(here), ports(there)]).toEqual([[80], [80]]);
		// Asked for one after the other, and both grow.
		expect((here?.ageMs ?? 0) - (there?.ageMs ?? 0)).toBeGreaterThanOrEqual(-2);
		const { error } = await source.inspect(barista);
		expect(error).toMatch(/^127\.0\.0\.1:\d+ serves its last known answer, \d+ ms old$/);
		await shared.registryGate.open();
		await waitFor('the live answer', () => last()?.source === 'live');
		await source.close();
	});

	it('serves its own last answer while the other one is away, with its age since the loss, and goes on when it is back', async () => {
		await using shared = await sharedSidecar();
		set(shared, 'barista', [80]);
		const source = new BackendSource({ backend: upstreamOf([shared]) });
		const { last } = follow(source);
		await waitFor('the live answer', () => last()?.source === 'live');
		await shared.gate.shut();
		await waitFor('the stale answer', () => last()?.source === 'last-known-good');
		expect((await source.inspect(barista)).error).toMatch(/^no upstream answers \(127\.0\.0\.1:\d+: /);
		expect(source.status()).toMatchObject({ state: 'down', error: expect.stringContaining('127.0.0.1') });
		set(shared, 'barista', [80, 81]);
		await shared.gate.open();
		await waitFor('the change', () => last()?.source === 'live' && ports(last()).length === 2);
		expect(source.status()).toMatchObject({ name: 'spock', state: 'up', error: null, lastSuccessAgeMs: 0 });
		await source.close();
	});

	it('an answer younger than the caller wants is the registry’s own, through both', async () => {
		await using shared = await sharedSidecar();
		set(shared, 'barista', [80]);
		const source = new BackendSource({ backend: upstreamOf([shared]) });
		await source.get(barista);
		const before = shared.consul.requests.length;
		const askedAt = Date.now();
		const { verifiedAt } = await source.get(barista, { maxAgeMs: 0 });
		expect(shared.consul.requests.length).toBeGreaterThan(before);
		expect(verifiedAt).toBeGreaterThanOrEqual(askedAt);
		await shared.registryGate.shut();
		await expect(source.get(barista, { maxAgeMs: 0, timeoutMs: 5000 })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		expect(ports(await source.get(barista))).toEqual([80]);
		await source.close();
	});

	it('a first answer that was old when it came is verified for whoever wants a younger one', async () => {
		await using shared = await sharedSidecar();
		set(shared, 'barista', [80]);
		const { verifiedAt: publishedAt } = await shared.source.get(barista);
		await waitFor('some age', () => Date.now() > publishedAt + 50);
		const source = new BackendSource({ backend: upstreamOf([shared]) });
		const { verifiedAt } = await source.get(barista, { maxAgeMs: 20 });
		expect(verifiedAt).toBeGreaterThan(publishedAt + 20);
		await source.close();
	});

	it('asks the next one when the first is gone, and no lookup fails', async () => {
		const consul = await startFakeConsul({ isStrict: true });
		await using first = await sharedSidecar({ consul });
		await using second = await sharedSidecar({ consul });
		set(first, 'barista', [80]);
		const backend = upstreamOf([first, second]);
		const source = new BackendSource({ backend });
		const { last } = follow(source);
		await waitFor('the live answer', () => last()?.source === 'live');
		expect(backend.path.map(({ address }) => address)).toEqual([first.place.name]);
		await first.gate.shut();
		const failed: SpockError[] = [];
		await waitFor('the next one', async () => {
			await source.get(barista).catch((error: SpockError) => failed.push(error));
			return backend.path[0]?.address === second.place.name && last()?.source === 'live';
		});
		set(second, 'barista', [80, 81]);
		await waitFor('the change', () => ports(last()).length === 2);
		expect(failed).toEqual([]);
		await source.close();
		await consul.stop();
	});

	it('its status tells which one is asked, what has failed, and how late changes come', async () => {
		const consul = await startFakeConsul({ isStrict: true });
		await using first = await sharedSidecar({ consul });
		await using second = await sharedSidecar({ consul });
		await using wary = await sharedSidecar({ consul, tokens: new AcceptedTokens(['the-token-of-some-app']) });
		set(first, 'barista', [80]);
		const backend = upstreamOf([wary, first, second]);
		const source = new BackendSource({ backend });
		const upstream = () => source.status().upstream as UpstreamStatus;
		const { last } = follow(source);
		await waitFor('the live answer', () => last()?.source === 'live');
		expect(upstream()).toMatchObject({
			address: first.place.name,
			places: [
				{ address: wary.place.name, error: expect.stringContaining('requires a token') },
				{ address: first.place.name, error: null },
				{ address: second.place.name, error: null },
			],
			...{ subscriptions: 1, lagMs: null, failovers: 0, failures: { denied: 1, away: 0, loop: 0, version: 0 } },
		});
		const { bytesRead } = upstream();
		set(first, 'barista', [80, 81]);
		await waitFor('the change', () => ports(last()).length === 2);
		// By one clock here: it is the time on the way.
		expect(upstream().lagMs).toBeGreaterThanOrEqual(0);
		expect(upstream().bytesRead).toBeGreaterThan(bytesRead);
		await first.gate.shut();
		await waitFor('the next one', () => upstream().address === second.place.name);
		expect(upstream()).toMatchObject({ failovers: 1, failures: { away: expect.any(Number) } });
		expect(upstream().failures['away']).toBeGreaterThan(0);
		expect(upstream().places[1]?.error).not.toBeNull();
		await source.close();
		await consul.stop();
	});

	it('does not go back to what another one knew earlier', async () => {
		await using first = await sharedSidecar();
		await using second = await sharedSidecar();
		set(first, 'barista', [80, 81]);
		set(second, 'barista', [80]);
		await second.source.get(barista);
		await second.registryGate.shut();
		await waitFor('that it is old there', () => second.source.peek(barista)?.source === 'last-known-good');
		const source = new BackendSource({ backend: upstreamOf([first, second]) });
		const { last, seen } = follow(source);
		await waitFor('the live answer', () => last()?.source === 'live');
		await first.gate.shut();
		await waitFor('the stale answer', () => last()?.source === 'last-known-good');
		await waitFor('the next one', () => source.status().state === 'up');
		await waitFor('its answer', async () => (await source.inspect(barista)).error?.startsWith(second.place.name));
		expect(seen.map(ports)).not.toContainEqual([80]);
		expect(ports(await source.get(barista))).toEqual([80, 81]);
		await source.close();
	});

	it('what an app registers is in the registry with the host of its machine, and critical as soon as its sidecar dies', async () => {
		await using shared = await sharedSidecar({ backend: await createLocalBackend() });
		await using place = await tempSocket();
		const backend = upstreamOf([shared]);
		const registrations = new Registrations({ registrar: backend.registrar, owner: 'pod', machine: 'pod' });
		const sidecar = createSidecar({
			source: new BackendSource({ backend }),
			registrations,
			listen: [{ address: { path: place.path } }],
			limits: { graceMs: 0 },
		});
		await sidecar.start();
		const app = await RawClient.open(place.path);
		app.send({ id: 1, func: 'registerService', data: { service: 'barista', port: 8765, tags: ['v1'] } });
		expect(await app.next()).toMatchObject({ data: { error: null, state: 'registered' } });
		const there = await shared.source.get(barista);
		expect(there.instances).toMatchObject([{ host: '127.0.0.1', port: 8765, tags: ['v1'], status: 'passing' }]);
		const id = sidecar.status().registrations[0]?.id;
		app.send({ id: 2, func: 'reportService', data: { id, status: 'warning', note: 'slow' } });
		expect(await app.next()).toMatchObject({ data: { state: 'registered' } });
		await waitFor('the report', async () => (await shared.source.get(barista)).instances[0]?.status === 'warning');
		// As a process that is killed, whose sockets the kernel closes.
		await shared.gate.shut();
		await waitFor('that it is critical', async () => {
			const { instances } = await shared.source.get(barista);
			return instances.some(({ status }) => status === 'critical');
		});
		await shared.gate.open();
		await waitFor('that it is well again', async () => {
			const { instances } = await shared.source.get(barista);
			return instances.some(({ status }) => status === 'warning');
		});
		app.send({ id: 3, func: 'deregisterService', data: { id } });
		await waitFor('that it is gone', async () => (await shared.source.get(barista)).instances.length === 0);
		sidecar.terminate();
		sidecar.terminate();
		await sidecar.ended;
	});
});

describe('a sidecar that asks one that is not as it should be', () => {
	const placeOf = ({ port }: FakeSidecar, name: string) => ({ name, address: { host: '127.0.0.1', port } });

	it('leaves one that answers hello and hangs up for the next', async () => {
		await using bad: FakeSidecar = await FakeSidecar.listen(undefined, {
			handle: ({ func, connection }) => {
				if (func !== 'hello') return 'hold';
				setImmediate(() => bad.connections[connection]?.drop());
				return undefined;
			},
		});
		await using good = await FakeSidecar.listen();
		good.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		const backend = upstreamOf([{ place: placeOf(bad, 'bad') }, { place: placeOf(good, 'good') }]);
		const source = new BackendSource({ backend });
		await waitFor('the answer of the good one', () => source.get(barista).catch(() => undefined));
		expect(backend.path[0]?.address).toBe('good');
		await source.close();
	});

	it('takes an answer that cannot be read for none: an error that can be retried', async () => {
		await using fake = await FakeSidecar.listen(undefined, {
			handle: ({ func }) =>
				func === 'watchService' || func === 'getService' ? { data: { garbage: true } } : undefined,
		});
		const source = new BackendSource({ backend: upstreamOf([{ place: placeOf(fake, 'fake') }]) });
		await expect(source.get(barista, { timeoutMs: 2000 })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		await source.close();
	});

	it('says that an answer is old because a newer one does not fit into a frame', async () => {
		await using fake = await FakeSidecar.listen();
		fake.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		const source = new BackendSource({ backend: upstreamOf([{ place: placeOf(fake, 'fake') }]) });
		const { last } = follow(source);
		await waitFor('the live answer', () => last()?.source === 'live');
		fake.publish({ ...fakeSnapshot('barista', 2, ['10.0.0.1:80']), source: 'last-known-good', oversize: true });
		await waitFor('the stale answer', () => last()?.source === 'last-known-good');
		expect((await source.inspect(barista)).error).toBe(
			'fake has a newer answer, which does not fit into a frame: raise --frame-bytes-max of both, or upgrade the older sidecar',
		);
		await source.close();
	});

	it('tells apps nothing of those that it asks, and believes no endless name', async () => {
		await using place = await tempSocket();
		const upstreams = [
			{ instance: 'i', address: 'x'.repeat(100_000) },
			{ instance: 'j', address: 'tls://10.0.0.1:7070' },
		];
		const hello = { version: 1, sidecar: 'e/1', instance: 'e', features: ['push'], upstreams };
		await using fake = await FakeSidecar.listen(undefined, {
			handle: ({ func }) => (func === 'hello' ? { data: hello } : undefined),
		});
		const backend = upstreamOf([{ place: placeOf(fake, 'fake') }]);
		const source = new BackendSource({ backend });
		const sidecar = createSidecar({
			source,
			upstreams: backend,
			listen: [{ address: { path: place.path } }],
			limits: { graceMs: 0 },
		});
		await sidecar.start();
		await waitFor('the path', () => backend.path.length > 0);
		expect(backend.path.map(({ address }) => address)).toEqual(['fake', 'tls://10.0.0.1:7070']);
		const app = await RawClient.open(place.path);
		app.send({ id: 1, func: 'hello', data: { versions: [1] } });
		expect(await app.next()).not.toHaveProperty('data.upstreams');
		const asking = await RawClient.open(place.path);
		asking.send({ id: 1, func: 'hello', data: { versions: [1], sidecar: 'another' } });
		expect(await asking.next()).toMatchObject({ data: { upstreams: [{ address: 'fake' }, { instance: 'j' }] } });
		sidecar.terminate();
		sidecar.terminate();
		await sidecar.ended;
	});

	it('what was deregistered while it was away does not come back with it', async () => {
		await using shared = await sharedSidecar({ backend: await createLocalBackend() });
		const upstream = upstreamOf([shared]);
		const { registrar } = upstream;
		const definition = { id: 'b1', service: 'barista', port: 80, tags: [], meta: {}, bind: 'connection' as const };
		const terms = { ttlMs: 15_000, deregisterAfterMs: 600_000, owner: 'pod' };
		await waitFor('the connection', () => upstream.status().state === 'up');
		await registrar.register(definition, { status: 'passing', note: '' }, terms);
		await shared.gate.shut();
		await expect(registrar.deregister('b1')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		await shared.gate.open();
		await waitFor('that it is gone', async () => (await shared.source.get(barista)).instances.length === 0, 60_000);
		await upstream.close();
	});
});

describe('a loop of sidecars', () => {
	it('is refused by name, whoever closes it', async () => {
		const toSecond = { name: 'b', address: { host: '127.0.0.1', port: 1 } };
		await using first = await sharedSidecar({ instance: 'A' });
		await using second = await sharedSidecar({ instance: 'B', backend: upstreamOf([first], { sidecar: 'B' }) });
		await waitFor('the path', () => second.source.status().state === 'up');
		// The first would ask the second, which asks the first.
		const closing: Backend = upstreamOf([{ ...second, place: { ...second.place, name: toSecond.name } }], {
			sidecar: 'A',
		});
		await waitFor('the refusal', () => closing.status().error?.includes('a loop of sidecars'));
		expect(closing.status().error).toBe(
			`b: a loop of sidecars: it asks that one already, at ${first.place.name}; one of them must ask a registry`,
		);
		await closing.close();
		const itself = upstreamOf([first], { sidecar: 'A' });
		await waitFor('the refusal', () => itself.status().error?.includes('it is the same sidecar'));
		expect(itself.status().upstream?.failures['loop']).toBeGreaterThan(0);
		await itself.close();
	});

	it('a sidecar learns that the one it asks now asks another', async () => {
		await using registry = await sharedSidecar({ instance: 'R' });
		// C asks B, and B asks nothing yet.
		const placeOfRegistry = { ...registry.place };
		const late = upstreamOf([registry], { sidecar: 'B' });
		await registry.gate.shut();
		await using second = await sharedSidecar({ instance: 'B', backend: late });
		const asking = upstreamOf([second], { sidecar: 'C' });
		await waitFor('that C asks B', () => asking.status().state === 'up');
		await registry.gate.open();
		await waitFor('that C knows whom B asks', () =>
			asking.path.some(({ address }) => address === placeOfRegistry.name),
		);
		await asking.close();
	});
});
