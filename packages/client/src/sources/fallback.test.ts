import { type ServiceSource, SpockError } from '@spock/protocol';
import { FakeClock, fakeSnapshot, settle, wireError } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { scriptedSource } from '../../test/direct-client.ts';
import { simulate } from '../../test/simulated-client.ts';
import { DEFAULT_FALLBACK_AFTER_MS, DEFAULT_TIMEOUT_MS, resolveOptions } from '../foundation/options.ts';
import { RemoteSource } from './remote-source.ts';

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

	it('is asked at once for a further service while the sidecar has been away for its time', async () => {
		const { source, observers } = scriptedSource();
		const options = { fallback: source, fallbackAfterMs: 4000 };
		const { diplomat, clock, sidecar, network } = await simulate(options);
		network.failsWith = 'ECONNREFUSED';
		sidecar.connection.drop();
		await clock.advance(3000);
		const first = diplomat.getInstances('barista');
		await clock.advance(999);
		expect(observers.size).toBe(0);
		await clock.advance(1);
		for (const observer of observers) observer.next(fakeSnapshot('barista', 1, ['10.9.9.9:80']));
		expect(await first).toMatchObject({ service: 'barista' });
		observers.clear();
		const second = diplomat.getInstances('roaster');
		await clock.advance(0);
		for (const observer of observers) observer.next(fakeSnapshot('roaster', 1, ['10.9.9.9:81']));
		expect(await second).toMatchObject({ service: 'roaster' });
		await diplomat.close();
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

	it('that fails to close rejects the call that ends the client, and nothing else', async () => {
		const close = () => Promise.reject(new Error('no way to close'));
		for (const reason of ['close', 'drain'] as const) {
			const { diplomat } = await simulate({ fallback: { ...scriptedSource().source, close } });
			await expect(diplomat[reason]()).rejects.toThrow('no way to close');
			expect(await diplomat.closed).toEqual({ reason });
		}
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

	it('is held to maxAgeMs: what it has cached is asked for again, and refused at the deadline where that is as old', async () => {
		const { source, observers } = scriptedSource();
		const asked: unknown[] = [];
		let answerAgeMs = 500;
		const aged: ServiceSource = {
			...source,
			get: async (query, options) => {
				asked.push(options?.maxAgeMs);
				const verifiedAt = clock.wallNow() - answerAgeMs;
				return { ...fakeSnapshot(query.service, 2, ['10.9.9.2:80']), verifiedAt };
			},
		};
		const { diplomat, clock } = await simulate({ fallback: aged }, {}, 'ECONNREFUSED');
		const ask = () =>
			Promise.allSettled([
				diplomat.getService('barista', { maxAgeMs: 1000 }),
				diplomat.getInstances('barista', { maxAgeMs: 1000 }),
			]);
		const answers = ask();
		await clock.advance(DEFAULT_FALLBACK_AFTER_MS);
		const old = { ...fakeSnapshot('barista', 1, ['10.9.9.1:80']), verifiedAt: clock.wallNow() - 60_000 };
		for (const observer of [...observers]) observer.next(old);
		expect(await answers).toMatchObject([
			{ value: { host: '10.9.9.2' } },
			{ value: { instances: [{ host: '10.9.9.2' }] } },
		]);
		answerAgeMs = 5000;
		const refusals = ask();
		await clock.advance(DEFAULT_TIMEOUT_MS);
		const refusal = { reason: { code: 'UNAVAILABLE', details: { ageMs: 5000, maxAgeMs: 1000 } } };
		expect(await refusals).toMatchObject([refusal, refusal]);
		expect(asked).toEqual([1000, 1000, 1000, 1000]);
		await diplomat.close();
		expect(clock.pendingTimers).toBe(0);
	});

	it.each(['the sidecar', 'the fallback'])(
		'leaves a caller of maxAgeMs time for the sidecar to return where what %s has sent is too old',
		async (who) => {
			const { source, observers } = scriptedSource();
			const { diplomat, clock, sidecar, network } = await simulate({ fallback: source, retryDelayMsMax: 100 });
			const publish = (revision: number) =>
				sidecar.publish({ ...fakeSnapshot('barista', revision, ['10.0.0.1:80']), verifiedAt: clock.wallNow() });
			publish(1);
			if (who === 'the sidecar') await diplomat.getInstances('barista');
			network.failsWith = 'ECONNREFUSED';
			sidecar.connection.drop();
			if (who === 'the fallback') diplomat.pick('barista');
			await clock.advance(DEFAULT_FALLBACK_AFTER_MS);
			const old = { ...fakeSnapshot('barista', 1, ['10.9.9.1:80']), verifiedAt: clock.wallNow() - 60_000 };
			for (const observer of [...observers]) observer.next(old);
			await clock.advance(2000);
			const asking = [
				diplomat.getService('barista', { maxAgeMs: 1000 }),
				diplomat.getInstances('barista', { maxAgeMs: 1000 }),
			];
			await clock.advance(1000);
			network.failsWith = undefined;
			publish(2);
			await clock.advance(1000);
			expect(await Promise.all(asking)).toMatchObject([
				{ host: '10.0.0.1' },
				{ revision: 2, instances: [{ host: '10.0.0.1' }] },
			]);
			await diplomat.close();
			expect(clock.pendingTimers).toBe(0);
		},
	);

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

	it('may end its client with the answer that it gives at once', async () => {
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
		const both = new RemoteSource(options, atOnce);
		const heard: string[] = [];
		const next = ({ service }: { readonly service: string }): void => {
			heard.push(service);
			void both.close();
		};
		both.watch({ service: 'barista' }, { next });
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

	it('without an answer keeps nobody waiting for what the sidecar refuses', async () => {
		const { source, observers } = scriptedSource();
		const { diplomat, clock, network } = await simulate(
			{ fallback: source, retryDelayMsMax: 100 },
			{ handle: ({ func }) => (func === 'watchService' ? { error: wireError('ACL_DENIED') } : undefined) },
			'ECONNREFUSED',
		);
		const watched = diplomat.watchService('barista').next();
		await clock.advance(DEFAULT_FALLBACK_AFTER_MS);
		network.failsWith = undefined;
		await clock.advance(1000);
		expect([diplomat.status().state, observers.size]).toEqual(['ready', 1]);
		const asked = Promise.allSettled([diplomat.getInstances('barista'), diplomat.getService('barista')]);
		await settle();
		for (const observer of observers) observer.next(fakeSnapshot('barista', 1, ['10.9.9.9:80']));
		const refusal = { reason: { code: 'ACL_DENIED' } };
		expect(await asked).toMatchObject([refusal, refusal]);
		expect((await watched).value).toMatchObject({ revision: 1 });
		await diplomat.close();
	});

	it('that is asked once, at once, leaves no answer behind: nobody keeps it true', async () => {
		const { source, observers } = scriptedSource();
		const once = { ...source, get: async () => fakeSnapshot('barista', 1, ['10.9.9.9:80']) };
		const { diplomat, clock, network } = await simulate(
			{ fallback: once, whileDisconnected: 'fail', retryDelayMsMax: 100 },
			{ handle: ({ func }) => (func === 'watchService' ? { error: wireError('UNAVAILABLE', true) } : undefined) },
			'ECONNREFUSED',
		);
		expect(await diplomat.getService('barista')).toMatchObject({ host: '10.9.9.9' });
		network.failsWith = undefined;
		await clock.advance(DEFAULT_FALLBACK_AFTER_MS - 1);
		expect([diplomat.status().state, observers.size]).toEqual(['ready', 0]);
		const late = [diplomat.getInstances('barista'), diplomat.getService('barista')].map((one) =>
			expect(one).rejects.toMatchObject({ code: 'UNAVAILABLE' }),
		);
		await clock.advance(DEFAULT_TIMEOUT_MS);
		await Promise.all(late);
		expect(diplomat.pick('barista')).toBeUndefined();
		await diplomat.close();
	});

	it('renews by an answer what it has told, so that the next lookup need not ask', async () => {
		const { source, observers } = scriptedSource();
		let gets = 0;
		const renewed = (): ReturnType<typeof fakeSnapshot> => ({
			...fakeSnapshot('barista', 1, ['10.9.9.9:80']),
			verifiedAt: clock.wallNow(),
		});
		const asked: ServiceSource = {
			...source,
			get: async () => {
				gets++;
				return renewed();
			},
		};
		const options = { fallback: asked, whileDisconnected: 'fail' } as const;
		const { diplomat, clock } = await simulate(options, {}, 'ECONNREFUSED');
		diplomat.pick('barista');
		await clock.advance(DEFAULT_FALLBACK_AFTER_MS);
		for (const observer of observers) observer.next(renewed());
		await clock.advance(5000);
		for (let turn = 0; turn < 2; turn++) {
			expect(await diplomat.getService('barista', { maxAgeMs: 1000 })).toMatchObject({ host: '10.9.9.9' });
		}
		expect(gets).toBe(1);
		await diplomat.close();
	});

	it('tells a later watcher too why it has no answer', async () => {
		const { source, observers } = scriptedSource();
		const { diplomat, clock } = await simulate({ fallback: source }, {}, 'ECONNREFUSED');
		const denied = { code: 'ACL_DENIED' };
		const first = expect(diplomat.watchService('barista').next()).rejects.toMatchObject(denied);
		await clock.advance(DEFAULT_FALLBACK_AFTER_MS);
		for (const observer of [...observers]) observer.error?.(new SpockError('ACL_DENIED', 'no token'));
		await first;
		const later: unknown[] = [];
		const second = diplomat.watchService('barista');
		second.next().then(
			({ value }) => later.push(value),
			({ code }) => later.push(code),
		);
		await settle();
		expect(later).toEqual(['ACL_DENIED']);
		for (const observer of [...observers]) observer.next(fakeSnapshot('barista', 1, ['10.9.9.9:80']));
		expect((await diplomat.watchService('barista').next()).value).toMatchObject({ revision: 1 });
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
