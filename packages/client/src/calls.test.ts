import type { Duplex } from 'node:stream';

import { memoryPair, settle, wireError } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../test/simulated-client.ts';
import { createDiplomat } from './connect.ts';

const HOLD_PING = { handle: ({ func }: { func: string }) => (func === 'ping' ? ('hold' as const) : undefined) };

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
		const diplomat = createDiplomat({ path: '/nowhere.sock', transport, readyTimeoutMs: 50 });
		await expect(diplomat.ready()).rejects.toMatchObject({ code: 'TIMEOUT' });
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
