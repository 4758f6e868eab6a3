import { type ServiceSource, type SnapshotObserver, SpockError } from '@spock/protocol';
import { FakeClock, fakeSnapshot, settle, wireError } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';
import { DEFAULT_FALLBACK_AFTER_MS, resolveOptions } from '../foundation/options.ts';
import { FallbackSource } from './fallback-source.ts';
import { SidecarSource } from './sidecar-source.ts';

/** A fallback whose answers the test gives. */
function scriptedSource(): { readonly source: ServiceSource; readonly observers: Set<SnapshotObserver> } {
	const observers = new Set<SnapshotObserver>();
	const source: ServiceSource = {
		name: 'scripted',
		peek: () => undefined,
		get: () => new Promise(() => undefined),
		list: () => Promise.resolve({ services: [], source: 'live', ageMs: 0, verifiedAt: 0 }),
		watch: (_query, observer) => {
			observers.add(observer);
			return { stop: () => void observers.delete(observer) };
		},
		close: () => Promise.resolve(),
	};
	return { source, observers };
}

describe('a fallback', () => {
	it('is asked when the sidecar has been away for its time, and not before', async () => {
		const { source, observers } = scriptedSource();
		const { diplomat, clock } = await simulate({ fallback: source }, {}, 'ECONNREFUSED');
		expect(diplomat.pick('barista')).toBeUndefined();
		await clock.advance(DEFAULT_FALLBACK_AFTER_MS - 1);
		expect(observers.size).toBe(0);
		await clock.advance(1);
		expect(observers.size).toBe(1);
		for (const observer of observers) observer.next(fakeSnapshot('barista', 1, ['10.9.9.9:80']));
		expect(diplomat.pick('barista')?.host).toBe('10.9.9.9');
		await diplomat.close();
		expect([observers.size, clock.pendingTimers]).toEqual([0, 0]);
	});

	it('is never asked while there is a connection, however long the sidecar takes; but when it is lost meanwhile', async () => {
		const { source, observers } = scriptedSource();
		const hold = {
			handle: ({ func }: { readonly func: string }) => (func === 'watchService' ? 'hold' : undefined),
		} as const;
		const { diplomat, clock, sidecar, network } = await simulate({ fallback: source, heartbeatMs: 60_000 }, hold);
		const waiting = diplomat.getService('barista', { timeoutMs: 30_000 });
		await clock.advance(4 * DEFAULT_FALLBACK_AFTER_MS);
		expect(observers.size).toBe(0);
		network.failsWith = 'ECONNREFUSED';
		sidecar.connection.drop();
		await clock.advance(DEFAULT_FALLBACK_AFTER_MS);
		expect(observers.size).toBeGreaterThan(0);
		for (const observer of [...observers]) observer.next(fakeSnapshot('barista', 1, ['10.9.9.9:80']));
		expect(await waiting).toMatchObject({ host: '10.9.9.9' });
		await diplomat.close();
	});

	it('whose own registry goes away says so: its answers are stale as any other’s', async () => {
		const { source, observers } = scriptedSource();
		const { diplomat, clock } = await simulate({ fallback: source }, {}, 'ECONNREFUSED');
		diplomat.pick('barista');
		await clock.advance(DEFAULT_FALLBACK_AFTER_MS);
		const stale = { ...fakeSnapshot('barista', 1, ['10.9.9.9:80']), source: 'last-known-good', ageMs: 40 } as const;
		for (const observer of observers) observer.next(stale);
		await clock.advance(2);
		expect(diplomat.pick('barista')).toMatchObject({ host: '10.9.9.9', stale: true, ageMs: 42 });
		await diplomat.close();
	});

	it('is held to maxAgeMs: what it has cached is asked for anew, and refused where that is as old', async () => {
		const { source, observers } = scriptedSource();
		const asked: unknown[] = [];
		let verifiedAt = 0;
		const aged: ServiceSource = {
			...source,
			get: async (query, options) => {
				asked.push(options?.maxAgeMs);
				return { ...fakeSnapshot(query.service, 2, ['10.9.9.2:80']), verifiedAt };
			},
		};
		const { diplomat, clock } = await simulate({ fallback: aged }, {}, 'ECONNREFUSED');
		for (const [ageMs, outcome] of [
			[500, '10.9.9.2'],
			[5000, 'UNAVAILABLE'],
		] as const) {
			const answers = Promise.allSettled([
				diplomat.getService('barista', { maxAgeMs: 1000 }),
				diplomat.getInstances('barista', { maxAgeMs: 1000 }),
			]);
			await clock.advance(DEFAULT_FALLBACK_AFTER_MS);
			verifiedAt = clock.wallNow() - ageMs;
			const old = { ...fakeSnapshot('barista', 1, ['10.9.9.1:80']), verifiedAt: clock.wallNow() - 60_000 };
			for (const observer of [...observers]) observer.next(old);
			const said = (await answers).map((one) =>
				one.status === 'rejected'
					? (one.reason as SpockError).code
					: 'host' in one.value
						? one.value.host
						: one.value.instances[0]?.host,
			);
			expect(said).toEqual([outcome, outcome]);
		}
		expect(new Set(asked)).toEqual(new Set([1000]));
		await diplomat.close();
	});

	it('answers where there are as many subscriptions as may be: the sidecar that is away is not waited for', async () => {
		const { source, observers } = scriptedSource();
		const { diplomat, clock } = await simulate({ fallback: source, subscriptionsMax: 1 }, {}, 'ECONNREFUSED');
		diplomat.pick('roaster');
		const waiting = diplomat.getService('barista', { timeoutMs: 30_000 });
		await clock.advance(DEFAULT_FALLBACK_AFTER_MS);
		for (const observer of [...observers]) observer.next(fakeSnapshot('barista', 1, ['10.9.9.9:80']));
		expect(await waiting).toMatchObject({ host: '10.9.9.9' });
		await diplomat.close();
		expect([observers.size, clock.pendingTimers]).toEqual([0, 0]);
	});

	it('may end a watch with the answer that it gives at once', async () => {
		const { source, observers } = scriptedSource();
		const atOnce: ServiceSource = {
			...source,
			watch: (query, observer) => {
				const watch = source.watch(query, observer);
				observer.next(fakeSnapshot('barista', 1, ['10.9.9.9:80']));
				return watch;
			},
		};
		const clock = new FakeClock();
		const transport = (): never => {
			throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
		};
		const options = resolveOptions({ path: '/nowhere.sock', clock, transport });
		const both = new FallbackSource(new SidecarSource(options), options, atOnce);
		const heard: string[] = [];
		const watch = both.watch(
			{ service: 'barista' },
			{
				next: ({ service }) => {
					heard.push(service);
					watch.stop();
				},
			},
		);
		await clock.advance(DEFAULT_FALLBACK_AFTER_MS);
		expect([heard, observers.size]).toEqual([['barista'], 0]);
		await both.close();
	});

	it('costs a client whose sidecar answers no timer', async () => {
		const { source } = scriptedSource();
		const { diplomat, clock, sidecar } = await simulate({ fallback: source });
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		await diplomat.getService('barista');
		await settle();
		const timers = clock.pendingTimers;
		const plain = await simulate();
		plain.sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		await plain.diplomat.getService('barista');
		await settle();
		expect(timers).toBe(plain.clock.pendingTimers);
		await Promise.all([diplomat.close(), plain.diplomat.close()]);
	});

	it('leaves keys and registrations to the sidecar, whose answers go on with their age', async () => {
		const { source } = scriptedSource();
		const { diplomat, clock } = await simulate({ fallback: source }, {}, 'ECONNREFUSED');
		const reading = diplomat.getKey('app/limits', { timeoutMs: 50 });
		const registering = diplomat.register({ service: 'barista', port: 80 }, { timeoutMs: 50 });
		const outcomes = Promise.allSettled([reading, registering]);
		await clock.advance(50);
		expect(await outcomes).toMatchObject([{ reason: { code: 'TIMEOUT' } }, { reason: { code: 'TIMEOUT' } }]);
		await diplomat.close();
	});

	it('leaves to the sidecar what it refuses; but what it has told already is not taken back by a refusal', async () => {
		const { source, observers } = scriptedSource();
		const { diplomat, clock, sidecar, network } = await simulate(
			{ fallback: source },
			{ handle: ({ func }) => (func === 'watchService' ? { error: wireError('ACL_DENIED') } : undefined) },
		);
		await expect(diplomat.watchService('barista').next()).rejects.toMatchObject({ code: 'ACL_DENIED' });
		network.failsWith = 'ECONNREFUSED';
		sidecar.connection.drop();
		const watch = diplomat.watchService('roaster');
		const first = watch.next();
		await clock.advance(DEFAULT_FALLBACK_AFTER_MS);
		for (const observer of observers) observer.next(fakeSnapshot('roaster', 1, ['10.9.9.9:80']));
		expect((await first).value).toMatchObject({ revision: 1 });
		network.failsWith = undefined;
		await clock.advance(2000);
		expect(diplomat.status().state).toBe('ready');
		for (const observer of observers) observer.next(fakeSnapshot('roaster', 2, ['10.9.9.8:80']));
		expect((await watch.next()).value).toMatchObject({ revision: 2 });
		await diplomat.close();
	});

	it('that cannot be made says why to whoever watches', async () => {
		const fallback = (): ServiceSource => {
			throw new SpockError('ACL_DENIED', 'no token for the fallback');
		};
		const { diplomat, clock } = await simulate({ fallback }, {}, 'ECONNREFUSED');
		const next = expect(diplomat.watchService('barista').next()).rejects.toMatchObject({
			code: 'ACL_DENIED',
			message: 'no token for the fallback',
		});
		await clock.advance(DEFAULT_FALLBACK_AFTER_MS);
		await next;
		await diplomat.close();
	});

	it('lists nothing when the sidecar is back within its time', async () => {
		let lists = 0;
		const source: ServiceSource = {
			...scriptedSource().source,
			list: () => {
				lists++;
				return Promise.reject(new Error('not asked'));
			},
		};
		const { diplomat, clock, sidecar, network } = await simulate({ fallback: source }, {}, 'ECONNREFUSED');
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		const listing = diplomat.listServices();
		network.failsWith = undefined;
		await clock.advance(DEFAULT_FALLBACK_AFTER_MS - 1);
		expect((await listing).services).toEqual([{ name: 'barista', tags: [] }]);
		expect(lists).toBe(0);
		await diplomat.close();
	});
});
