import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';

import { SpockError } from '@spock/protocol';
import { FakeSidecar, fakeSnapshot, type SourceFixture, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { connect, createDiplomat } from './connect.ts';
import { resolveOptions } from './foundation/options.ts';
import { RemoteSource } from './sources/remote-source.ts';

describe('Diplomat over real sockets', () => {
	it('reads replies however the bytes are cut, with U+2028, a lone CR and characters of many bytes in them', async () => {
		await using place = await tempSocket();
		await using sidecar = await FakeSidecar.listen(place.path, {
			handle: ({ func }) => (func === 'ping' ? 'hold' : undefined),
		});
		await using diplomat = await connect({ path: place.path });
		const value = 'a\u2028b\u2029c \\r € 😀';
		const call = diplomat.request('ping', value);
		const { id } = await waitFor('the request', () => sidecar.requestsOf('ping')[0]);
		for (const byte of Buffer.from(`\r\n\n{"id":${id},"data":${JSON.stringify(value)}}\r\n`)) {
			sidecar.connection.sendRaw(Uint8Array.of(byte));
			await new Promise((resolve) => setImmediate(resolve));
		}
		expect(await call).toBe(value);
		expect(diplomat.status().protocolFaults).toBe(0);
	});

	it('garbage from the sidecar is counted and disturbs no call', async () => {
		await using place = await tempSocket();
		await using sidecar = await FakeSidecar.listen(place.path, {
			handle: ({ func }) => (func === 'ping' ? 'hold' : undefined),
		});
		await using diplomat = await connect({ path: place.path });
		const call = diplomat.request('ping', 1);
		const { id } = await waitFor('the request', () => sidecar.requestsOf('ping')[0]);
		sidecar.connection.sendRaw('null\n[]\n{"id":"__proto__","data":1}\n{"id":-1}\nnot json\n');
		sidecar.connection.sendRaw(Buffer.from([0xff, 0xfe, 0x0a]));
		sidecar.connection.reply(999_999, 'nobody');
		sidecar.connection.reply(id, 'mine');
		expect(await call).toBe('mine');
		expect(diplomat.status()).toMatchObject({ protocolFaults: 6, lateReplies: 1 });
	});

	it('a crash of the sidecar rejects calls at once; lookups go on and recover on the next one at the same path', async () => {
		await using place = await tempSocket();
		const sidecar = await FakeSidecar.listen(place.path, {
			handle: ({ func }) => (func === 'ping' ? 'hold' : undefined),
		});
		sidecar.publish(fakeSnapshot('barista', 9, ['10.0.0.1:80']));
		await using diplomat = await connect({ path: place.path });
		await diplomat.getService('barista');
		const call = diplomat.request('ping', 1, { timeoutMs: 60_000 });
		await waitFor('the request', () => sidecar.requestsOf('ping').length > 0);
		await Promise.all([
			expect(call).rejects.toMatchObject({ code: 'DISCONNECTED', details: { sent: true } }),
			sidecar.stop(),
		]);
		expect(await diplomat.getService('barista')).toMatchObject({ host: '10.0.0.1', stale: true });
		await using second = await FakeSidecar.listen(place.path, { instance: 'fake-2' });
		second.publish(fakeSnapshot('barista', 1, ['10.0.0.2:80']));
		await waitFor('a live answer', async () => (await diplomat.getService('barista')).stale === undefined);
		expect(await diplomat.getService('barista')).toMatchObject({ host: '10.0.0.2' });
	});

	it('a sidecar that stops reading costs bounded memory: calls are OVERLOADED', async () => {
		await using place = await tempSocket();
		await using sidecar = await FakeSidecar.listen(place.path);
		await using diplomat = await connect({ path: place.path, pendingOutputBytesMax: 100_000 });
		sidecar.connection.stream.pause();
		const codes: string[] = [];
		const payload = 'x'.repeat(10_000);
		let refused = false;
		const calls: Promise<unknown>[] = [];
		for (let turn = 0; turn < 2000 && !refused; turn++) {
			calls.push(
				diplomat.request('ping', payload, { timeoutMs: 10_000 }).catch((error: unknown) => {
					if (SpockError.is(error, 'OVERLOADED')) refused = true;
					codes.push(SpockError.from(error).code);
				}),
			);
			await new Promise((resolve) => setImmediate(resolve));
		}
		expect(refused).toBe(true);
		sidecar.connection.stream.resume();
		await Promise.all(calls);
		expect(new Set(codes)).toEqual(new Set(['OVERLOADED']));
		expect(await diplomat.request('ping', 'well again')).toBe('well again');
	});

	it('tells of connects, calls and faults to who subscribed to its channels', async () => {
		const told: string[] = [];
		const listeners = ['connect', 'disconnect', 'request:start', 'request:end', 'fault'].map((name) => {
			const listener = (): void => void told.push(name);
			subscribe(`spock:client:${name}`, listener);
			return () => unsubscribe(`spock:client:${name}`, listener);
		});
		await using place = await tempSocket();
		await using sidecar = await FakeSidecar.listen(place.path);
		const diplomat = await connect({ path: place.path });
		await diplomat.ping();
		sidecar.connection.sendRaw('nonsense\n');
		await waitFor('the fault', () => told.includes('fault'));
		sidecar.connection.drop();
		await waitFor('the loss', () => told.includes('disconnect'));
		await diplomat.close();
		for (const stop of listeners) stop();
		expect(told.slice(0, 5)).toEqual(['request:start', 'request:end', 'connect', 'request:start', 'request:end']);
		expect(channel('spock:client:fault').hasSubscribers).toBe(false);
	});

	it('adds no signal handler, and no listener to the process', async () => {
		const before = process.eventNames().map((name) => [name, process.listenerCount(name)]);
		await using place = await tempSocket();
		await using _sidecar = await FakeSidecar.listen(place.path);
		await using _diplomat = await connect({ path: place.path });
		expect(process.eventNames().map((name) => [name, process.listenerCount(name)])).toEqual(before);
	});
});

describe('Diplomat in direct mode', () => {
	it('gives the same answers over any source, which it closes', async () => {
		await using place = await tempSocket();
		await using sidecar = await FakeSidecar.listen(place.path);
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		const source: SourceFixture['source'] = new RemoteSource(resolveOptions({ path: place.path }));
		(source as RemoteSource).connection.start();
		const diplomat = createDiplomat({ source });
		await diplomat.ready();
		expect(await diplomat.getService('barista')).toMatchObject({ host: '10.0.0.1' });
		expect(diplomat.pick('barista')).toMatchObject({ host: '10.0.0.1' });
		expect((await diplomat.getInstances('barista', { fresh: true })).instances).toHaveLength(1);
		expect((await diplomat.listServices()).services).toEqual([{ name: 'barista', tags: [] }]);
		expect(await diplomat.explain('barista')).toMatchObject({ instances: [{ included: true }] });
		expect(await diplomat.ping()).toBe(0);
		await expect(diplomat.request('status', null)).rejects.toMatchObject({ code: 'UNKNOWN_FUNC' });
		await expect(diplomat.getService('nobody')).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
		expect(diplomat.status()).toMatchObject({ address: null, state: 'ready', subscriptions: 2 });
		await diplomat.drain();
		expect(await diplomat.closed).toEqual({ reason: 'drain' });
		await expect(source.get({ service: 'barista' })).rejects.toMatchObject({ code: 'CLOSED' });
		await expect(diplomat.getService('barista')).rejects.toMatchObject({ code: 'CLOSED' });
	});
});
