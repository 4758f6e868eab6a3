import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { FakeClock, startFakeConsul, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { barista, blocked, watched } from '../../../test/watched-backend.ts';

const TOKEN = 'f00dfeed-secret-token';

describe('a watch at Consul', () => {
	it('asks for everything once, then blocks; a change is told when it happens', async () => {
		await using fake = await startFakeConsul();
		fake.set('barista', [
			{ id: 'b', checks: [{ status: 'critical' }] },
			{ id: 'a', tags: ['v1'] },
		]);
		await using one = watched([fake]);
		await blocked(fake);
		expect(one.answers).toMatchObject([
			[
				{ instance: 'node-1/a', status: 'passing', tags: ['v1'] },
				{ instance: 'node-1/b', status: 'critical' },
			],
		]);
		const [first, second] = fake.requests;
		expect(first?.path).toBe('/v1/health/service/barista');
		expect(Object.fromEntries(first?.query ?? [])).toEqual({ stale: '' });
		expect(Object.fromEntries(second?.query ?? [])).toEqual({ stale: '', index: String(fake.index), wait: '55000ms' });
		fake.set('barista', [{ id: 'a' }]);
		await waitFor('the change', () => one.answers.length === 2);
		expect(one.answers[1]).toMatchObject([{ instance: 'node-1/a', tags: [] }]);
		expect(one.backend.status()).toMatchObject({ name: 'consul', state: 'up', addresses: [fake.url], error: null });
	});

	it('a return is not a change: other order and other check output are told as the very same list', async () => {
		await using fake = await startFakeConsul();
		fake.set('barista', [{ id: 'a' }, { id: 'b' }]);
		await using one = watched([fake]);
		await blocked(fake);
		fake.set('barista', [{ id: 'b' }, { id: 'a', checks: [{ status: 'passing', output: 'took 7 ms' }] }]);
		await waitFor('the second answer', () => one.answers.length === 2);
		expect(one.answers[1]).toEqual(one.answers[0]);
	});

	it('every parameter and the token arrive', async () => {
		await using fake = await startFakeConsul();
		const options = {
			token: TOKEN,
			datacenter: 'dc7',
			namespace: 'ns1',
			partition: 'p1',
			consistency: 'consistent' as const,
		};
		await using _one = watched([fake], options, { service: 'a b/ü', tags: ['v1', 'x&y'] });
		await blocked(fake);
		const [request] = fake.requests;
		expect(request?.path).toBe('/v1/health/service/a%20b%2F%C3%BC');
		expect(request?.query.getAll('tag')).toEqual(['v1', 'x&y']);
		expect(Object.fromEntries(request?.query ?? [])).toMatchObject({
			consistent: '',
			dc: 'dc7',
			ns: 'ns1',
			partition: 'p1',
		});
		expect(request?.token).toBe(TOKEN);
	});

	it("a question's datacenter goes before the backend's", async () => {
		await using fake = await startFakeConsul();
		await using _one = watched(
			[fake],
			{ datacenter: 'dc1', consistency: 'default' },
			{ ...barista, datacenter: 'dc2' },
		);
		await blocked(fake);
		expect(Object.fromEntries(fake.requests[0]?.query ?? [])).toEqual({ dc: 'dc2' });
	});

	it('a token file is read again when it changes', async () => {
		await using place = await tempSocket();
		await using fake = await startFakeConsul();
		const tokenFile = join(place.directory, 'token');
		writeFileSync(tokenFile, 'first\n');
		await using _one = watched([fake], { token: 'unused', tokenFile });
		await blocked(fake);
		writeFileSync(`${tokenFile}.new`, 'second\n');
		renameSync(`${tokenFile}.new`, tokenFile);
		// The file is looked at ten times a second at the most.
		await waitFor('the new token', () => {
			fake.touch();
			return fake.requests.at(-1)?.token === 'second';
		});
		expect(fake.requests[0]?.token).toBe('first');
	});

	it('works over a unix domain socket', async () => {
		await using place = await tempSocket('consul.sock');
		await using fake = await startFakeConsul({ path: place.path });
		fake.set('barista', [{ id: 'a' }]);
		await using one = watched([fake]);
		await blocked(fake);
		expect(one.answers[0]).toMatchObject([{ instance: 'node-1/a' }]);
	});

	it('tags are compared with regard to case, which Consul disregards', async () => {
		await using fake = await startFakeConsul();
		fake.set('barista', [
			{ id: 'a', tags: ['v1'] },
			{ id: 'b', tags: ['V1'] },
		]);
		await using one = watched([fake], {}, { service: 'barista', tags: ['v1'] });
		await blocked(fake);
		expect(one.answers).toMatchObject([[{ instance: 'node-1/a' }]]);
	});

	it('an index that went back is dropped, and what is different is told', async () => {
		await using fake = await startFakeConsul();
		fake.setIndex(400);
		fake.set('barista', [{ id: 'a' }]);
		await using one = watched([fake]);
		await blocked(fake);
		fake.setIndex(340);
		fake.set('barista', [{ id: 'b' }]);
		// Queries that block with a larger index do not wake by themselves: their wait ends.
		fake.wakeAll();
		await waitFor('the change', () => one.answers.some((answer) => answer[0]?.instance === 'node-1/b'));
		await blocked(fake);
		expect(
			fake.requests.filter(({ path }) => path === '/v1/health/service/barista').map(({ query }) => query.get('index')),
		).toEqual([null, '401', null, null, '341']);
		expect(one.errors).toEqual([]);
	});

	it('an index of 0 counts as 1, and does not spin', async () => {
		await using fake = await startFakeConsul();
		fake.setIndex(1);
		fake.fail({ headers: { 'x-consul-index': '0' } });
		await using _one = watched([fake]);
		await blocked(fake);
		expect(fake.requests.map(({ query }) => query.get('index'))).toEqual([null, '1']);
	});

	it('an unknown service is an empty list', async () => {
		await using fake = await startFakeConsul();
		await using one = watched([fake]);
		await blocked(fake);
		expect(one.answers).toEqual([[]]);
	});
});

describe('a watch at Consul never ends by itself', () => {
	it.each([
		{ fault: { status: 400 }, code: 'UNAVAILABLE', says: /answered 400/ },
		{ fault: { status: 403, text: 'Permission denied' }, code: 'ACL_DENIED', says: /403/ },
		{ fault: { status: 429 }, code: 'UNAVAILABLE', says: /answered 429/ },
		{ fault: { status: 500, text: 'No cluster leader' }, code: 'UNAVAILABLE', says: /500: No cluster leader/ },
		{ fault: { status: 500, text: `what is ${TOKEN}?` }, code: 'UNAVAILABLE', says: /what is \*\*\*/ },
		{ fault: { status: 503 }, code: 'UNAVAILABLE', says: /answered 503/ },
		{ fault: 'html' as const, code: 'UNAVAILABLE', says: /text\/html/ },
		{ fault: { headers: {}, body: { no: 'list' } }, code: 'UNAVAILABLE', says: /not that of Consul's API/ },
		{ fault: { headers: {}, body: [null] }, code: 'UNAVAILABLE', says: /not that of Consul's API/ },
		{ fault: { headers: { 'x-consul-index': null } }, code: 'UNAVAILABLE', says: /no X-Consul-Index/ },
		{
			fault: { headers: { 'x-consul-results-filtered-by-acls': 'true' }, body: [] },
			code: 'ACL_DENIED',
			says: /filtered/,
		},
		{ fault: 'reset before headers' as const, code: 'UNAVAILABLE', says: /failed/ },
		{ fault: 'reset in mid-body' as const, code: 'UNAVAILABLE', says: /failed/ },
	])('$fault is reported as $code, and asked again from index 0', async ({ fault, code, says }) => {
		await using fake = await startFakeConsul();
		fake.set('barista', [{ id: 'a' }]);
		await using one = watched([fake], { token: TOKEN });
		await blocked(fake);
		fake.fail(fault);
		fake.touch();
		await waitFor('the error', () => one.errors.length >= 1);
		expect(one.errors[0]).toMatchObject({ code });
		expect(one.errors[0]?.message).toMatch(says);
		await blocked(fake);
		const questions = fake.requests.filter(({ path }) => path === '/v1/health/service/barista');
		expect(questions.map(({ query }) => query.has('index'))).toEqual([false, true, false, true]);
		expect(one.answers).toHaveLength(2);
		expect(one.backend.status()).toMatchObject({ state: 'up', error: null });
		const seen = JSON.stringify([one.errors, one.errors.map(String), one.events, one.backend.status()]);
		expect(seen).not.toContain(TOKEN);
		expect(everything(one.errors)).not.toContain(TOKEN);
	});

	it('a refused connection is reported, the status says down and why, and the return is seen', async () => {
		await using fake = await startFakeConsul();
		fake.set('barista', [{ id: 'a' }]);
		await using one = watched([fake], { random: () => 0.2 });
		await blocked(fake);
		await fake.stop();
		await waitFor('refused connections', () => one.errors.some(({ message }) => message.includes('ECONNREFUSED')));
		expect(one.backend.status()).toMatchObject({ state: 'down', error: expect.stringContaining(fake.url) });
		await fake.listen();
		await waitFor('the return', () => one.answers.length >= 2);
		expect(one.backend.status().state).toBe('up');
	});

	it('a question that Consul refuses makes it not down while it answers another, nor after it is asked no more', async () => {
		await using fake = await startFakeConsul();
		fake.set('barista', [{ id: 'a' }]);
		await using one = watched([fake], { random: () => 0.2 });
		await blocked(fake);
		fake.fail({ status: 500, text: 'No path to datacenter' });
		await expect(one.backend.list({ datacenter: 'nowhere' })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		expect(one.backend.status()).toMatchObject({ state: 'up', error: null });
		one.watch.stop();
		expect(one.backend.status()).toMatchObject({ state: 'up', error: null });
		fake.fail({ status: 500, text: 'No path to datacenter' });
		await expect(one.backend.list({ datacenter: 'nowhere' })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		expect(one.backend.status()).toMatchObject({ state: 'down' });
	});

	it('a token file that has never been there is reported by its name, and nobody is asked without it', async () => {
		await using fake = await startFakeConsul();
		await using one = watched([fake], { tokenFile: '/nowhere/token' });
		await waitFor('the error', () => one.errors.length > 0);
		expect(one.errors[0]).toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('/nowhere/token') });
		expect(fake.requests).toEqual([]);
	});
});

describe('deadlines', () => {
	it.each(['stall before headers', 'stall in mid-body'] as const)(
		'a query that blocks and then does %s ends at its own deadline',
		async (fault) => {
			const clock = new FakeClock();
			await using fake = await startFakeConsul();
			fake.set('barista', [{ id: 'a' }]);
			await using one = watched([fake], { clock });
			await blocked(fake);
			fake.fail(fault);
			fake.touch();
			await waitFor('the fault', () => fake.faultsLeft === 0);
			await clock.advance(55_000 * 1.0625 + 1999);
			expect(one.errors).toEqual([]);
			await clock.advance(2);
			expect(one.errors).toMatchObject([{ code: 'UNAVAILABLE', message: expect.stringContaining('no answer within') }]);
			// The back-off, which is 1 ms here.
			await clock.advance(1);
			await blocked(fake);
			expect(one.answers.length).toBeGreaterThanOrEqual(2);
		},
	);

	it('a first query that stalls ends after 10 s', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		fake.fail('stall before headers');
		await using one = watched([fake], { clock });
		await waitFor('the fault', () => fake.faultsLeft === 0);
		await clock.advance(10_000);
		expect(one.errors).toHaveLength(1);
	});
});

/** Whatever can be reached from a value, getters and causes too: where a token might hide. */
function everything(value: unknown, seen = new Set<unknown>()): string {
	if (typeof value !== 'object' || value === null) return String(value);
	if (seen.has(value)) return '';
	seen.add(value);
	const names = Object.getOwnPropertyNames(value);
	return names.map((name) => everything((value as Record<string, unknown>)[name], seen)).join(' ');
}
