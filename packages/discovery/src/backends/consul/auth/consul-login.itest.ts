import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { SpockError } from '@spock/protocol';
import { FakeClock, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import type { DiscoveryEvent } from '../../../foundation/discovery-event.ts';
import type { ConsulQuestion } from '../client/consul-client.ts';
import { consulError } from '../client/consul-error.ts';
import { DEFAULT_BEARER_TOKEN_FILE } from '../client/consul-options.ts';
import { ConsulLogin } from './consul-login.ts';

const answerOf = (token: string, lifeMs?: number) => ({
	SecretID: token,
	CreateTime: '2026-01-01T00:00:00Z',
	...(lifeMs !== undefined && { ExpirationTime: new Date(Date.UTC(2026, 0, 1) + lifeMs).toISOString() }),
});

/** A login at a Consul that answers what the test says; a function may also throw. */
async function loggingIn(place: TempSocket, answer: () => unknown) {
	const clock = new FakeClock();
	const events: DiscoveryEvent[] = [];
	const asked: string[] = [];
	const tokenFile = join(place.directory, 'bearer');
	await writeFile(tokenFile, 'a.bearer.token');
	const call = async <T>({ token, read }: ConsulQuestion<T>): Promise<T> => {
		asked.push(token === null ? 'login' : `logout ${token}`);
		const given = await answer();
		try {
			return read({ headers: {} } as Parameters<typeof read>[0], given);
		} catch (reason) {
			// As the connection to Consul does.
			throw consulError(reason, 'http://127.0.0.1:8500', []);
		}
	};
	const login = new ConsulLogin({
		login: { method: 'pods', tokenFile },
		parameters: () => ({}),
		call,
		clock,
		random: () => 0.5,
		onEvent: (event) => events.push(event),
	});
	const types = () => events.map(({ type }) => type).filter((type) => type.startsWith('log'));
	return { login, clock, events, asked, types };
}

const out = (status?: number, message = 'refused'): never => {
	throw new SpockError('UNAVAILABLE', message, { details: { ...(status !== undefined && { status }) } });
};

describe('a login whose Consul answers as the test says', () => {
	it('is shared by all who ask at once, and is none after its life', async () => {
		await using place = await tempSocket();
		let count = 0;
		const { login, clock, asked } = await loggingIn(place, () => answerOf(`t${++count}`));
		expect(await Promise.all([login.read(), login.read()])).toEqual(['t1', 't1']);
		await clock.advance(3_600_000);
		// Without an end it is good for ever, and nothing renews it.
		expect(await login.read()).toBe('t1');
		expect([asked, clock.pendingTimers]).toEqual([['login'], 0]);
		await login.close();
		await login.close();
		expect(asked).toEqual(['login', 'logout t1']);
		await expect(login.read()).rejects.toMatchObject({ code: 'CLOSED' });
	});

	it('is renewed at two thirds of its life; a renewal that fails is tried again before the end', async () => {
		await using place = await tempSocket();
		let count = 0;
		let isOut = false;
		const { login, clock, asked, types } = await loggingIn(place, () =>
			isOut ? out() : answerOf(`t${++count}`, 60_000),
		);
		expect(await login.read()).toBe('t1');
		isOut = true;
		await clock.advance(40_000);
		await waitFor('the failed renewal', () => types().includes('login-failed'));
		expect(await login.read()).toBe('t1');
		isOut = false;
		await waitFor('the next renewal to be planned', () => clock.pendingTimers > 0);
		await clock.advance(10_000);
		await waitFor('the renewal', () => asked.length === 3);
		await waitFor('the new token', async () => (await login.read()) === 't2');
		await login.close();
		expect(clock.pendingTimers).toBe(0);
	});

	it('that fails is not tried again before a pause, whoever asks', async () => {
		await using place = await tempSocket();
		let isOut = true;
		const { login, clock, asked, events } = await loggingIn(place, () => (isOut ? out() : answerOf('t1')));
		await expect(login.read()).rejects.toMatchObject({ code: 'UNAVAILABLE', details: { method: 'pods' } });
		await expect(login.read()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		expect(await login.renew('old')).toBe(false);
		expect(asked).toEqual(['login']);
		isOut = false;
		await clock.advance(60_000);
		expect(await login.renew('old')).toBe(true);
		expect(events.at(-1)).toMatchObject({ type: 'logged-in', method: 'pods', ttlMs: null });
		await login.close();
	});

	it.each([
		[500, 'rpc error: token is expired', 'ACL_DENIED'],
		[500, 'No cluster leader', 'UNAVAILABLE'],
		[503, 'token is expired', 'UNAVAILABLE'],
	])('refused with %i %j is %s', async (status, words, code) => {
		await using place = await tempSocket();
		const { login } = await loggingIn(place, () => out(status, words));
		await expect(login.read()).rejects.toMatchObject({ code, details: { status, method: 'pods' } });
		await login.close();
	});

	it.each([null, {}, { SecretID: '' }, { SecretID: 5 }])('an answer of %j holds no token', async (answer) => {
		await using place = await tempSocket();
		const { login } = await loggingIn(place, () => answer);
		await expect(login.read()).rejects.toThrow(/contains no token/);
		await login.close();
	});

	it('closed while it is on its way, it logs out what it gets, tells no failure, and plans no renewal', async () => {
		for (const outcome of ['answered', 'failed']) {
			await using place = await tempSocket();
			let settle: () => void = () => undefined;
			const gate = new Promise<void>((resolve) => {
				settle = resolve;
			});
			const { login, clock, asked, types } = await loggingIn(place, async () => {
				if (asked.length > 1) return {};
				await gate;
				return outcome === 'answered' ? answerOf('t1', 60_000) : out();
			});
			const read = login.read().catch(() => undefined);
			await waitFor('the login', () => asked.length === 1);
			const closed = login.close();
			settle();
			await Promise.all([read, closed]);
			expect(asked).toEqual(outcome === 'answered' ? ['login', 'logout t1'] : ['login']);
			expect(types()).toEqual(outcome === 'answered' ? ['logged-in'] : []);
			expect(clock.pendingTimers).toBe(0);
		}
	});

	it('takes the token of the service account where none is named', async () => {
		const events: DiscoveryEvent[] = [];
		const login = new ConsulLogin({
			login: { method: 'pods' },
			parameters: () => ({}),
			call: () => Promise.reject(new Error('not asked')),
			clock: new FakeClock(),
			random: undefined,
			onEvent: (event) => events.push(event),
		});
		await expect(login.read()).rejects.toThrow();
		expect(events).toContainEqual(
			expect.objectContaining({ type: 'credentials-refused', files: [DEFAULT_BEARER_TOKEN_FILE] }),
		);
		await login.close();
	});
});
