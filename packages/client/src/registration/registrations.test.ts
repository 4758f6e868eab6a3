import { type FakeAnswer, type RecordedRequest, settle, wireError } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { barista, registering, reply } from '../../test/registering-sidecar.ts';
import { simulate } from '../../test/simulated-client.ts';
import type { Diplomat } from '../diplomat.ts';
import type { Registration } from './registration.ts';

describe('register', () => {
	it('gives a handle that reports and drains', async () => {
		const { diplomat, sidecar } = await simulate({}, { handle: registering });
		const registration = await diplomat.register({ ...barista, tags: ['v2'] });
		expect(registration).toMatchObject({
			id: 'b1',
			service: 'barista',
			instance: 'test/b1',
			state: 'registered',
			error: null,
		});
		await registration.report('warning', 'queue is long');
		await registration.report('passing');
		await registration.drain();
		await registration.drain();
		expect(registration.state).toBe('deregistered');
		expect(sidecar.requests.slice(1).map(({ func, data }) => [func, data])).toEqual([
			['registerService', { ...barista, tags: ['v2'] }],
			['reportService', { id: 'b1', status: 'warning', note: 'queue is long' }],
			['reportService', { id: 'b1', status: 'passing' }],
			['deregisterService', { id: 'b1' }],
		]);
		await diplomat.close();
	});

	it.each([
		[{ tag: ['v2'] }, 'unknown member of registration "tag"; did you mean "tags"?'],
		[{ name: 'barista' }, 'unknown member of registration "name"; did you mean "service"?'],
		[{ check: { url: 'http://a' } }, /unknown member of registration\.check "url"/],
		[{ weights: { pasing: 1 } }, 'unknown member of registration.weights "pasing"; did you mean "passing"?'],
	])('refuses %j, which it would otherwise leave out, before anything is sent', async (more, message) => {
		const { diplomat, sidecar } = await simulate({}, { handle: registering });
		const refused = diplomat.register({ ...barista, ...more } as never);
		await expect(refused).rejects.toThrow(message);
		await expect(refused).rejects.toThrow(TypeError);
		expect(sidecar.requests.map(({ func }) => func)).not.toContain('registerService');
		await diplomat.close();
	});

	it('rejects with what the sidecar answers; one that is older is UNKNOWN_FUNC, whichever kind it is', async () => {
		const denied = await simulate(
			{},
			{ handle: ({ func }) => (func === 'registerService' ? { error: wireError('ACL_DENIED') } : undefined) },
		);
		await expect(denied.diplomat.register(barista)).rejects.toMatchObject({ code: 'ACL_DENIED' });
		for (const hello of ['full', 'unknown-func'] as const) {
			const { diplomat } = await simulate({}, { hello });
			await expect(diplomat.register(barista)).rejects.toMatchObject({ code: 'UNKNOWN_FUNC' });
		}
		const silent = await simulate(
			{},
			{ hello: 'null', handle: ({ func }) => (func === 'hello' ? undefined : { data: null }) },
		);
		await expect(silent.diplomat.register(barista)).rejects.toMatchObject({ code: 'UNKNOWN_FUNC' });
	});

	it('again on every new connection, with the id it was given and what was reported last', async () => {
		const { diplomat, sidecar, clock } = await simulate({}, { handle: registering });
		const registration = await diplomat.register(barista);
		await registration.report('warning', 'queue is long');
		sidecar.connection.drop();
		await settle();
		expect(registration).toMatchObject({ state: 'pending', error: 'the connection to the sidecar was lost' });
		await clock.advance(100);
		expect(registration.state).toBe('registered');
		expect(sidecar.requestsOf('registerService').at(-1)).toMatchObject({
			connection: 1,
			data: { ...barista, id: 'b1', status: 'warning', note: 'queue is long' },
		});
		await diplomat.close();
	});

	it('moves with a goaway: the next sidecar has it before the first is left', async () => {
		const { diplomat, sidecar, clock } = await simulate({}, { handle: registering });
		const registration = await diplomat.register(barista);
		await clock.advance(10_000);
		sidecar.connection.push('goaway', { reason: 'upgrade', graceMs: 1000 });
		await clock.advance(100);
		expect(sidecar.requestsOf('registerService').map(({ connection }) => connection)).toEqual([0, 1]);
		expect(registration.state).toBe('registered');
		await diplomat.close();
	});

	it('what is sent again after a loss is sent in the order in which it was said, wherever its ids are', async () => {
		const { diplomat, sidecar, clock } = await simulate({}, { handle: registering });
		const registration = await diplomat.register(barista);
		for (let turn = 0; (sidecar.requests.at(-1)?.id ?? 0) % 64 !== 62; turn++) await diplomat.request('ping', turn);
		sidecar.options = { handle: (request) => (request.func === 'reportService' ? 'hold' : registering(request)) };
		const reports = [registration.report('critical'), registration.report('warning'), registration.report('passing')];
		await settle();
		sidecar.options = { handle: registering };
		const sent = sidecar.requests.length;
		sidecar.connection.drop();
		reports.push(registration.report('warning', 'said meanwhile'));
		await clock.advance(1000);
		await Promise.all(reports);
		const again = sidecar.requests.slice(sent).filter(({ func }) => func === 'reportService');
		expect(again).toHaveLength(4);
		expect(again.at(-1)?.data).toEqual({ id: 'b1', status: 'warning', note: 'said meanwhile' });
		await diplomat.close();
	});

	it.each([
		[
			'a report',
			['reportService', { id: 'b1', status: 'passing' }],
			(first: Registration) => first.report('critical'),
			(first: Registration) => first.report('passing'),
		],
		[
			'the end of a registration that was made again',
			['registerService', { ...barista, id: 'b1' }],
			(first: Registration) => first.drain(),
			(_: Registration, diplomat: Diplomat) => diplomat.register({ ...barista, id: 'b1' }),
		],
	])('%s that is lost after a goaway undoes nothing that was said since', async (_what, expected, older, newer) => {
		const { diplomat, sidecar, clock } = await simulate({}, { handle: registering });
		const registration = await diplomat.register(barista);
		sidecar.options = { handle: (request) => (request.connection === 0 ? 'hold' : registering(request)) };
		const held = older(registration);
		await settle();
		const first = sidecar.connection;
		await clock.advance(5000 - 100);
		first.push('goaway', { reason: 'upgrade', graceMs: 1000 });
		await clock.advance(90);
		expect(sidecar.connections).toHaveLength(2);
		await newer(registration, diplomat);
		first.drop();
		await settle();
		await held;
		const { func, data } = sidecar.requests.at(-1) as RecordedRequest;
		expect([func, data]).toEqual(expected);
		await diplomat.close();
	});

	it('follows what is pushed; one that somebody else took out is not registered again', async () => {
		const { diplomat, sidecar, clock } = await simulate({}, { handle: registering });
		const registration = await diplomat.register(barista);
		sidecar.connection.push('registration', reply({ state: 'pending', error: 'Consul is away' }));
		await settle();
		expect(registration).toMatchObject({ state: 'pending', error: 'Consul is away' });
		sidecar.connection.push('registration', reply());
		sidecar.connection.push('registration', reply({ id: 'unknown', state: 'pending' }));
		sidecar.connection.push('registration', { id: 5 });
		await settle();
		expect(registration.state).toBe('registered');
		expect(diplomat.status().protocolFaults).toBe(1);
		sidecar.connection.push('registration', reply({ state: 'deregistered' }));
		await settle();
		sidecar.connection.drop();
		await clock.advance(1000);
		expect(registration.state).toBe('deregistered');
		expect(sidecar.requestsOf('registerService')).toHaveLength(1);
		await diplomat.drain();
		expect(sidecar.requestsOf('deregisterService')).toHaveLength(0);
	});

	it('a sidecar that refuses it after a reconnect is asked again, with pauses', async () => {
		const script = { handle: registering as (request: RecordedRequest) => FakeAnswer | undefined };
		const { diplomat, sidecar, clock } = await simulate({}, script);
		const registration = await diplomat.register(barista);
		sidecar.options = {
			handle: (request) =>
				request.func === 'registerService' ? { error: wireError('UNAVAILABLE') } : registering(request),
		};
		sidecar.connection.drop();
		await clock.advance(400);
		expect(registration).toMatchObject({ state: 'pending', error: 'a scripted UNAVAILABLE' });
		expect(sidecar.requestsOf('registerService').length).toBeGreaterThan(2);
		sidecar.options = { handle: registering };
		await clock.advance(10_000);
		expect(registration.state).toBe('registered');
		const asked = sidecar.requestsOf('registerService').length;
		await clock.advance(60_000);
		expect(sidecar.requestsOf('registerService')).toHaveLength(asked);
		await diplomat.close();
	});

	it('one that the registry took once is not given up when it is refused to a sidecar that was restarted', async () => {
		const script = { handle: registering as (request: RecordedRequest) => FakeAnswer | undefined };
		const { diplomat, sidecar, clock } = await simulate({}, script);
		const registration = await diplomat.register(barista);
		sidecar.options = {
			handle: (request) =>
				request.func === 'registerService' ? { error: wireError('ACL_DENIED') } : registering(request),
		};
		sidecar.connection.drop();
		await clock.advance(100);
		// The new sidecar knows of no earlier success: for it, a first write was refused.
		sidecar.connection.push('registration', reply({ state: 'deregistered', error: 'the token was replaced' }));
		await settle();
		expect(registration.state).toBe('pending');
		sidecar.options = { handle: registering };
		await clock.advance(10_000);
		expect(registration.state).toBe('registered');
		await diplomat.close();
	});
});

describe('drain', () => {
	it('of the client deregisters first, and refuses new registrations', async () => {
		const { diplomat, sidecar } = await simulate({}, { handle: registering });
		const registration = await diplomat.register(barista);
		const drained = diplomat.drain();
		await expect(diplomat.register(barista)).rejects.toMatchObject({ code: 'CLOSED' });
		await drained;
		expect(registration.state).toBe('deregistered');
		expect(sidecar.requestsOf('deregisterService')).toHaveLength(1);
	});

	it.each([[['b1']], [[]]])('of the client deregisters what is being registered, beside %j', async (earlier) => {
		const handle = (request: RecordedRequest): FakeAnswer | undefined => {
			if (request.func !== 'registerService') return registering(request);
			return { data: reply({ id: (request.data as { id: string }).id }) };
		};
		const { diplomat, sidecar } = await simulate({}, { handle });
		for (const id of earlier) await diplomat.register({ ...barista, id });
		const pending = diplomat.register({ ...barista, id: 'b2' });
		const drained = diplomat.drain();
		await expect(diplomat.register(barista)).rejects.toMatchObject({ code: 'CLOSED' });
		await drained;
		expect((await pending).state).toBe('deregistered');
		const ids = sidecar.requestsOf('deregisterService').map(({ data }) => (data as { id: string }).id);
		expect(ids.sort()).toEqual([...earlier, 'b2']);
		expect(await diplomat.closed).toEqual({ reason: 'drain' });
	});

	it('of the client waits for a registration no longer than its caller', async () => {
		const handle = ({ func }: RecordedRequest): FakeAnswer | undefined =>
			func === 'registerService' ? 'hold' : undefined;
		const { diplomat, clock } = await simulate({}, { handle });
		const late = expect(diplomat.register(barista, { timeoutMs: 300 })).rejects.toMatchObject({ code: 'TIMEOUT' });
		const drained = diplomat.drain();
		await clock.advance(300);
		await Promise.all([late, drained]);
		expect(clock.pendingTimers).toBe(0);
	});

	it('of a client without a connection rejects what waits to be registered, at once', async () => {
		const { diplomat, clock } = await simulate({}, {}, 'ECONNREFUSED');
		const waiting = expect(diplomat.register(barista)).rejects.toMatchObject({ code: 'CLOSED' });
		const startedMs = clock.now();
		await diplomat.drain();
		await waiting;
		expect(clock.now()).toBe(startedMs);
	});

	it('of the client ends although the registry does not answer', async () => {
		const handle = (request: RecordedRequest): FakeAnswer | undefined =>
			request.func === 'deregisterService' ? 'hold' : registering(request);
		const { diplomat, clock } = await simulate({ timeoutMs: 1000 }, { handle });
		const registration = await diplomat.register(barista);
		const drained = diplomat.drain();
		expect(registration.state).toBe('draining');
		await clock.advance(1000);
		await drained;
		expect(await diplomat.closed).toEqual({ reason: 'drain' });
	});

	it('of a handle can be tried again; meanwhile no reconnect registers it', async () => {
		const script = { holds: true };
		const handle = (request: RecordedRequest): FakeAnswer | undefined =>
			request.func === 'deregisterService' && script.holds ? 'hold' : registering(request);
		const { diplomat, sidecar, clock } = await simulate({}, { handle });
		const registration = await diplomat.register(barista);
		const failed = registration.drain({ timeoutMs: 100 });
		const rejected = expect(failed).rejects.toMatchObject({ code: 'TIMEOUT' });
		await clock.advance(100);
		await rejected;
		sidecar.connection.drop();
		await clock.advance(100);
		expect(sidecar.requestsOf('registerService')).toHaveLength(1);
		script.holds = false;
		await registration[Symbol.asyncDispose]();
		expect(registration.state).toBe('deregistered');
		await diplomat.close();
	});
});
