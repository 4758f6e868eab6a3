import type { ServiceQuery, SpockError } from '@spock/protocol';
import { findConsul, type RealConsul, startConsul, waitFor } from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { watchedMany } from '../../../test/watched-many.ts';
import type { ConsulBackendOptions } from './consul-backend-options.ts';

const NASTY = 'a "b" \\ `c` é\n';
let consul: RealConsul;

beforeAll(async () => {
	consul = await startConsul({ binary: findConsul(process.env) });
	const put = (id: string, more: Record<string, unknown>) =>
		consul.put('/v1/agent/service/register', { ID: id, Name: 'barista', Address: '10.0.0.1', Port: 80, ...more });
	await put('plain', { Meta: { rack: 'a' }, Tags: ['v1'] });
	await put('nasty', { Meta: { rack: 'b', note: NASTY }, Tags: ['v1', 'v2'] });
	await put('tagged', {
		Meta: { rack: 'c' },
		TaggedAddresses: {
			wan: { Address: '198.51.100.7', Port: 8080 },
			lan_ipv6: { Address: '2001:db8::7', Port: 0 },
		},
	});
});
afterAll(() => consul[Symbol.asyncDispose]());

/** The answer to one question, or the error. */
async function ask(query: Partial<ServiceQuery> = {}, options: ConsulBackendOptions = {}) {
	await using one = watchedMany([consul.url], options);
	const { answers, errors, metas } = one.watch({ service: 'barista', ...query });
	await waitFor('an answer or an error', () => answers.length + errors.length > 0);
	return {
		instances: answers[0]?.map(({ instance }) => instance),
		list: answers[0],
		error: errors[0] as SpockError,
		meta: metas[0],
	};
}

describe('on a real Consul', () => {
	it.each<[string, Partial<ServiceQuery>, ConsulBackendOptions, string[]]>([
		['no condition', {}, {}, ['test/nasty', 'test/plain', 'test/tagged']],
		['tags', { tags: ['v1', 'v2'] }, {}, ['test/nasty']],
		['metadata', { meta: { rack: 'a' } }, {}, ['test/plain']],
		['metadata with every kind of quotation mark', { meta: { note: NASTY, rack: 'b' } }, {}, ['test/nasty']],
		['metadata that no instance has', { meta: { nothing: '' } }, {}, []],
		['metadata and tags', { meta: { rack: 'a' }, tags: ['v2'] }, {}, []],
		['a peer that is not there', { peer: 'east' }, {}, []],
		['consistency consistent', {}, { consistency: 'consistent' }, ['test/nasty', 'test/plain', 'test/tagged']],
		['consistency default', {}, { consistency: 'default' }, ['test/nasty', 'test/plain', 'test/tagged']],
		['its own datacenter', { datacenter: 'dc1' }, {}, ['test/nasty', 'test/plain', 'test/tagged']],
	])('%s', async (_what, query, options, instances) => {
		const { instances: found, error } = await ask(query, options);
		expect(error).toBeUndefined();
		expect(found).toEqual(instances);
	});

	it.each<[string, Partial<ServiceQuery>, ConsulBackendOptions, RegExp]>([
		['another datacenter', { datacenter: 'nowhere' }, {}, /500/],
		['a namespace, which the community edition lacks', {}, { namespace: 'ns1' }, /400/],
		['a partition, which the community edition lacks', {}, { partition: 'p1' }, /400/],
	])('%s is refused by it: the parameter arrived', async (_what, query, options, message) => {
		const { error } = await ask(query, options);
		expect(error).toMatchObject({ code: 'UNAVAILABLE', message: expect.stringMatching(message) });
	});

	it("checks that have almost the name of maintenance are judged by their status, and Consul's own are maintenance", async () => {
		const statuses = async () => (await ask({ service: 'cellar' })).list?.map(({ status }) => status);
		await consul.put('/v1/agent/service/register', { ID: 'a', Name: 'cellar', Address: '10.0.0.1', Port: 80 });
		for (const ID of ['_node_maintenance_window_check', '_service_maintenance_of_mine']) {
			await consul.put('/v1/agent/check/register', { ID, Name: ID, TTL: '10m', Status: 'passing', ServiceID: 'a' });
		}
		expect(await statuses()).toEqual(['passing']);
		await consul.put('/v1/agent/check/fail/_node_maintenance_window_check');
		expect(await statuses()).toEqual(['critical']);
		await consul.put('/v1/agent/service/maintenance/a?enable=true');
		expect(await statuses()).toEqual(['maintenance']);
		await consul.put('/v1/agent/service/deregister/a');
	});

	it("cached: the agent's second answer comes from its cache, and says how old it is", async () => {
		await ask({}, { cached: true });
		const { meta } = await ask({}, { cached: true });
		expect(meta?.cache).toBe('hit');
		expect(meta?.ageMs).toBeGreaterThanOrEqual(0);
		expect((await ask()).meta?.cache).toBeUndefined();
	});

	it('what a server says of its freshness is kept', async () => {
		const { meta } = await ask();
		expect(meta).toMatchObject({ knownLeader: true, lastContactMs: 0 });
		// It is as old as the way back took.
		expect(meta?.ageMs).toBeGreaterThanOrEqual(0);
	});

	it.each<[ConsulBackendOptions['taggedAddress'], Record<string, string>]>([
		[undefined, { 'test/plain': '10.0.0.1:80', 'test/tagged': '10.0.0.1:80' }],
		['lan', { 'test/plain': '10.0.0.1:80', 'test/tagged': '10.0.0.1:80' }],
		['lan_ipv4', { 'test/plain': '10.0.0.1:80', 'test/tagged': '10.0.0.1:80' }],
		['lan_ipv6', { 'test/plain': '10.0.0.1:80', 'test/tagged': '2001:db8::7:80' }],
		['wan', { 'test/plain': '10.0.0.1:80', 'test/tagged': '198.51.100.7:8080' }],
	])('tagged address %s', async (taggedAddress, places) => {
		const { list } = await ask({}, taggedAddress === undefined ? {} : { taggedAddress });
		const found = Object.fromEntries((list ?? []).map(({ instance, host, port }) => [instance, `${host}:${port}`]));
		expect(found).toMatchObject(places);
	});
});
