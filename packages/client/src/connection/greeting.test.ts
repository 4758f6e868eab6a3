import { FRAME_BYTES_MAX, SpockError } from '@spock/protocol';
import { HOLD_PING, settle, wireError } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';
import { CLIENT_VERSION } from '../foundation/version.ts';
import { readGreeting, readGreetingFailure } from './greeting.ts';

const hello = (answer: { readonly data: unknown } | { readonly error: ReturnType<typeof wireError> }) => ({
	handle: ({ func }: { readonly func: string }) => (func === 'hello' ? answer : undefined),
});

describe('a sidecar of another version', () => {
	it.each([
		['answers hello with it', hello({ data: { version: 9 } }), /the sidecar 9/],
		['refuses ours, and names its own', { hello: 'unsupported' as const }, /the sidecar 2/],
		['refuses ours, and names none', hello({ error: wireError('UNSUPPORTED_VERSION') }), /the sidecar another one/],
	])('that %s ends the client with PROTOCOL', async (_how, script, message) => {
		const { diplomat } = await simulate({}, script);
		const { reason, error } = await diplomat.closed;
		expect(reason).toBe('refused');
		expect(error).toMatchObject({ code: 'PROTOCOL', message: expect.stringMatching(message) });
		await expect(diplomat.request('ping', 1)).rejects.toMatchObject({ code: 'PROTOCOL' });
		await diplomat.close();
	});

	it('that comes after one that was understood is dialled again: it may be on its way out', async () => {
		const { diplomat, sidecar, clock } = await simulate();
		sidecar.options = { hello: 'unsupported' };
		sidecar.connection.drop();
		await clock.advance(3000);
		expect(sidecar.connections.length).toBeGreaterThan(2);
		expect(diplomat.status().state).not.toBe('closed');
		sidecar.options = {};
		await clock.advance(3000);
		expect(diplomat.status().state).toBe('ready');
		await diplomat.close();
	});
});

describe('hello', () => {
	it('names versions, process and features, which an older sidecar cannot know', async () => {
		const { diplomat, sidecar } = await simulate({ name: 'till', heartbeatMs: 7000 });
		const [{ data } = { data: undefined }] = sidecar.requestsOf('hello');
		expect(data).toEqual({
			versions: [1],
			library: CLIENT_VERSION,
			pid: process.pid,
			features: ['push', 'goaway', 'window', 'deltas', 'parts', 'lists', 'events'],
			client: 'till',
			frameBytesMax: expect.any(Number),
			heartbeatMs: 7000,
			secret: expect.stringMatching(/^[0-9a-f-]{36}$/),
		});
		await diplomat.close();
	});

	it.each([null, undefined, 5, 'hello', [], {}, { sidecar: '@spock/sidecar/1.0.0', limits: { inFlightMax: 1 } }])(
		'that is answered %j, without a version, was answered by a baseline sidecar',
		(data) => {
			expect(readGreeting(data)).toMatchObject({ baseline: true, instance: null, pushes: false });
		},
	);

	it('that an unknown function refuses was answered by a baseline sidecar, which has the limits of the protocol', () => {
		expect(readGreetingFailure(new SpockError('UNKNOWN_FUNC', 'hello?'))).toEqual({
			baseline: true,
			sidecar: null,
			instance: null,
			pushes: false,
			takesEvents: false,
			frameBytesMax: FRAME_BYTES_MAX,
			inFlightMax: Number.POSITIVE_INFINITY,
		});
	});

	it('reads what the answer says of the sidecar', () => {
		const limits = { frameBytesMax: 1000, inFlightMax: 10 };
		const data = { version: 1, sidecar: '@spock/sidecar/1.0.0', instance: 'a', features: ['goaway', 'push'], limits };
		const { sidecar, instance } = data;
		expect(readGreeting(data)).toEqual({
			baseline: false,
			sidecar,
			instance,
			pushes: true,
			takesEvents: false,
			...limits,
		});
		expect(readGreeting({ ...data, features: ['goaway'] }).pushes).toBe(false);
		expect(readGreeting({ ...data, features: ['events'] }).takesEvents).toBe(true);
		expect(readGreeting({ ...data, clients: 1000 }).clients).toBe(1000);
	});

	it.each([null, 'many', 0, 1.5, -1, [5]])('ignores members of the answer that have the wrong type: %j', (wrong) => {
		const limits = { frameBytesMax: wrong, inFlightMax: wrong };
		const told = { version: 1, sidecar: 5, instance: {}, features: 'push', limits };
		const nothing = { baseline: false, sidecar: null, instance: null, pushes: false, takesEvents: false };
		const defaults = { frameBytesMax: FRAME_BYTES_MAX, inFlightMax: Number.POSITIVE_INFINITY };
		expect(readGreeting(told)).toEqual({ ...nothing, ...defaults });
		expect(readGreeting({ ...told, limits: wrong })).toEqual({ ...nothing, ...defaults });
	});

	it('that is answered with an `inFlightMax` of a wrong type leaves the option in force', async () => {
		const answer = { version: 1, limits: { inFlightMax: 'many' } };
		const handle = ({ func }: { readonly func: string }) => (func === 'hello' ? { data: answer } : ('hold' as const));
		const { diplomat } = await simulate({ inFlightMax: 1 }, { handle });
		const held = expect(diplomat.request('ping', 1)).rejects.toMatchObject({ code: 'CLOSED' });
		await expect(diplomat.request('ping', 2)).rejects.toMatchObject({ details: { inFlightMax: 1 } });
		await Promise.all([held, diplomat.close()]);
	});

	it('that shares no version says which versions either speaks, and why', () => {
		const refusal = new SpockError('UNSUPPORTED_VERSION', 'no', { details: { versions: [2, 3] } });
		expect(() => readGreetingFailure(refusal)).toThrow(
			expect.objectContaining({
				code: 'PROTOCOL',
				message: 'no protocol version in common: this client speaks 1, the sidecar 2, 3; upgrade the older one',
				details: { client: [1], sidecar: [2, 3] },
				cause: refusal,
			}),
		);
		expect(() => readGreetingFailure(new SpockError('UNSUPPORTED_VERSION', 'no'))).toThrow(
			expect.objectContaining({ details: { client: [1], sidecar: null } }),
		);
	});
});

describe('a sidecar that answers hello with a failure', () => {
	it('that says nothing of versions is dialled again', async () => {
		const { diplomat, sidecar, clock } = await simulate({}, hello({ error: wireError('OVERLOADED', true) }));
		await clock.advance(1000);
		expect(sidecar.connections.length).toBeGreaterThan(1);
		sidecar.options = {};
		await clock.advance(3000);
		expect(diplomat.status().state).toBe('ready');
		await diplomat.close();
	});
});

describe('a sidecar that refuses hello as a bad request', () => {
	it('for a member of it is dialled again, and its reason is told: it is not a baseline one', async () => {
		const error = { ...wireError('BAD_REQUEST'), details: { path: 'client' } };
		const { diplomat, sidecar, clock } = await simulate({}, hello({ error }));
		await clock.advance(1000);
		expect(sidecar.connections.length).toBeGreaterThan(1);
		expect(diplomat.status()).toMatchObject({ baseline: false, lastError: expect.stringContaining('BAD_REQUEST') });
		expect(diplomat.status().state).not.toBe('ready');
		sidecar.options = {};
		await clock.advance(3000);
		expect(diplomat.status().state).toBe('ready');
		await diplomat.close();
	});

	it('and names no member is a baseline one', async () => {
		const { diplomat } = await simulate({}, hello({ error: wireError('BAD_REQUEST') }));
		expect(diplomat.status().state).toBe('ready');
		await diplomat.close();
	});
});

describe('limits that a sidecar names in hello', () => {
	it('are kept: more calls are OVERLOADED, longer frames FRAME_TOO_LARGE, and neither is sent', async () => {
		const { diplomat, sidecar } = await simulate({}, { ...HOLD_PING, limits: { inFlightMax: 1, frameBytesMax: 64 } });
		await expect(diplomat.request('ping', 'x'.repeat(64))).rejects.toMatchObject({
			code: 'FRAME_TOO_LARGE',
			details: { frameBytesMax: 64 },
		});
		const held = expect(diplomat.request('ping', 1)).rejects.toMatchObject({ code: 'CLOSED' });
		await expect(diplomat.request('ping', 2)).rejects.toMatchObject({
			code: 'OVERLOADED',
			details: { inFlightMax: 1 },
		});
		await settle();
		expect(sidecar.requestsOf('ping').map(({ data }) => data)).toEqual([1]);
		await Promise.all([held, diplomat.close()]);
	});
});

describe('pushes of a connection', () => {
	it('a second goaway on a connection that is left already changes nothing', async () => {
		const { diplomat, sidecar, clock } = await simulate(
			{ stableMs: 10 },
			{ handle: ({ func }) => (func === 'ping' ? 'hold' : undefined) },
		);
		await clock.advance(10);
		const call = diplomat.request('ping', 1);
		await settle();
		const [first] = sidecar.connections;
		for (let turn = 0; turn < 3; turn++) {
			first?.push('goaway', { reason: 'upgrade', graceMs: 1000 });
			await clock.advance(100);
		}
		expect(sidecar.connections).toHaveLength(2);
		first?.reply(sidecar.requestsOf('ping')[0]?.id ?? -1, 'done');
		expect(await call).toBe('done');
		await diplomat.close();
	});

	it('a window without data is a fault, and narrows nothing', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.connection.push('window', null);
		await settle();
		expect(diplomat.status().protocolFaults).toBe(1);
		expect(await diplomat.request('ping', 1)).toBe(1);
		await diplomat.close();
	});
});
