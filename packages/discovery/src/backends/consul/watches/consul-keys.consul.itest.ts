import { randomUUID } from 'node:crypto';

import { entriesOf, KEY_VALUE_BYTES_MAX, type KeyQuery, type KeySource } from '@spock/protocol';
import { findConsul, type RealConsul, startConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { keyRecorder } from '../../../../test/fake-key-source.ts';
import { BackendSource, type BackendSourceOptions } from '../../../backend-source.ts';
import type { DiscoveryEvent } from '../../../foundation/discovery-event.ts';
import { consulBackend } from '../consul-backend.ts';
import type { ConsulBackendOptions } from '../consul-backend-options.ts';

const binary = findConsul(process.env);
const limits = { key: 'app/limits' };
const app = { key: 'app/', prefix: true };

function open(consul: RealConsul, options: ConsulBackendOptions = {}, more: Partial<BackendSourceOptions> = {}) {
	const events: DiscoveryEvent[] = [];
	const onEvent = (event: DiscoveryEvent): number => events.push(event);
	const backend = consulBackend({ addresses: [consul.url], onEvent, ...options });
	const source = new BackendSource({ backend, onEvent, ...more });
	const keys = source.keys as KeySource;
	const queries = () => events.filter(({ type }) => type === 'backend-query').length;
	const watch = (query: KeyQuery) => {
		const told = keyRecorder();
		keys.watch(query, told);
		/** The newest snapshot, as `key=value` for each entry. */
		const now = () =>
			told.seen.at(-1) && entriesOf(told.seen.at(-1) as never).map(({ key, value }) => `${key}=${value}`);
		const says = (...entries: string[]) => waitFor(entries.join(' '), () => now()?.join() === entries.join());
		return { ...told, now, says };
	};
	return { source, keys, events, queries, watch, [Symbol.asyncDispose]: () => source.close() };
}

/** Any request to Consul; throws unless the answer is 2xx, and gives its text. */
async function send(consul: RealConsul, method: string, path: string, body?: string | Uint8Array, token?: string) {
	const headers = token === undefined ? {} : { 'x-consul-token': token };
	const response = await fetch(`${consul.url}/v1${path}`, { method, headers, ...(body !== undefined && { body }) });
	const text = await response.text();
	if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
	return text;
}

const put = (consul: RealConsul, key: string, value: string | Uint8Array, token?: string) =>
	send(consul, 'PUT', `/kv/${encodeURIComponent(key)}`, value, token);
const remove = (consul: RealConsul, key: string) => send(consul, 'DELETE', `/kv/${encodeURIComponent(key)}`);

describe('keys of a real Consul', () => {
	it('a birth, a change, a deletion and a new birth are each seen when they happen', async () => {
		await using consul = await startConsul({ binary });
		await using one = open(consul);
		const seen = one.watch(limits);
		await seen.says();
		await put(consul, 'app/limits', '{"max":5}');
		await seen.says('app/limits={"max":5}');
		await put(consul, 'app/limits', '{"max":6}');
		await seen.says('app/limits={"max":6}');
		await remove(consul, 'app/limits');
		await seen.says();
		await put(consul, 'app/limits', '{"max":6}');
		await seen.says('app/limits={"max":6}');
		const revisions = seen.seen.map(({ revision }) => revision);
		expect(revisions).toEqual([1, 2, 3, 4, 5]);
		expect(seen.seen.every(({ source }) => source === 'live')).toBe(true);
		expect(seen.errors).toEqual([]);
	});

	it('a prefix: keys come, change and go, one by one and all at once', async () => {
		await using consul = await startConsul({ binary });
		await put(consul, 'apple', 'no');
		await using one = open(consul, {}, { emptyHoldMs: 0 });
		const seen = one.watch(app);
		await seen.says();
		await put(consul, 'app/b', '2');
		await seen.says('app/b=2');
		await put(consul, 'app/a/deep', '1');
		await seen.says('app/a/deep=1', 'app/b=2');
		await remove(consul, 'app/b');
		await seen.says('app/a/deep=1');
		await put(consul, 'app/b', '3');
		await put(consul, 'app/c', '4');
		await seen.says('app/a/deep=1', 'app/b=3', 'app/c=4');
		await send(consul, 'DELETE', '/kv/app/?recurse');
		await seen.says();
		await put(consul, 'app/new', '5');
		await seen.says('app/new=5');
		expect(seen.errors).toEqual([]);
	});

	it('a prefix whose keys are all gone is served for a while longer; a key that is gone is believed at once', async () => {
		await using consul = await startConsul({ binary });
		await put(consul, 'app/limits', '1');
		await using one = open(consul, {}, { emptyHoldMs: 2000 });
		const [key, prefix] = [one.watch(limits), one.watch(app)];
		await key.says('app/limits=1');
		await prefix.says('app/limits=1');
		await remove(consul, 'app/limits');
		await key.says();
		await waitFor('the hold', () => prefix.seen.at(-1)?.held === true);
		expect(prefix.now()).toEqual(['app/limits=1']);
		await prefix.says();
		expect(prefix.seen.map(({ held }) => held)).toEqual([undefined, true, undefined]);
	});

	it('maxAgeMs has a key asked for again', async () => {
		await using consul = await startConsul({ binary });
		await put(consul, 'app/limits', '1');
		await using one = open(consul);
		await one.keys.get(limits);
		const before = one.queries();
		expect(await one.keys.get(limits, { maxAgeMs: 0 })).toMatchObject({ value: '1', source: 'live' });
		expect(one.queries()).toBe(before + 1);
		await consul.kill();
		await expect(one.keys.get(limits, { maxAgeMs: 0 })).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			details: { key: 'app/limits', maxAgeMs: 0 },
		});
	});

	it('what does not change the value publishes nothing: the same value again, a lock, a neighbour', async () => {
		await using consul = await startConsul({ binary });
		await put(consul, 'app/limits', '1');
		await using one = open(consul);
		const seen = one.watch(limits);
		await seen.says('app/limits=1');
		await put(consul, 'app/limits', '1');
		await put(consul, 'app/other', '2');
		const { ID } = JSON.parse(await send(consul, 'PUT', '/session/create', '{}')) as { ID: string };
		// A lock moves ModifyIndex and keeps the value.
		await send(consul, 'PUT', `/kv/app%2Flimits?acquire=${ID}`, '1');
		await put(consul, 'app/limits', '2');
		await seen.says('app/limits=2');
		expect(seen.seen).toHaveLength(2);
	});

	it('thirty-two watchers and a hundred reads are one query', async () => {
		await using consul = await startConsul({ binary });
		await put(consul, 'app/limits', '1');
		await using one = open(consul);
		const watchers = Array.from({ length: 32 }, () => one.watch(limits));
		await Promise.all(watchers.map((seen) => seen.says('app/limits=1')));
		await Promise.all(Array.from({ length: 100 }, () => one.keys.get(limits)));
		expect(one.queries()).toBe(1);
		await put(consul, 'app/limits', '2');
		await Promise.all(watchers.map((seen) => seen.says('app/limits=2')));
		expect(one.queries()).toBe(2);
		expect(one.source.keyWatches()).toMatchObject([{ key: 'app/limits', readers: 32, state: 'fresh', entries: 1 }]);
	});

	it('any bytes and any name that Consul takes', async () => {
		await using consul = await startConsul({ binary });
		await using one = open(consul);
		const bytes = Buffer.from([0, 0xff, 0x80, 10]);
		const large = Buffer.alloc(KEY_VALUE_BYTES_MAX, 'ä');
		for (const [key, value] of [
			['bytes', bytes],
			['large', large],
			['empty', Buffer.alloc(0)],
			['a b/ü/?&=#%2F+"', Buffer.from('name')],
			['ends/', Buffer.from('folder')],
			['/begins', Buffer.from('slash')],
			['a//b/../c', Buffer.from('segments')],
		] as const) {
			await put(consul, key, value);
			const [found] = entriesOf(await one.keys.get({ key }));
			expect(found?.key).toBe(key);
			expect(Buffer.from(found?.value ?? '?', found?.encoding ?? 'utf8').equals(value)).toBe(true);
		}
	});

	it('while Consul is dead the last known answer is served with its age, and it is live again after its restart', async () => {
		await using consul = await startConsul({ binary, mode: 'server' });
		await put(consul, 'app/limits', '1');
		await using one = open(consul);
		const key = one.watch(limits);
		const prefix = one.watch(app);
		await key.says('app/limits=1');
		await prefix.says('app/limits=1');
		await consul.kill();
		await waitFor('both to be stale', () =>
			[key, prefix].every(({ seen }) => seen.at(-1)?.source === 'last-known-good'),
		);
		expect(await one.keys.get(limits)).toMatchObject({ value: '1', source: 'last-known-good' });
		const { ageMs } = await one.keys.get(limits);
		await waitFor('the age to grow', async () => (await one.keys.get(limits)).ageMs > ageMs);
		await expect(one.keys.get({ key: 'never asked' })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		await consul.restart();
		await waitFor('both to be live', () => [key, prefix].every(({ seen }) => seen.at(-1)?.source === 'live'), 60_000);
		await put(consul, 'app/limits', '2');
		await key.says('app/limits=2');
		await prefix.says('app/limits=2');
	});

	it('a store that begins anew at a lower index is followed', async () => {
		await using consul = await startConsul({ binary });
		for (let number = 0; number < 50; number++) await put(consul, 'other', String(number));
		await put(consul, 'app/limits', 'old');
		await using one = open(consul, { waitMs: 1000 });
		const seen = one.watch(limits);
		await seen.says('app/limits=old');
		// An agent in memory forgets all of it.
		await consul.restart();
		await waitFor('the key to be gone', () => seen.now()?.length === 0 && seen.seen.at(-1)?.source === 'live', 60_000);
		await put(consul, 'app/limits', 'new');
		await seen.says('app/limits=new');
	});

	it('a token that may not read is ACL_DENIED, for a key and for a prefix; one that may read a part gets that part', async () => {
		const [token, powerless, partial] = [randomUUID(), randomUUID(), randomUUID()];
		const acl = `acl { enabled = true default_policy = "deny" tokens { initial_management = "${token}" agent = "${token}" } }`;
		await using consul = await startConsul({ binary, hcl: [acl], token });
		await put(consul, 'app/limits', 'hush', token);
		await put(consul, 'app/public/motd', 'hello', token);
		await consul.put('/v1/acl/token', { SecretID: powerless });
		await consul.put('/v1/acl/policy', { Name: 'public', Rules: 'key_prefix "app/public/" { policy = "read" }' });
		await consul.put('/v1/acl/token', { SecretID: partial, Policies: [{ Name: 'public' }] });
		await using denied = open(consul, { token: powerless });
		await expect(denied.keys.get(limits)).rejects.toMatchObject({
			code: 'ACL_DENIED',
			message: expect.stringMatching(/it needs key:read for "/),
		});
		await expect(denied.keys.get(app)).rejects.toMatchObject({
			code: 'ACL_DENIED',
			message: expect.stringMatching(/it needs key:read for every key that begins with "/),
		});
		const told = JSON.stringify([denied.events, denied.source.status(), denied.source.keyWatches()]);
		expect(told).not.toContain(powerless);
		await using allowed = open(consul, { token: partial });
		expect(await allowed.keys.get(app)).toMatchObject({ entries: [{ key: 'app/public/motd', value: 'hello' }] });
		await expect(allowed.keys.get(limits)).rejects.toMatchObject({ code: 'ACL_DENIED' });
	});

	it('a token that is revoked keeps the last known value, stale, and says why', async () => {
		const [token, reader] = [randomUUID(), randomUUID()];
		const acl = `acl { enabled = true default_policy = "deny" tokens { initial_management = "${token}" agent = "${token}" } }`;
		await using consul = await startConsul({ binary, hcl: [acl], token });
		await put(consul, 'app/limits', '1', token);
		await consul.put('/v1/acl/policy', { Name: 'app', Rules: 'key_prefix "app/" { policy = "read" }' });
		await consul.put('/v1/acl/token', { AccessorID: reader, SecretID: reader, Policies: [{ Name: 'app' }] });
		await using one = open(consul, { token: reader, waitMs: 1000 });
		const [key, prefix] = [one.watch(limits), one.watch(app)];
		await key.says('app/limits=1');
		await prefix.says('app/limits=1');
		await send(consul, 'DELETE', `/acl/token/${reader}`, undefined, token);
		await waitFor('the refusal', () => one.source.keyWatches().every(({ state }) => state === 'stale'), 60_000);
		expect(key.now()).toEqual(['app/limits=1']);
		expect(prefix.now()).toEqual(['app/limits=1']);
		expect(one.source.keyWatches()[0]?.error).toContain('does not know the ACL token');
	});
});
