import { encodePayload, encodePush, encodeReply } from '@spock/protocol';
import { type FakeAnswer, type RecordedRequest, settle, wireError } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { barista, registering, reply } from '../../test/registering-sidecar.ts';
import { simulate } from '../../test/simulated-client.ts';

describe('a connection that changes meanwhile', () => {
	it('the one on which it was registered is gone before the answer is read: the next one is told as well', async () => {
		const { diplomat, sidecar, clock } = await simulate(
			{},
			{
				handle: (request) =>
					request.connection === 0 && request.func === 'registerService' ? 'hold' : registering(request),
			},
		);
		const registered = diplomat.register(barista);
		await settle();
		sidecar.connection.drop();
		await clock.advance(100);
		expect(await registered).toMatchObject({ state: 'registered' });
		const asked = sidecar.requestsOf('registerService');
		expect(asked.map(({ connection }) => connection)).toEqual([0, 1, 1]);
		expect(asked.at(-1)?.data).toEqual({ ...barista, id: 'b1' });
		await diplomat.close();
	});

	it.each(['answered', 'refused'])(
		'what is deregistered while it is registered again stays so, %s or not',
		async (how) => {
			const script = { holds: false };
			const handle = (request: RecordedRequest): FakeAnswer | undefined =>
				request.func === 'registerService' && script.holds ? 'hold' : registering(request);
			const { diplomat, sidecar, clock } = await simulate({}, { handle });
			const registration = await diplomat.register(barista);
			script.holds = true;
			sidecar.connection.drop();
			await clock.advance(100);
			const again = sidecar.requestsOf('registerService').at(-1);
			await registration.drain();
			if (how === 'answered') sidecar.connection.reply(again?.id ?? -1, reply());
			else sidecar.connection.fail(again?.id ?? -1, wireError('UNAVAILABLE', true));
			await clock.advance(60_000);
			expect(registration).toMatchObject({ state: 'deregistered', error: null });
			expect(sidecar.requestsOf('registerService')).toHaveLength(2);
			await diplomat.close();
		},
	);
});

describe('what was refused', () => {
	it.each([
		['a note that is too long', 'warning', 'x'.repeat(1025)],
		['a status that does not exist', 'fine', undefined],
	])('%s is not sent, and the next registration is what it was before', async (_, status, note) => {
		const { diplomat, sidecar, clock } = await simulate({}, { handle: registering });
		const registration = await diplomat.register(barista);
		await expect(registration.report(status as 'warning', note)).rejects.toMatchObject({ code: 'BAD_REQUEST' });
		expect(sidecar.requestsOf('reportService')).toEqual([]);
		sidecar.connection.drop();
		await clock.advance(100);
		expect(sidecar.requestsOf('registerService').at(-1)?.data).toEqual({ ...barista, id: 'b1' });
		await diplomat.close();
	});

	it('a registration that no sidecar can accept is not sent', async () => {
		const { diplomat, sidecar } = await simulate({}, { handle: registering });
		await expect(diplomat.register({ ...barista, port: 0 })).rejects.toMatchObject({ code: 'BAD_REQUEST' });
		expect(sidecar.requestsOf('registerService')).toEqual([]);
		await diplomat.close();
	});

	it('a report that a stricter sidecar refuses is forgotten', async () => {
		const handle = (request: RecordedRequest): FakeAnswer | undefined =>
			request.func === 'reportService' ? { error: wireError('BAD_REQUEST') } : registering(request);
		const { diplomat, sidecar, clock } = await simulate({}, { handle });
		const registration = await diplomat.register(barista);
		await expect(registration.report('warning', 'busy')).rejects.toMatchObject({ code: 'BAD_REQUEST' });
		sidecar.connection.drop();
		await clock.advance(100);
		expect(sidecar.requestsOf('registerService').at(-1)?.data).toEqual({ ...barista, id: 'b1' });
		await diplomat.close();
	});

	it.each(['before', 'after'])(
		'the report that was accepted counts, told of %s the refusal of the next one',
		async (when) => {
			const handle = (request: RecordedRequest): FakeAnswer | undefined =>
				request.func === 'reportService' ? 'hold' : registering(request);
			const { diplomat, sidecar, clock } = await simulate({}, { handle });
			const registration = await diplomat.register(barista);
			const accepted = registration.report('critical');
			const refused = expect(registration.report('warning', 'busy')).rejects.toMatchObject({ code: 'BAD_REQUEST' });
			await settle();
			const [first, second] = sidecar.requestsOf('reportService').map(({ id }) => id);
			if (when === 'before') sidecar.connection.reply(first ?? -1, reply());
			sidecar.connection.fail(second ?? -1, wireError('BAD_REQUEST'));
			await refused;
			if (when === 'after') sidecar.connection.reply(first ?? -1, reply());
			await accepted;
			sidecar.connection.drop();
			await clock.advance(100);
			expect(sidecar.requestsOf('registerService').at(-1)?.data).toEqual({ ...barista, id: 'b1', status: 'critical' });
			await diplomat.close();
		},
	);

	it('a report that waits for a connection repeats the last word of the app, which may have been given up meanwhile', async () => {
		const { diplomat, sidecar, clock, network } = await simulate({}, { handle: registering });
		const registration = await diplomat.register(barista);
		network.failsWith = 'ECONNREFUSED';
		sidecar.connection.drop();
		await clock.advance(1);
		const waiting = registration.report('critical', undefined, { timeoutMs: 60_000 });
		const givenUp = expect(registration.report('warning', undefined, { timeoutMs: 10 })).rejects.toThrow();
		await clock.advance(20);
		await givenUp;
		network.failsWith = undefined;
		await clock.advance(20_000);
		await waiting;
		expect(sidecar.requestsOf('reportService').at(-1)?.data).toEqual({ id: 'b1', status: 'warning' });
		await diplomat.close();
	});

	it('a report that could not be sent is said again: the last word of the app is what counts', async () => {
		const script = { refuses: true };
		const handle = (request: RecordedRequest): FakeAnswer | undefined =>
			request.func === 'reportService' && script.refuses
				? { error: wireError('OVERLOADED', true) }
				: registering(request);
		const { diplomat, sidecar, clock } = await simulate({}, { handle });
		const registration = await diplomat.register(barista);
		await expect(registration.report('critical')).rejects.toMatchObject({ code: 'OVERLOADED' });
		await clock.advance(10_000);
		expect(sidecar.requestsOf('registerService').at(-1)?.data).toEqual({ ...barista, id: 'b1', status: 'critical' });
		const asked = sidecar.requestsOf('registerService').length;
		await clock.advance(60_000);
		expect(sidecar.requestsOf('registerService')).toHaveLength(asked);
		await diplomat.close();
	});

	it('a last word that is denied with the registration is repeated until both are allowed', async () => {
		const script = { denies: false };
		const handle = (request: RecordedRequest): FakeAnswer | undefined =>
			script.denies && request.func !== 'hello' ? { error: wireError('ACL_DENIED') } : registering(request);
		const { diplomat, sidecar, clock } = await simulate({}, { handle });
		const registration = await diplomat.register(barista);
		script.denies = true;
		await expect(registration.report('critical')).rejects.toMatchObject({ code: 'ACL_DENIED' });
		sidecar.connection.drop();
		await clock.advance(1000);
		script.denies = false;
		await clock.advance(120_000);
		expect(sidecar.requestsOf('registerService').at(-1)?.data).toEqual({ ...barista, id: 'b1', status: 'critical' });
		await diplomat.close();
	});

	it('a last word that the next sidecar refuses gives way to what was accepted last', async () => {
		const handle = (request: RecordedRequest): FakeAnswer | undefined => {
			if (request.func === 'reportService') return 'hold';
			const { note } = (request.data ?? {}) as { note?: string };
			return request.func === 'registerService' && note === 'busy'
				? { error: wireError('BAD_REQUEST') }
				: registering(request);
		};
		const { diplomat, sidecar, clock } = await simulate({}, { handle });
		const registration = await diplomat.register(barista);
		registration.report('warning', 'busy').catch(() => undefined);
		await settle();
		sidecar.connection.drop();
		await clock.advance(100);
		expect(registration.state).toBe('registered');
		expect(sidecar.requestsOf('registerService').map(({ data }) => data)).toEqual([
			barista,
			{ ...barista, id: 'b1', status: 'warning', note: 'busy' },
			{ ...barista, id: 'b1' },
		]);
		await diplomat.close();
	});
});

describe('a drain that fails', () => {
	it('aborted before it was sent, it has changed nothing: the next connection has the registration', async () => {
		const { diplomat, sidecar, clock } = await simulate({}, { handle: registering });
		const registration = await diplomat.register(barista);
		sidecar.connection.drop();
		await settle();
		const stop = new AbortController();
		const drained = registration.drain({ signal: stop.signal });
		stop.abort();
		await expect(drained).rejects.toMatchObject({ code: 'ABORTED' });
		await clock.advance(100);
		expect(registration.state).toBe('registered');
		expect(sidecar.requestsOf('registerService')).toHaveLength(2);
		expect(sidecar.requestsOf('deregisterService')).toHaveLength(0);
		await diplomat.close();
	});

	it('refused for now, it has changed nothing', async () => {
		const handle = (request: RecordedRequest): FakeAnswer | undefined =>
			request.func === 'deregisterService' ? { error: wireError('OVERLOADED', true) } : registering(request);
		const { diplomat, sidecar, clock } = await simulate({}, { handle });
		const registration = await diplomat.register(barista);
		await expect(registration.drain()).rejects.toMatchObject({ code: 'OVERLOADED' });
		expect(registration.state).toBe('registered');
		sidecar.connection.drop();
		await clock.advance(100);
		expect(sidecar.requestsOf('registerService')).toHaveLength(2);
		await diplomat.close();
	});

	it('aborted when it was sent, it is not called registered, and the next connection is asked again', async () => {
		const script = { holds: true };
		const handle = (request: RecordedRequest): FakeAnswer | undefined =>
			request.func === 'deregisterService' && script.holds ? 'hold' : registering(request);
		const { diplomat, sidecar, clock } = await simulate({}, { handle });
		const registration = await diplomat.register(barista);
		const stop = new AbortController();
		const drained = registration.drain({ signal: stop.signal });
		await settle();
		stop.abort();
		await expect(drained).rejects.toMatchObject({ code: 'ABORTED' });
		expect(registration.state).toBe('pending');
		script.holds = false;
		sidecar.connection.drop();
		await clock.advance(100);
		expect(registration.state).toBe('deregistered');
		expect(sidecar.requestsOf('registerService')).toHaveLength(1);
		await diplomat.close();
	});
});

describe('a report that is answered', () => {
	it('before the registry took it: what is pushed right behind the answer is newer, and stays', async () => {
		const handle = (request: RecordedRequest): FakeAnswer | undefined =>
			request.func === 'reportService' ? 'hold' : registering(request);
		const { diplomat, sidecar } = await simulate({}, { handle });
		const registration = await diplomat.register(barista);
		const reported = registration.report('warning');
		await settle();
		const id = sidecar.requestsOf('reportService').at(-1)?.id ?? -1;
		const pending = encodeReply(id, encodePayload({ ...reply(), state: 'pending', error: 'not yet' }));
		sidecar.connection.sendRaw(pending + encodePush('registration', encodePayload(reply())));
		await reported;
		expect(registration).toMatchObject({ state: 'registered', error: null });
		await diplomat.close();
	});
});
