import { SpockError } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';
import { AgentRegistrar } from './agent-registrar.ts';
import type { ConsulClient, ConsulCommon, ConsulQuestion } from './client/consul-client.ts';
import type { ConsulHttp } from './http/consul-http.ts';

/** A Consul that gives these answers, one for each question; a function may throw. */
function registrar(...answers: readonly (() => unknown)[]) {
	return registrarWith(new FakeClock(), () => undefined, answers);
}

/** The same, on a clock, with the token of the moment. */
function registrarWith(clock: FakeClock, token: () => string | undefined, answers: readonly (() => unknown)[]) {
	const left = [...answers];
	const client = { _request: () => Promise.resolve() } as unknown as ConsulClient;
	const http = {
		clock,
		placeParameters: () => ({}),
		call: async <T>({ read, send }: ConsulQuestion<T>): Promise<T> => {
			await send(client, { token: token() } as ConsulCommon);
			return read({ headers: {} } as Parameters<typeof read>[0], left.shift()?.());
		},
	} as unknown as ConsulHttp;
	return new AgentRegistrar(http, 0);
}

const refused =
	(status: number | undefined, message = 'no') =>
	() => {
		throw new SpockError('UNAVAILABLE', message, { details: { ...(status !== undefined && { status }) } });
	};
const health = { status: 'passing', note: '' } as const;

describe('a write to Consul', () => {
	it.each([
		[400, 'no', 'BAD_REQUEST'],
		[404, 'no', 'NO_SUCH_SERVICE'],
		[500, 'Unknown check ID "x"', 'NO_SUCH_SERVICE'],
		[500, 'No cluster leader', 'UNAVAILABLE'],
		[undefined, 'refused', 'UNAVAILABLE'],
	])('that fails with %s %j is %s', async (status, message, code) => {
		await expect(registrar(refused(status, message)).report('b1', health)).rejects.toMatchObject({ code });
	});

	it('that is denied stays so', async () => {
		const denied = registrar(() => {
			throw new SpockError('ACL_DENIED', 'no');
		});
		await expect(denied.report('b1', health)).rejects.toMatchObject({ code: 'ACL_DENIED' });
	});

	it('with a token that Consul has only just stopped to know is worth a retry: it may have restarted', async () => {
		const clock = new FakeClock();
		let token = 'old';
		const unknown = () => {
			throw new SpockError('ACL_DENIED', 'unknown', { details: { isUnknownToken: true } });
		};
		const answers = [() => '', unknown, unknown, () => '', unknown, unknown];
		const consul = registrarWith(clock, () => token, answers);
		const code = (): Promise<string> =>
			consul.deregister('b1').then(
				() => 'good',
				(error: SpockError) => error.code,
			);
		expect(await code()).toBe('good');
		expect(await code()).toBe('UNAVAILABLE');
		await clock.advance(10_000);
		expect([await code(), await code()]).toEqual(['ACL_DENIED', 'good']);
		expect(await code()).toBe('UNAVAILABLE');
		// It has never accepted this one.
		token = 'new';
		expect(await code()).toBe('ACL_DENIED');
	});

	it('answered with a page is none, and taking out what Consul does not know is done', async () => {
		await expect(registrar(() => '<html>').report('b1', health)).rejects.toThrow(/check that this address is Consul/);
		await registrar(() => ' \n').report('b1', health);
		await registrar(refused(404)).deregister('b1');
		await expect(registrar(refused(undefined)).deregister('b1')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
	});

	it('what it has of ours is read from objects only', async () => {
		await expect(registrar(() => null).owned('me')).rejects.toThrow(/check that this address is Consul/);
		expect(await registrar(() => ({ b1: { ID: 'b1', Meta: null } })).owned('me')).toEqual([]);
	});
});

describe('an id that two sidecars register', () => {
	const barista = { id: 'b1', service: 'barista', port: 80, tags: [], meta: {}, bind: 'connection' } as const;
	const terms = { ttlMs: 15_000, deregisterAfterMs: 600_000, owner: 'me' };
	const service = (owner: string) => () => ({ b1: { ID: 'b1', Service: 'barista', Meta: { 'spock-owner': owner } } });
	const check = (Status: string) => () => ({ 'spock:ttl:b1': { Node: 'test', ServiceID: 'b1', Status } });
	const nothing = () => ({});
	const written = () => '';
	const registered = [nothing, nothing, written, written, check('passing')];

	it.each(['spock:ttl:b1', 'spock:http:b1', 'spock:tcp:b1', '_service_maintenance:b1'])(
		'that another program’s check has (%s) is refused, and its check stays',
		async (checkId) => {
			const theirs = () => ({ [checkId]: { Node: 'test', ServiceID: 'web', Status: 'critical' } });
			const consul = registrar(nothing, theirs, () => expect.fail('a write'));
			await expect(consul.register(barista, health, terms)).rejects.toMatchObject({
				code: 'BAD_REQUEST',
				message: expect.stringContaining('belongs to web'),
			});
		},
	);

	it('whose check another program has taken since is not reported on', async () => {
		const theirs = () => ({ 'spock:ttl:b1': { Node: 'test', ServiceID: 'web', Status: 'critical' } });
		const consul = registrar(...registered, service('me'), theirs, () => expect.fail('a write'));
		await consul.register(barista, health, terms);
		await expect(consul.report('b1', health)).rejects.toMatchObject({ code: 'BAD_REQUEST' });
	});

	it('stays with who has it and keeps it up: the other one learns whose it is, and writes nothing', async () => {
		const consul = registrar(service('them'), check('passing'), () => expect.fail('a write'));
		await expect(consul.register(barista, health, terms)).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			message: expect.stringContaining('another sidecar, them'),
		});
	});

	it.each([
		['its check is critical', check('critical')],
		['it has no check', nothing],
	])('is taken when the other one does not keep it up: %s', async (_, checks) => {
		const consul = registrar(service('them'), checks, ...registered.slice(2));
		expect(await consul.register(barista, health, terms)).toBe('test/b1');
	});

	it.each([
		['them', undefined],
		['them', 'barista'],
		['me', 'barista'],
	])('is never taken from another app, whether %s has registered it or not, for %s', async (owner, app) => {
		const entry = { ID: 'b1', Service: 'barista', Meta: { 'spock-owner': owner, 'spock-app': 'till' } };
		const consul = registrar(
			() => ({ b1: entry }),
			check('critical'),
			() => expect.fail('a write'),
		);
		const claimed = consul.register({ ...barista, ...(app && { app }) }, health, terms);
		await expect(claimed).rejects.toMatchObject({
			code: 'ACL_DENIED',
			message: expect.stringContaining('another app'),
		});
	});

	it('the one that lost it gives way with its next report, and has it again when the other one has left', async () => {
		const steps = [
			service('them'),
			check('passing'),
			service('them'),
			check('critical'),
			service('me'),
			check('passing'),
			written,
		];
		const consul = registrar(...registered, ...steps);
		await consul.register(barista, health, terms);
		await expect(consul.report('b1', health)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		await expect(consul.report('b1', health)).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
		await consul.report('b1', health);
	});

	it('is registered anew where its node has another name: that is a part of its own name', async () => {
		const renamed = () => ({ 'spock:ttl:b1': { Node: 'renamed', ServiceID: 'b1', Status: 'passing' } });
		const again = [service('me'), renamed, written, written, renamed];
		const consul = registrar(...registered, service('me'), renamed, ...again);
		expect(await consul.register(barista, health, terms)).toBe('test/b1');
		await expect(consul.report('b1', health)).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
		expect(await consul.register(barista, health, terms)).toBe('renamed/b1');
	});

	it('is not taken out by the one that does not have it', async () => {
		const consul = registrar(...registered, service('them'), check('passing'), () => expect.fail('a write'));
		await consul.register(barista, health, terms);
		await consul.deregister('b1');
	});

	it('is not taken out by one that has written nothing yet, nor where another program has it', async () => {
		const noWrite = () => expect.fail('a write');
		const never = registrar(refused(undefined), service('them'), check('passing'), noWrite);
		await expect(never.register(barista, health, terms)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		await never.deregister('b1');
		const unmarked = () => ({ b1: { ID: 'b1', Service: 'barista', Meta: {} } });
		const replaced = registrar(...registered, unmarked, nothing, noWrite);
		await replaced.register(barista, health, terms);
		await replaced.deregister('b1');
	});

	it('is registered anew where another program has registered it since: its address may be another one', async () => {
		const consul = registrar(...registered, () => ({ b1: { ID: 'b1', Service: 'barista' } }), nothing);
		await consul.register(barista, health, terms);
		await expect(consul.report('b1', health)).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
	});
});

describe('the node that has an id of an owner', () => {
	const service = (owner: string | undefined) => () => ({
		b1: { ID: 'b1', Service: 'barista', Meta: owner === undefined ? {} : { 'spock-owner': owner } },
	});
	const check = (Node: string | undefined) => () => ({ 'spock:ttl:b1': { Node, ServiceID: 'b1', Status: 'passing' } });

	it.each([
		['is that of its checks', service('me'), check('n1'), 'n1'],
		['is unknown where they name none', service('me'), () => ({}), null],
		['is none where it is not registered', () => ({}), () => ({}), undefined],
		['is none where another sidecar has it', service('other'), check('n1'), undefined],
		['is none where another program has it', service(undefined), check('n1'), undefined],
	])('%s', async (_what, services, checks, expected) => {
		expect(await registrar(services, checks).nodeOf('b1', 'me')).toBe(expected);
	});
});
