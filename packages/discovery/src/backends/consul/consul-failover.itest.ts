import { createServer } from 'node:net';

import { SpockError } from '@spock/protocol';
import { FakeClock, startFakeConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { barista, blocked, watched } from '../../../test/watched-backend.ts';
import type { DiscoveryEvent } from '../../foundation/discovery-event.ts';
import { consulBackend } from './consul-backend.ts';

describe('several addresses', () => {
	it.each([{ status: 429 }, { status: 500 }, 'html', 'reset before headers'] as const)(
		'after %j the next address is asked at once, and nobody hears of an error',
		async (fault) => {
			await using bad = await startFakeConsul();
			await using good = await startFakeConsul();
			good.set('barista', [{ id: 'a' }]);
			bad.fail(fault);
			await using one = watched([bad, good]);
			await blocked(good);
			expect(one.errors).toEqual([]);
			expect(one.answers).toMatchObject([[{ instance: 'node-1/a' }]]);
			expect(bad.requests).toHaveLength(1);
		},
	);

	it('a denied token is not tried on the next address', async () => {
		await using first = await startFakeConsul();
		await using second = await startFakeConsul();
		first.fail({ status: 403 });
		await using one = watched([first, second]);
		await waitFor('the error', () => one.errors.length >= 1);
		expect(second.requests).toEqual([]);
	});

	it('a token that one address does not know is tried on the next one: a server that has just started knows none yet', async () => {
		await using first = await startFakeConsul();
		await using second = await startFakeConsul();
		second.set('barista', [{ id: 'a' }]);
		first.outage = { status: 403, text: 'ACL not found' };
		await using one = watched([first, second]);
		await blocked(second);
		expect(one.errors).toEqual([]);
		expect(one.answers).toMatchObject([[{ instance: 'node-1/a' }]]);
		expect(first.requests).toHaveLength(1);
	});

	it('a token that no address knows is refused, and then one address a try is asked', async () => {
		await using first = await startFakeConsul();
		await using second = await startFakeConsul();
		first.outage = { status: 403, text: 'ACL not found' };
		second.outage = { status: 403, text: 'ACL not found' };
		await using one = watched([first, second]);
		await waitFor('the second error', () => one.errors.length >= 2);
		expect(new Set(one.errors.map(({ code }) => code))).toEqual(new Set(['ACL_DENIED']));
		expect(second.requests).toHaveLength(1);
	});

	it('an index is never used at an address that did not give it', async () => {
		await using first = await startFakeConsul();
		await using second = await startFakeConsul();
		first.setIndex(1000);
		await using _one = watched([first, second]);
		await blocked(first);
		await first.stop();
		await blocked(second);
		const indexes = second.requests.map(({ query }) => query.get('index'));
		expect(indexes[0]).toBeNull();
		expect(indexes.at(-1)).toBe('10');
		expect(indexes).not.toContain('1000');
	});

	it('two watches that fail at once both move on, and not back to the bad address', async () => {
		await using first = await startFakeConsul();
		await using second = await startFakeConsul();
		await using one = watched([first, second]);
		one.backend.watch({ service: 'waiter' }, { answered: () => undefined, failed: (error) => one.errors.push(error) });
		await waitFor('both to block', () => first.blocked === 2);
		await first.stop();
		await waitFor('both to have moved', () => second.blocked === 2);
		expect(one.errors).toEqual([]);
		const failures = one.events.filter((event) => event.type === 'backend-query' && event.outcome === 'failed');
		// The third is the query that notices restores.
		expect(failures).toHaveLength(3);
	});

	it('when all fail, the watch fails once', async () => {
		await using first = await startFakeConsul();
		await using second = await startFakeConsul();
		first.fail({ status: 500 });
		second.fail({ status: 503 });
		await using one = watched([first, second]);
		await waitFor('the error', () => one.errors.length >= 1);
		expect(one.errors[0]?.message).toMatch(/503/);
		await waitFor('the retry', () => one.answers.length === 1);
	});
});

describe('the list of services', () => {
	it('has names and tags, sorted', async () => {
		await using fake = await startFakeConsul();
		fake.set('waiter', [{ id: 'w', tags: ['v2'] }]);
		fake.set('barista', [
			{ id: 'a', tags: ['b'] },
			{ id: 'b', tags: ['a', 'b'] },
		]);
		await using one = watched([fake]);
		expect(await one.backend.list({})).toEqual([
			{ name: 'barista', tags: ['a', 'b'] },
			{ name: 'waiter', tags: ['v2'] },
		]);
	});

	it('honours signal and timeoutMs, whatever the number of addresses', async () => {
		const clock = new FakeClock();
		await using first = await startFakeConsul();
		await using second = await startFakeConsul();
		const backend = consulBackend({ addresses: [first.url, second.url], clock });
		first.fail('stall before headers');
		second.fail('stall in mid-body');
		const listed = backend.list({}, { timeoutMs: 1000 }).catch((error: unknown) => error);
		await waitFor('the first address', () => first.requests.length === 1);
		await clock.advance(500);
		await waitFor('the second address', () => second.requests.length === 1);
		await clock.advance(500);
		expect(await listed).toMatchObject({ code: 'UNAVAILABLE' });
		first.fail('stall before headers');
		const abort = new AbortController();
		const aborted = backend.list({}, { signal: abort.signal }).catch((error: unknown) => error);
		abort.abort('enough');
		expect(await aborted).toMatchObject({ code: 'ABORTED', cause: 'enough' });
		expect(clock.pendingTimers).toBe(0);
		await backend.close();
	});

	it('a 404 that Consul itself gives is no outage; that of another program is', async () => {
		await using fake = await startFakeConsul();
		const backend = consulBackend({ addresses: [fake.url] });
		await backend.list({});
		fake.fail({ status: 404, text: 'Unknown check ID', own: { 'x-consul-default-acl-policy': 'allow' } });
		await expect(backend.list({})).rejects.toMatchObject({ code: 'UNAVAILABLE', details: { status: 404 } });
		expect(backend.status().state).toBe('up');
		fake.fail({ status: 404, text: 'no such page' });
		await expect(backend.list({})).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		expect(backend.status().state).toBe('down');
		await backend.close();
	});

	it.each(['html', { headers: {}, body: ['no', 'object'] }, { headers: {}, body: { a: 7 } }] as const)(
		'%j is refused',
		async (fault) => {
			await using fake = await startFakeConsul();
			const backend = consulBackend({ addresses: [fake.url] });
			fake.fail(fault);
			await expect(backend.list({})).rejects.toMatchObject({ code: 'UNAVAILABLE' });
			expect(backend.status().state).toBe('down');
			await backend.close();
		},
	);
});

describe('closing', () => {
	it('ends queries that block, leaves no timer and no connection, and refuses what comes after', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		const one = watched([fake], { clock });
		await blocked(fake);
		fake.fail('stall before headers');
		const listed = one.backend.list({}).catch((error: unknown) => error);
		await waitFor('the list', () => fake.faultsLeft === 0);
		await Promise.all([one.backend.close(), one.backend.close()]);
		expect(await listed).toMatchObject({ code: 'CLOSED' });
		await waitFor('the connection to end', () => fake.blocked === 0);
		expect(clock.pendingTimers).toBe(0);
		expect(one.errors).toEqual([]);
		await expect(one.backend.list({})).rejects.toMatchObject({ code: 'CLOSED' });
		expect(() => one.backend.watch(barista, { answered: () => undefined, failed: () => undefined })).toThrow(
			SpockError,
		);
	});

	it('a stopped watch frees its connection and is told nothing more', async () => {
		await using fake = await startFakeConsul();
		const backend = consulBackend({ addresses: [fake.url] });
		const told: unknown[] = [];
		const watch = backend.watch(barista, { answered: (list) => told.push(list), failed: (error) => told.push(error) });
		await blocked(fake);
		watch.stop();
		watch.stop();
		await waitFor('the connection to end', () => fake.blocked === 0);
		expect(told).toHaveLength(1);
		await backend.close();
	});

	it('hundreds of watches hold no more than was given, and all are answered', async () => {
		await using fake = await startFakeConsul();
		// No time passes: on a machine that is busy enough answers are late, and what is on its way then is asked again.
		const backend = consulBackend({ addresses: [fake.url], clock: new FakeClock(), heldMax: 150 });
		let answers = 0;
		const errors: SpockError[] = [];
		for (let number = 0; number < 300; number++) {
			backend.watch({ service: `s${number}` }, { answered: () => answers++, failed: (error) => errors.push(error) });
		}
		await waitFor('all answers', () => answers >= 300);
		expect(fake.blocked).toBeLessThanOrEqual(153);
		expect(errors).toEqual([]);
		await backend.close();
	});
});

it('tells of each query how it went, how long it took, and how fresh the server was', async () => {
	await using fake = await startFakeConsul();
	await using one = watched([fake]);
	await blocked(fake);
	fake.fail({ status: 500 });
	fake.touch();
	const isFailed = (event: DiscoveryEvent): boolean => event.type === 'backend-query' && event.outcome === 'failed';
	await waitFor('the failure', () => one.events.some(isFailed));
	expect([one.events[0], one.events.find(isFailed)]).toMatchObject([
		{ type: 'backend-query', outcome: 'ok', lastContactMs: 0, knownLeader: true },
		{ type: 'backend-query', outcome: 'failed', error: { code: 'UNAVAILABLE' } },
	]);
});

it('an address where something else listens, that says nothing of HTTP, is an error like others', async () => {
	const server = createServer((socket) => socket.resume().end('220 mail\r\n'));
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	const { port } = server.address() as { readonly port: number };
	const backend = consulBackend({ addresses: [`127.0.0.1:${port}`] });
	await expect(backend.list({})).rejects.toMatchObject({ code: 'UNAVAILABLE' });
	await backend.close();
	await new Promise((resolve) => server.close(resolve));
});
