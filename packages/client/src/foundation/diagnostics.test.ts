import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';

import type { TraceContext } from '@spock/protocol';
import {
	type FakeAnswer,
	fakeKey,
	fakeSnapshot,
	HOLD_PING,
	type RecordedRequest,
	settle,
	wireError,
} from '@spock/testkit';
import { afterEach, describe, expect, it } from 'vitest';

import { type Simulation, simulate } from '../../test/simulated-client.ts';
import type { ConnectMessage, DisconnectMessage, RequestEndMessage, RequestStartMessage } from './diagnostics.ts';

const PATH = '/nowhere/simulated.sock';
const stops: (() => void)[] = [];
const ABORTED = { code: 'ABORTED' };

/** Holds all but hello on the first connection. */
function holdFirst({ func, connection }: RecordedRequest): FakeAnswer | undefined {
	return func !== 'hello' && connection === 0 ? 'hold' : undefined;
}

/** Subscribes until the end of the test. */
function listen<T>(name: string, onMessage: (message: T) => void = () => undefined): T[] {
	const told: T[] = [];
	const listener = (message: unknown): void => {
		told.push(message as T);
		onMessage(message as T);
	};
	subscribe(`spock:client:${name}`, listener);
	stops.push(() => unsubscribe(`spock:client:${name}`, listener));
	return told;
}

afterEach(() => {
	for (const stop of stops.splice(0)) stop();
	expect(channel('spock:client:request:end').hasSubscribers).toBe(false);
});

it('every channel stands in the documentation, with its message, and no other', () => {
	const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
	const sources = [
		'diagnostics.ts',
		'event-diagnostics.ts',
		'../events/produce/producer-diagnostics.ts',
		'../events/consume/consumer-diagnostics.ts',
	];
	const channels = sources.flatMap((path) => [...read(path).matchAll(/channel\('spock:client:([^']+)'\)/g)]);
	const documented = [
		...read('../../../../docs/reference/diagnostics.md').matchAll(/^\| `([a-z:]+)` \| `(\w+Message)`/gm),
	];
	expect(channels.length).toBeGreaterThan(10);
	expect(documented.map(([, name]) => name).sort()).toEqual(channels.map(([, name]) => name).sort());
	const messages = sources.map(read).join('');
	expect(documented.filter(([, , message]) => !new RegExp(`(?:interface|type) ${message}\\b`).test(messages))).toEqual(
		[],
	);
});

describe('the channels of calls', () => {
	it('tell of each call once at its start and once at its end: where it went, how it ended, how large it was', async () => {
		const starts = listen<RequestStartMessage>('request:start');
		const ends = listen<RequestEndMessage>('request:end');
		const { diplomat, sidecar, clock } = await simulate({}, HOLD_PING);
		starts.length = 0;
		ends.length = 0;
		const good = diplomat.request('ping', 'é');
		const bad = diplomat.request('ping', 1).catch(() => undefined);
		await settle();
		await clock.advance(20);
		const [first, second] = sidecar.requestsOf('ping');
		sidecar.connection.reply(first?.id ?? -1, 1);
		sidecar.connection.fail(second?.id ?? -1, wireError('UNAVAILABLE', true));
		await Promise.all([good, bad]);
		expect(starts.map(({ call }) => call)).toEqual(ends.map(({ call }) => call));
		const common = { func: 'ping', server: { path: PATH }, own: false, durationMs: 20 };
		const requestBytes = Buffer.byteLength(`{"id":${first?.id},"func":"ping","data":"é"}`);
		expect(ends).toMatchObject([
			{ ...common, code: 'ok', error: undefined, requestBytes },
			{ ...common, code: 'UNAVAILABLE', error: { code: 'UNAVAILABLE' } },
		]);
		await diplomat.close();
	});

	it('tell whether anybody asked for it, or the client itself', async () => {
		const ends = listen<RequestEndMessage>('request:end');
		const { diplomat, sidecar, clock } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 1, ['1.2.3.4:80']));
		await diplomat.getService('barista');
		sidecar.connection.drop();
		await settle();
		await clock.advance(1000);
		await settle();
		expect(ends.map(({ func, own }) => [func, own])).toEqual([
			['hello', true],
			['watchService', false],
			['hello', true],
			['watchService', true],
		]);
		await diplomat.close();
	});

	it('tell of no call whose start was not told, and a call that never left has no bytes', async () => {
		const { diplomat } = await simulate({}, {}, 'ENOENT');
		const before = diplomat.request('ping', 1).catch(() => undefined);
		const ends = listen<RequestEndMessage>('request:end');
		const after = diplomat.request('ping', 2).catch(() => undefined);
		await diplomat.close();
		await Promise.all([before, after]);
		expect(ends.map(({ code, requestBytes }) => [code, requestBytes])).toEqual([['CLOSED', 0]]);
	});

	it.each<[string, (simulation: Simulation) => unknown]>([
		['the loss of the connection', ({ sidecar }) => sidecar.connection.drop()],
		['the deadline', ({ clock }) => clock.advance(100)],
		['close', ({ diplomat }) => diplomat.close()],
	])('tell each end once, and no call is sent again, if a listener aborts the others at %s', async (_what, end) => {
		const simulation = await simulate({ lookups: 'remote' }, { handle: holdFirst });
		const { diplomat, sidecar, clock } = simulation;
		const stop = new AbortController();
		const ends = listen<RequestEndMessage>('request:end', () => stop.abort());
		const first = diplomat.request('ping', 1, { timeoutMs: 100 }).catch(() => undefined);
		const options = { timeoutMs: 100, signal: stop.signal };
		const others = [1, 2].map(() => expect(diplomat.getService('barista', options)).rejects.toMatchObject(ABORTED));
		await settle();
		await end(simulation);
		await clock.advance(1000);
		await Promise.all([first, ...others]);
		expect(diplomat.status().waiting).toBe(0);
		await diplomat.close();
		expect(ends.filter(({ func }) => func === 'getService').map(({ code }) => code)).toEqual(['ABORTED', 'ABORTED']);
		expect(ends.filter(({ func, own }) => func === 'ping' && !own)).toHaveLength(1);
		expect(sidecar.requestsOf('getService')).toHaveLength(2);
	});

	it('tell each end once if a listener aborts calls that wait for a connection', async () => {
		const { diplomat } = await simulate({}, {}, 'ENOENT');
		const stop = new AbortController();
		const ends = listen<RequestEndMessage>('request:end', () => stop.abort());
		const first = diplomat.request('ping', 1).catch(() => undefined);
		const second = expect(diplomat.request('ping', 2, { signal: stop.signal })).rejects.toMatchObject(ABORTED);
		await Promise.all([first, second, diplomat.close()]);
		expect(ends.map(({ code }) => code)).toEqual(['CLOSED', 'ABORTED']);
	});

	it('take a trace for the request, and no bad one', async () => {
		const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
		const traces = [
			{ traceparent, tracestate: undefined },
			{ traceparent: '"},"x', tracestate: 'a=1' },
			{ traceparent, tracestate: '\n' },
			null as never,
		] as TraceContext[];
		const { diplomat, sidecar } = await simulate();
		listen<RequestStartMessage>('request:start', (message) => {
			message.trace = traces.shift();
		});
		for (let turn = 0; turn < 5; turn++) await diplomat.request('ping', turn);
		const trace = { traceparent, tracestate: undefined };
		const sent = sidecar.requestsOf('ping').map((request) => request.trace);
		expect(sent).toEqual([trace, undefined, trace, undefined, undefined]);
		await diplomat.close();
	});
});

describe('the channels of a connection', () => {
	it('tell every state it goes through, and why', async () => {
		const states = listen<{ from: string; to: string; event: string }>('state');
		const { diplomat, sidecar, clock } = await simulate();
		sidecar.connection.drop();
		await settle();
		await clock.advance(1000);
		await settle();
		await diplomat.drain();
		expect(states[0]).toEqual({ address: PATH, from: 'idle', to: 'connecting', event: 'start' });
		expect(states.map(({ to, event }) => `${event}: ${to}`)).toEqual([
			'start: connecting',
			'connected: ready',
			'lost: backoff',
			'retry due: connecting',
			'connected: ready',
			'drain: draining',
			'emptied: closed',
		]);
	});

	it('tell each connection and each end of one, why it ended, and whether it had been ready', async () => {
		const connects = listen<ConnectMessage>('connect');
		const disconnects = listen<DisconnectMessage>('disconnect');
		const { diplomat, sidecar, clock, network } = await simulate({}, {}, 'ECONNREFUSED');
		network.failsWith = undefined;
		await clock.advance(1000);
		sidecar.connection.drop();
		sidecar.options = { hello: 'null' };
		await clock.advance(1000);
		expect(connects).toEqual([
			{ address: PATH, sidecar: '@spock/fake/1.0.0', again: false },
			{ address: PATH, sidecar: null, again: true },
		]);
		expect(disconnects).toMatchObject([
			{ address: PATH, wasReady: false, error: { code: 'DISCONNECTED', message: 'connect ECONNREFUSED' } },
			{ address: PATH, wasReady: true, error: { code: 'DISCONNECTED', message: 'the sidecar ended the connection' } },
		]);
		await diplomat.close();
	});

	it.each(['drain', 'close'] as const)('tell that this client ended it, by %s', async (end) => {
		const disconnects = listen<DisconnectMessage>('disconnect');
		const { diplomat } = await simulate();
		await diplomat[end]();
		expect(disconnects).toMatchObject([
			{ address: PATH, wasReady: true, error: { code: 'DISCONNECTED', message: 'this client ended the connection' } },
		]);
	});

	it('tell what the sidecar sent against the protocol', async () => {
		const faults = listen('fault');
		const { diplomat, sidecar } = await simulate({ frameBytesMax: 1024 });
		sidecar.connection.sendRaw('{"id":4000,"data":1}\nnot JSON\n');
		sidecar.connection.push('window', { inFlightMax: 0 });
		sidecar.connection.push('window', { text: 'x'.repeat(1100) });
		await settle();
		expect(faults).toEqual([
			{ address: PATH, kind: 'late reply', message: 'a reply to 4000, which no call waits for' },
			{ address: PATH, kind: 'frame', message: 'the frame is not JSON' },
			{ address: PATH, kind: 'push', message: 'window without a usable inFlightMax' },
			{ address: PATH, kind: 'frame', message: expect.stringMatching(/^FRAME_TOO_LARGE: /) },
		]);
		expect(diplomat.status()).toMatchObject({ lateReplies: 1, protocolFaults: 3 });
		await diplomat.close();
	});

	it('tell of windows and of goaways, whatever these say', async () => {
		const windows = listen('window');
		const goaways = listen('goaway');
		const { diplomat, sidecar } = await simulate();
		sidecar.connection.push('window', { inFlightMax: 16 });
		sidecar.connection.push('window', { inFlightMax: 65_536 });
		sidecar.connection.push('goaway', { reason: 'upgrade', graceMs: 500 });
		sidecar.connection.push('goaway', null);
		await settle();
		expect(windows).toEqual([
			{ address: PATH, inFlightMax: 16, narrowed: true },
			{ address: PATH, inFlightMax: 65_536, narrowed: false },
		]);
		expect(goaways).toEqual([
			{ address: PATH, reason: 'upgrade', graceMs: 500 },
			{ address: PATH, reason: null, graceMs: null },
		]);
		await diplomat.close();
	});

	it('tell which option refused a call', async () => {
		const limits = listen('limit');
		const { diplomat } = await simulate({ inFlightMax: 1 }, HOLD_PING);
		const held = diplomat.request('ping', 1).catch(() => undefined);
		await expect(diplomat.request('ping', 2)).rejects.toMatchObject({ code: 'OVERLOADED' });
		expect(limits).toEqual([{ func: 'ping', limit: 'inFlightMax', value: 1 }]);
		await diplomat.close();
		await held;
	});
});

describe('the channels of what is known', () => {
	it('tell each snapshot, of services and keys, and when it is live no more, and again', async () => {
		const snapshots = listen<Record<string, unknown>>('snapshot');
		const { diplomat, sidecar, clock } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 7, ['1.2.3.4:80', '1.2.3.5:80']));
		sidecar.publishKey(fakeKey('app/limits', 3, '5'));
		await diplomat.getService('barista');
		await diplomat.getKey('app/limits');
		sidecar.connection.drop();
		await settle();
		await clock.advance(1000);
		await settle();
		const told = snapshots.map(({ query, revision, source, previousSource, count }) => ({
			query,
			revision,
			sources: [previousSource, source],
			count,
		}));
		const barista = { query: { service: 'barista' }, revision: 7, count: 2 };
		const limits = { query: { key: 'app/limits' }, revision: 3, count: 1 };
		expect(told).toEqual([
			{ ...barista, sources: [undefined, 'live'] },
			{ ...limits, sources: [undefined, 'live'] },
			{ ...barista, sources: ['live', 'last-known-good'] },
			{ ...limits, sources: ['live', 'last-known-good'] },
			{ ...barista, sources: ['last-known-good', 'live'] },
			{ ...limits, sources: ['last-known-good', 'live'] },
		]);
		expect(snapshots[0]).toMatchObject({ address: PATH, ageMs: 0, verifiedAt: expect.any(Number) });
		await diplomat.close();
	});

	it('tell of a reader that is slower than what it watches', async () => {
		const skips = listen('skip');
		const { diplomat, sidecar } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 1, []));
		const watch = diplomat.watchService('barista');
		await watch.next();
		for (const revision of [2, 3]) {
			sidecar.publish(fakeSnapshot('barista', revision, []));
			await settle();
		}
		expect(skips).toEqual([{ query: { service: 'barista' } }]);
		await diplomat.close();
	});

	it('tell how the registrations of this app are', async () => {
		const reply = { id: 'barista-1', service: 'barista', instance: 'node/barista-1', state: 'registered', error: null };
		const handle = ({ func }: { func: string }) =>
			func === 'registerService' ? { data: reply } : func === 'deregisterService' ? { data: null } : undefined;
		const registrations = listen<{ state: string }>('registration');
		const { diplomat, sidecar } = await simulate({}, { handle });
		await diplomat.register({ service: 'barista', port: 8765 });
		sidecar.connection.push('registration', { ...reply, state: 'pending', error: 'away' });
		await settle();
		await diplomat.drain();
		expect(registrations[0]).toEqual({ address: PATH, ...reply });
		expect(registrations.map(({ state }) => state)).toEqual(['registered', 'pending', 'deregistered']);
	});
});
