import { getEventListeners } from 'node:events';

import type { ServiceSnapshot } from '@spock/protocol';
import { fakeSnapshot, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';

describe('observeService', () => {
	it('gives every snapshot, the current one first, until it is stopped or the client ends', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		await diplomat.getInstances('barista');
		const revisions: number[] = [];
		const watch = diplomat.observeService('barista', { next: ({ revision }) => revisions.push(revision) });
		expect(revisions).toEqual([1]);
		for (let revision = 2; revision <= 5; revision++) sidecar.publish(fakeSnapshot('barista', revision, []));
		await settle();
		expect(revisions).toEqual([1, 2, 3, 4, 5]);
		watch.stop();
		sidecar.publish(fakeSnapshot('barista', 6, []));
		await settle();
		expect(revisions).toHaveLength(5);
		await diplomat.close();
		expect(() => diplomat.observeService('barista', { next: () => undefined })).toThrow('closed');
		expect(() => diplomat.observeKey('menu', { next: () => undefined })).toThrow('closed');
	});

	it('an observer that throws disturbs neither the connection nor other observers; the process hears of it', async () => {
		const faults: unknown[] = [];
		const before = process.listeners('uncaughtException');
		process.removeAllListeners('uncaughtException');
		process.on('uncaughtException', (fault) => faults.push(fault));
		try {
			const { diplomat, sidecar } = await simulate();
			const revisions: number[] = [];
			const fail = (): never => {
				throw new Error('a fault of the app');
			};
			diplomat.observeService('barista', { next: fail, error: fail });
			diplomat.observeService('barista', { next: ({ revision }) => revisions.push(revision) });
			for (const revision of [1, 2]) {
				sidecar.publish(fakeSnapshot('barista', revision, ['10.0.0.1:80']));
				await settle();
			}
			expect(revisions).toEqual([1, 2]);
			expect(diplomat.status()).toMatchObject({ state: 'ready', protocolFaults: 0 });
			expect(sidecar.requestsOf('watchService')).toHaveLength(1);
			await diplomat.close();
			await new Promise((resolve) => setImmediate(resolve));
			expect(faults.map(String)).toEqual(['Error: a fault of the app', 'Error: a fault of the app']);
		} finally {
			process.removeAllListeners('uncaughtException');
			for (const listener of before) process.on('uncaughtException', listener);
		}
	});
});

describe('watchService', () => {
	it('gives the current snapshot, then the newest only to a slow reader, and ends with its signal', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		const stop = new AbortController();
		const iterator = diplomat.watchService('barista', { signal: stop.signal });
		expect((await iterator.next()).value).toMatchObject({ revision: 1 });
		for (let revision = 2; revision <= 9; revision++) sidecar.publish(fakeSnapshot('barista', revision, []));
		await settle();
		expect((await iterator.next()).value).toMatchObject({ revision: 9 });
		const pending = iterator.next();
		stop.abort();
		expect(await pending).toEqual({ value: undefined, done: true });
		expect(await iterator.next()).toEqual({ value: undefined, done: true });
		await diplomat.close();
	});

	it('a broken-off loop leaves nothing behind', async () => {
		const { diplomat, sidecar, clock } = await simulate({ idleSubscriptionMs: 100 });
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		for await (const snapshot of diplomat.watchService('barista')) {
			expect(snapshot.revision).toBe(1);
			break;
		}
		await clock.advance(200);
		expect(sidecar.requestsOf('unwatchService')).toHaveLength(1);
		expect(diplomat.status().subscriptions).toBe(0);
		await diplomat.close();
		expect(clock.pendingTimers).toBe(0);
	});

	it('leaves nothing on its signal when its reader leaves', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		const { signal } = new AbortController();
		for await (const _ of diplomat.watchService('barista', { signal })) {
			expect(getEventListeners(signal, 'abort')).toHaveLength(1);
			break;
		}
		expect(getEventListeners(signal, 'abort')).toEqual([]);
		await diplomat.close();
	});

	it('ends when the client does, and gives nothing with a signal that was aborted before', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		const seen: ServiceSnapshot[] = [];
		for await (const snapshot of diplomat.watchService('barista', { signal: AbortSignal.abort() })) seen.push(snapshot);
		const watching = (async () => {
			for await (const snapshot of diplomat.watchService('barista')) seen.push(snapshot);
		})();
		await settle();
		await diplomat.drain();
		await watching;
		expect(seen).toHaveLength(1);
	});

	it('tells that the sidecar went away, and that it is back', async () => {
		const { diplomat, sidecar, clock } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		const iterator = diplomat.watchService('barista');
		const sources = [(await iterator.next()).value?.source];
		sidecar.connection.drop();
		sources.push((await iterator.next()).value?.source);
		const back = iterator.next();
		await clock.advance(1000);
		sources.push((await back).value?.source);
		expect(sources).toEqual(['live', 'last-known-good', 'live']);
		await diplomat.close();
	});
});
