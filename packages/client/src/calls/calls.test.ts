import { getEventListeners } from 'node:events';
import type { Duplex } from 'node:stream';

import { fakeSnapshot, HOLD_PING, memoryPair, settle, wireError } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';

describe('one signal', () => {
	it('for many calls and watches is no leak that Node warns of, and none is left on it', async () => {
		const warnings: Error[] = [];
		const warn = (warning: Error): void => void warnings.push(warning);
		process.on('warning', warn);
		const { diplomat, sidecar } = await simulate({}, HOLD_PING);
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		const controller = new AbortController();
		const { signal } = controller;
		const calls = Array.from({ length: 20 }, () => diplomat.request('ping', null, { signal }));
		const watches = Array.from({ length: 20 }, () => diplomat.watchService('barista', { signal }));
		await Promise.all(watches.map((watch) => watch.next()));
		expect(getEventListeners(signal, 'abort')).toHaveLength(1);
		controller.abort('enough');
		for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'ABORTED', cause: 'enough' });
		for (const watch of watches) expect(await watch.next()).toMatchObject({ done: true });
		expect(getEventListeners(signal, 'abort')).toEqual([]);
		await settle();
		process.off('warning', warn);
		expect(warnings).toEqual([]);
		await diplomat.close();
	});
});

describe('a call', () => {
	it('whose signal was aborted before is ABORTED, and nothing is sent', async () => {
		const { diplomat, sidecar } = await simulate();
		const signal = AbortSignal.abort('enough');
		for (const call of [diplomat.request('ping', 1, { signal }), diplomat.getService('barista', { signal })]) {
			await expect(call).rejects.toMatchObject({ code: 'ABORTED', cause: 'enough' });
		}
		expect(sidecar.requests.map(({ func }) => func)).toEqual(['hello']);
		await diplomat.close();
	});

	it('that ends early is cancelled at the sidecar, but for a baseline one, which has no such notice', async () => {
		for (const [hello, cancels] of [
			['full', 1],
			['unknown-func', 0],
		] as const) {
			const { diplomat, sidecar, clock } = await simulate({}, { ...HOLD_PING, hello });
			const call = expect(diplomat.request('ping', 1, { timeoutMs: 100 })).rejects.toMatchObject({ code: 'TIMEOUT' });
			await clock.advance(100);
			await call;
			await settle();
			expect(sidecar.requestsOf('cancel')).toHaveLength(cancels);
			await diplomat.close();
		}
	});

	it('whose failure comes when nobody waits any more is counted, and disturbs nobody', async () => {
		const { diplomat, sidecar, clock } = await simulate({}, HOLD_PING);
		const call = expect(diplomat.request('ping', 1, { timeoutMs: 100 })).rejects.toMatchObject({ code: 'TIMEOUT' });
		await clock.advance(100);
		await call;
		sidecar.connection.fail(sidecar.requestsOf('ping')[0]?.id ?? -1, wireError('UNAVAILABLE'));
		await settle();
		expect(diplomat.status()).toMatchObject({ lateReplies: 1, protocolFaults: 0, inFlight: 0 });
		await diplomat.close();
	});

	it('that leaves the queue lets the others wait on, each with its own deadline', async () => {
		const { diplomat, clock } = await simulate({}, {}, 'ENOENT');
		const stop = new AbortController();
		const first = expect(diplomat.request('ping', 1, { signal: stop.signal })).rejects.toMatchObject({
			code: 'ABORTED',
		});
		const second = expect(diplomat.request('ping', 2, { timeoutMs: 200 })).rejects.toMatchObject({ code: 'TIMEOUT' });
		stop.abort();
		await first;
		expect(diplomat.status().waiting).toBe(1);
		await clock.advance(200);
		await second;
		expect(diplomat.status().waiting).toBe(0);
		await diplomat.close();
	});
});

describe('ready', () => {
	it('is waited for by so many and no more', async () => {
		const { diplomat } = await simulate({ waitingMax: 1 }, {}, 'ENOENT');
		const first = expect(diplomat.ready()).rejects.toMatchObject({ code: 'CLOSED' });
		await expect(diplomat.ready()).rejects.toMatchObject({ code: 'OVERLOADED', details: { waitingMax: 1 } });
		await diplomat.close();
		await first;
	});
});

describe('lookups over the wire', () => {
	it('of more services than have their frame remembered are all answered', async () => {
		const { diplomat, sidecar } = await simulate({ lookups: 'remote' });
		sidecar.options = { handle: ({ func, data }) => (func === 'getService' ? { data: addressOf(data) } : undefined) };
		const names = Array.from({ length: 1100 }, (_, index) => `service-${index}`);
		const answers = await Promise.all([...names, ...names].map((name) => diplomat.getService(name)));
		expect(answers.map(({ host }) => host)).toEqual([...names, ...names]);
		await diplomat.close();
	});

	it('of a name that no service can have reject, and nothing is sent', async () => {
		const { diplomat, sidecar } = await simulate({ lookups: 'remote' });
		await expect(diplomat.getService('')).rejects.toMatchObject({ code: 'BAD_REQUEST' });
		expect(sidecar.requestsOf('getService')).toEqual([]);
		await diplomat.close();
	});
});

describe('a transport', () => {
	it('that throws what is no Error is an attempt that failed like any other', async () => {
		const errors: unknown[] = [];
		const transport = (): Duplex => {
			errors.push('thrown');
			throw 'no way';
		};
		const { diplomat, clock } = await simulate({ transport });
		const ready = expect(diplomat.ready({ timeoutMs: 50 })).rejects.toMatchObject({ code: 'TIMEOUT' });
		await clock.advance(50);
		await ready;
		expect(diplomat.status().lastError).toContain('no way');
		expect(errors.length).toBeGreaterThan(1);
		await diplomat.close();
	});

	it('is told not to hold the process only where that is asked for', async () => {
		for (const unref of [true, false]) {
			let count = 0;
			const transport = (): Duplex => Object.assign(memoryPair().near, { unref: () => count++ });
			const { diplomat } = await simulate({ transport, unref });
			expect(count).toBe(unref ? 1 : 0);
			await diplomat.close();
		}
	});
});

function addressOf(data: unknown): { host: string; port: number } {
	return { host: (data as { service: string }).service, port: 80 };
}
