import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import {
	FakeClock,
	manage,
	READ_ALL,
	type RealConsul,
	startAclConsul,
	type TempSocket,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { watchedMany } from '../../../../test/watched-many.ts';
import type { ConsulBackendOptions } from '../consul-backend-options.ts';

const METHOD = 'pods';
const TTL_MS = 60_000;
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
let consul: RealConsul;
let place: TempSocket;

/** A token as a service account has one: signed by whoever the auth method trusts. */
function jwt(key: KeyObject = privateKey): string {
	const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
	const nowS = Math.floor(Date.now() / 1000);
	const head = `${part({ alg: 'RS256', typ: 'JWT' })}.${part({ iss: 'kubernetes', sub: 'barista', aud: 'consul', iat: nowS, nbf: nowS - 60, exp: nowS + 3600 })}`;
	return `${head}.${sign('sha256', Buffer.from(head), createPrivateKey(key.export({ type: 'pkcs8', format: 'pem' }))).toString('base64url')}`;
}

beforeAll(async () => {
	place = await tempSocket();
	consul = await startAclConsul();
	await manage(consul, 'PUT', '/v1/acl/policy', { Name: 'read-all', Rules: READ_ALL });
	await manage(consul, 'PUT', '/v1/acl/role', { Name: 'reader', Policies: [{ Name: 'read-all' }] });
	await manage(consul, 'PUT', '/v1/acl/auth-method', {
		Name: METHOD,
		Type: 'jwt',
		MaxTokenTTL: `${TTL_MS / 1000}s`,
		Config: {
			JWTValidationPubKeys: [publicKey.export({ type: 'spki', format: 'pem' })],
			BoundIssuer: 'kubernetes',
			BoundAudiences: ['consul'],
			ClaimMappings: { sub: 'name' },
		},
	});
	await manage(consul, 'PUT', '/v1/acl/binding-rule', { AuthMethod: METHOD, BindType: 'role', BindName: 'reader' });
	await consul.put('/v1/agent/service/register', { Name: 'barista', ID: 'b1', Address: '10.0.0.1', Port: 80 });
});
afterAll(async () => {
	await consul[Symbol.asyncDispose]();
	await place[Symbol.asyncDispose]();
});

interface ListedToken {
	readonly AccessorID: string;
	readonly AuthMethod?: string;
	readonly Description: string;
}

const tokens = async (): Promise<readonly ListedToken[]> =>
	((await manage(consul, 'GET', '/v1/acl/tokens')) as ListedToken[]).filter(({ AuthMethod }) => AuthMethod === METHOD);

function login(bearer: string, more: Partial<ConsulBackendOptions> = {}) {
	const tokenFile = join(place.directory, `bearer-${Math.random()}`);
	writeFileSync(tokenFile, bearer);
	const one = watchedMany([consul.url], { login: { method: METHOD, tokenFile, meta: { pod: 'pod-7' } }, ...more });
	const told = () =>
		JSON.stringify([one.events, one.backend.status()]) +
		one.events.map((event) => String('error' in event && event.error));
	const count = (type: string) => one.events.filter((event) => event.type === type).length;
	return { one, tokenFile, told, count };
}

/** In steps with a round trip to Consul after each: it takes real time to answer a pulse, and would seem silent after one leap. */
async function advance(clock: FakeClock, ms: number): Promise<void> {
	for (let leftMs = ms; leftMs > 0; leftMs -= 500) {
		await clock.advance(Math.min(500, leftMs));
		await tokens();
	}
}

describe('a login with an auth method', () => {
	it('gives a token for everything; the end logs out', async () => {
		const { one, count } = login(jwt());
		const watches = ['barista', 'barista', 'waiter'].map((name) => one.watch(name));
		await waitFor('the answers', () => watches.every(({ answers }) => answers.length > 0));
		expect(watches[0]?.answers[0]).toMatchObject([{ instance: 'test/b1' }]);
		expect(await one.backend.list({})).toContainEqual({ name: 'barista', tags: [] });
		expect(count('logged-in')).toBe(1);
		expect(one.events).toContainEqual({ type: 'logged-in', method: METHOD, ttlMs: expect.any(Number) });
		const [token] = await tokens();
		expect(token?.Description).toContain('pod-7');
		await one.backend.close();
		expect(await tokens()).toEqual([]);
	});

	it('is repeated before the token expires, and nobody notices', async () => {
		const clock = new FakeClock();
		const { one, count } = login(jwt(), { clock });
		const { answers, errors } = one.watch('barista');
		await waitFor('the answer', () => answers.length > 0);
		await advance(clock, TTL_MS * 0.6);
		expect(count('logged-in')).toBe(1);
		await advance(clock, TTL_MS * 0.1);
		await waitFor('the second login', () => count('logged-in') === 2);
		expect(await tokens()).toHaveLength(2);
		expect(errors).toEqual([]);
		await one.backend.close();
		expect(clock.pendingTimers).toBe(0);
		// The first is left to expire: queries that block were sent with it.
		for (const { AccessorID } of await tokens()) await manage(consul, 'DELETE', `/v1/acl/token/${AccessorID}`);
	});

	it('is repeated when Consul does not know the token any more, within the same call', async () => {
		const { one, count } = login(jwt());
		const { answers, errors } = one.watch('barista');
		await waitFor('the answer', () => answers.length > 0);
		for (const { AccessorID } of await tokens()) await manage(consul, 'DELETE', `/v1/acl/token/${AccessorID}`);
		expect(await one.backend.list({})).toContainEqual({ name: 'barista', tags: [] });
		expect(count('logged-in')).toBe(2);
		await consul.put('/v1/agent/service/register', { Name: 'barista', ID: 'b2', Address: '10.0.0.2', Port: 80 });
		await waitFor('the change', () => answers.at(-1)?.length === 2);
		expect(errors).toEqual([]);
		await one.backend.close();
		await consul.put('/v1/agent/service/deregister/b2');
	});

	it('that is refused is ACL_DENIED with the name of the method, and no token is in what is told', async () => {
		const bearer = jwt(stranger);
		const { one, tokenFile, told, count } = login(bearer);
		const { answers, errors } = one.watch('barista');
		await waitFor('the error', () => errors.length > 0);
		expect(errors[0]).toMatchObject({ message: expect.stringContaining(METHOD), code: 'ACL_DENIED' });
		expect(count('login-failed')).toBeGreaterThan(0);
		expect(told()).not.toContain(bearer);
		expect(told()).not.toContain(bearer.split('.')[2]);
		writeFileSync(tokenFile, jwt());
		await waitFor('the login with a good one', () => answers.length > 0);
		await one.backend.close();
	});

	it('without a bearer token is reported by the name of its file', async () => {
		await using one = watchedMany([consul.url], { login: { method: METHOD, tokenFile: '/nowhere/token' } });
		const { errors } = one.watch('barista');
		await waitFor('the error', () => errors.length > 0);
		expect(errors[0]).toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('/nowhere/token') });
	});
});
