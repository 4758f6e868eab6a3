import { connect, createDiplomat, type DiplomatOptions, type ServiceSnapshot, type ServiceSource } from '@spock/client';
import { localSource } from '@spock/discovery';
import { FakeSidecar, fakeSnapshot, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

const FROM_SIDECAR = '10.0.0.1:80';
const FROM_FALLBACK = '10.9.9.9:80';

interface Spied {
	readonly source: ServiceSource;
	/** Watches that are running at it. */
	watching(): number;
	asked(): number;
	isClosed(): boolean;
}

/** A fallback that knows `barista` and `waiter`, and counts what it is asked. */
async function spiedSource(): Promise<Spied> {
	const [host = '', port = ''] = FROM_FALLBACK.split(':');
	const instances = [{ host, port: Number(port) }];
	const source = await localSource({ services: { barista: instances, waiter: instances } });
	let watching = 0;
	let asked = 0;
	let isClosed = false;
	return {
		watching: () => watching,
		asked: () => asked,
		isClosed: () => isClosed,
		source: {
			name: 'spied',
			peek: (query) => source.peek(query),
			get: (query, options) => {
				asked++;
				return source.get(query, options);
			},
			list: (query, options) => {
				asked++;
				return source.list(query, options);
			},
			watch: (query, observer) => {
				asked++;
				watching++;
				const watch = source.watch(query, observer);
				let isRunning = true;
				return {
					stop: () => {
						if (isRunning) watching--;
						isRunning = false;
						watch.stop();
					},
				};
			},
			close: async () => {
				await source.close();
				await new Promise<void>((resolve) => setImmediate(resolve));
				isClosed = true;
			},
		},
	};
}

const FAST = { fallbackAfterMs: 20 } as const;
const hostOf = ({ host, port }: { readonly host: string; readonly port: number }): string => `${host}:${port}`;

describe('a fallback', () => {
	it('answers for a service that the sidecar has never told of while it is away; the sidecar’s word ends that', async () => {
		await using place = await tempSocket();
		await using sidecar = new FakeSidecar();
		const spied = await spiedSource();
		await using diplomat = createDiplomat({ path: place.path, fallback: spied.source, ...FAST });
		const seen: ServiceSnapshot[] = [];
		const stop = new AbortController();
		const watching = (async () => {
			for await (const snapshot of diplomat.watchService('barista', { signal: stop.signal })) seen.push(snapshot);
		})();
		expect(hostOf(await diplomat.getService('barista'))).toBe(FROM_FALLBACK);
		expect((await diplomat.getInstances('barista')).source).toBe('live');
		expect((await diplomat.explain('barista')).instances).toHaveLength(1);
		expect((await diplomat.listServices()).services).toHaveLength(2);
		await waitFor('the watch', () => seen[0]?.instances[0]?.host === '10.9.9.9');
		expect(diplomat.status()).toMatchObject({ source: 'sidecar', fallback: { source: 'spied', services: 1 } });

		sidecar.publish(fakeSnapshot('barista', 5, [FROM_SIDECAR]));
		await sidecar.listen(place.path);
		await waitFor('the sidecar’s snapshot', () => seen.at(-1)?.instances[0]?.host === '10.0.0.1');
		expect(hostOf(await diplomat.getService('barista'))).toBe(FROM_SIDECAR);
		expect(spied.watching()).toBe(0);
		expect(diplomat.status().fallback).toEqual({ source: 'spied', services: 0 });
		stop.abort();
		await watching;
	});

	it('is never asked, and not even made, while the sidecar answers', async () => {
		await using place = await tempSocket();
		await using sidecar = await FakeSidecar.listen(place.path);
		sidecar.publish(fakeSnapshot('barista', 5, [FROM_SIDECAR]));
		const fallback = (): ServiceSource => {
			throw new Error('nobody needs it');
		};
		await using diplomat = await connect({ path: place.path, fallback, ...FAST });
		expect(hostOf(await diplomat.getService('barista'))).toBe(FROM_SIDECAR);
		await expect(diplomat.getService('nobody')).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
		expect(diplomat.status().fallback).toEqual({ source: null, services: 0 });
	});

	it('is not asked for a service that the sidecar has told of, even if that it has no instances', async () => {
		await using place = await tempSocket();
		await using sidecar = await FakeSidecar.listen(place.path);
		sidecar.publish(fakeSnapshot('barista', 5, [FROM_SIDECAR]));
		const spied = await spiedSource();
		await using diplomat = await connect({ path: place.path, fallback: () => spied.source, ...FAST });
		await diplomat.getService('barista');
		await diplomat.getInstances('waiter');
		await sidecar.stop();
		await waitFor('the loss', () => diplomat.status().state !== 'ready');
		expect(await diplomat.getService('barista')).toMatchObject({ host: '10.0.0.1', stale: true });
		await expect(diplomat.getService('waiter')).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
		expect(spied.asked()).toBe(0);
	});

	it('answers for what is not known when the sidecar goes away in the middle of the question', async () => {
		await using place = await tempSocket();
		await using sidecar = await FakeSidecar.listen(place.path, {
			handle: ({ func }) => (func === 'watchService' ? 'hold' : undefined),
		});
		const spied = await spiedSource();
		await using diplomat = await connect({ path: place.path, fallback: () => spied.source, ...FAST });
		const waiting = diplomat.getService('barista', { timeoutMs: 20_000 });
		await waitFor('the question', () => sidecar.requestsOf('watchService').length > 0);
		expect(spied.asked()).toBe(0);
		await sidecar.stop();
		expect(hostOf(await waiting)).toBe(FROM_FALLBACK);
	});

	it.each<[what: string, options: DiplomatOptions]>([
		['lookups that go over the wire', { lookups: 'remote' }],
		['calls that fail at once without a connection', { whileDisconnected: 'fail' }],
	])('serves %s too', async (_what, options) => {
		await using place = await tempSocket();
		const spied = await spiedSource();
		await using diplomat = createDiplomat({ path: place.path, fallback: () => spied.source, ...FAST, ...options });
		expect(hostOf(await diplomat.getService('barista'))).toBe(FROM_FALLBACK);
		await using sidecar = new FakeSidecar();
		sidecar.publish(fakeSnapshot('barista', 5, [FROM_SIDECAR]));
		await sidecar.listen(place.path);
		await diplomat.ready();
		await waitFor('the sidecar’s word', async () => hostOf(await diplomat.getService('barista')) === FROM_SIDECAR);
	});

	it('lets connect succeed without a sidecar, and an answer that must be fresh still waits for it', async () => {
		await using place = await tempSocket();
		const spied = await spiedSource();
		await using diplomat = await connect({ path: place.path, fallback: spied.source, ...FAST });
		expect(diplomat.status().state).not.toBe('ready');
		await expect(diplomat.getService('barista', { fresh: true, timeoutMs: 50 })).rejects.toMatchObject({
			code: 'TIMEOUT',
		});
		expect(diplomat.pick('barista')).toBeUndefined();
		await waitFor('the stand-in', () => diplomat.pick('barista'));
	});

	it('that fails is told beside the sidecar’s absence, at the caller’s deadline', async () => {
		await using place = await tempSocket();
		const fallback = (): ServiceSource => {
			throw new Error('no such file');
		};
		await using diplomat = createDiplomat({ path: place.path, fallback, ...FAST });
		const refusal = await diplomat.getService('barista', { timeoutMs: 200 }).catch((error: unknown) => error);
		expect(refusal).toMatchObject({
			code: 'TIMEOUT',
			message: expect.stringContaining('the fallback: fallback() failed: no such file'),
		});
	});

	it('that could not be made is tried again', async () => {
		await using place = await tempSocket();
		const spied = await spiedSource();
		let tries = 0;
		const fallback = (): ServiceSource => {
			if (++tries < 3) throw new Error('not yet');
			return spied.source;
		};
		await using diplomat = createDiplomat({ path: place.path, fallback, ...FAST });
		expect(hostOf(await diplomat.getService('barista'))).toBe(FROM_FALLBACK);
	});

	it.each(['drain', 'close'] as const)('is closed by %s, with its watches', async (end) => {
		await using place = await tempSocket();
		const spied = await spiedSource();
		const diplomat = createDiplomat({ path: place.path, fallback: spied.source, ...FAST });
		await diplomat.getService('barista');
		await diplomat[end]();
		expect([spied.isClosed(), spied.watching()]).toEqual([true, 0]);
		await expect(diplomat.getService('barista')).rejects.toMatchObject({ code: 'CLOSED' });
	});

	it('beside a source of one’s own is a mistake that is told', async () => {
		const { source } = await spiedSource();
		expect(() => createDiplomat({ source, fallback: source })).toThrow(TypeError);
		expect(() => createDiplomat({ fallback: source, fallbackAfterMs: 0 })).toThrow('fallbackAfterMs');
		const promised = Promise.resolve(source) as unknown as ServiceSource;
		expect(() => createDiplomat({ fallback: promised })).toThrow(
			'fallback must be a ServiceSource, or a function that returns one',
		);
	});
});
