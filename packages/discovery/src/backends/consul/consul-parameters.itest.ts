import type { ServiceQuery } from '@spock/protocol';
import { startFakeConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { blocked, watched } from '../../../test/watched-backend.ts';
import { watchedMany } from '../../../test/watched-many.ts';
import { consulBackend } from './consul-backend.ts';
import type { ConsulBackendOptions } from './consul-backend-options.ts';

interface Case {
	readonly what: string;
	readonly options?: ConsulBackendOptions;
	readonly query?: Partial<ServiceQuery>;
	/** What arrives, by name; `stale` is there unless this says otherwise. */
	readonly arrives: Readonly<Record<string, string | null>>;
}

// The npm package knows some of these and drops others without a word: all of them must be in the URL.
const cases: readonly Case[] = [
	{ what: 'nothing', arrives: {} },
	{ what: 'consistency default', options: { consistency: 'default' }, arrives: { stale: null } },
	{ what: 'consistency consistent', options: { consistency: 'consistent' }, arrives: { stale: null, consistent: '' } },
	{ what: 'cached', options: { cached: true }, arrives: { cached: '' } },
	{ what: 'datacenter', options: { datacenter: 'dc7' }, arrives: { dc: 'dc7' } },
	{
		what: "a question's datacenter",
		query: { datacenter: 'dc8' },
		options: { datacenter: 'dc7' },
		arrives: { dc: 'dc8' },
	},
	{ what: 'namespace', options: { namespace: 'ns1' }, arrives: { ns: 'ns1' } },
	{ what: 'partition', options: { partition: 'p1' }, arrives: { partition: 'p1' } },
	{ what: 'peer', query: { peer: 'east' }, arrives: { peer: 'east' } },
	{
		what: 'filter by metadata',
		query: { meta: { rack: 'b', 'say "x"': 'a\\b"c\n' } },
		arrives: {
			filter: 'Service.Meta["rack"] == "b" and Service.Meta["say \\u0022x\\u0022"] == "a\\\\b\\u0022c\\n"',
		},
	},
];

describe('what is asked for arrives at Consul', () => {
	it.each(cases)('$what', async ({ options = {}, query = {}, arrives }) => {
		await using fake = await startFakeConsul();
		await using _one = watched([fake], options, { service: 'barista', ...query });
		await blocked(fake);
		const wanted = Object.entries({ stale: '', ...arrives }).filter(([, value]) => value !== null);
		const [first, second] = fake.requests;
		expect(Object.fromEntries(first?.query ?? [])).toEqual(Object.fromEntries(wanted));
		const blocking = { index: String(fake.index), wait: '55000ms' };
		expect(Object.fromEntries(second?.query ?? [])).toEqual({ ...Object.fromEntries(wanted), ...blocking });
	});

	it('every tag, each as a parameter of its own', async () => {
		await using fake = await startFakeConsul();
		await using _one = watched([fake], {}, { service: 'barista', tags: ['v1', 'x&y'] });
		await blocked(fake);
		expect(fake.requests[0]?.query.getAll('tag')).toEqual(['v1', 'x&y']);
	});

	it('the index of the catalog is asked for at the same place, in the same way', async () => {
		await using fake = await startFakeConsul();
		const options = { namespace: 'ns1', partition: 'p1', datacenter: 'dc7', heldMax: 1 };
		await using one = watchedMany([fake.url], options);
		one.watch('a');
		one.watch('b');
		await waitFor('the index', () => fake.blocked === 4);
		const others = fake.requests.filter(({ path }) => !path.startsWith('/v1/health/service/'));
		for (const { query } of others) {
			expect(Object.fromEntries(query)).toMatchObject({ stale: '', dc: 'dc7', ns: 'ns1', partition: 'p1' });
		}
	});
});

it('cached together with consistent is refused, as Consul would', () => {
	expect(() => consulBackend({ cached: true, consistency: 'consistent' })).toThrow(/cached/);
});

it("an answer's freshness is kept: last contact, known leader, and the age of an agent's cache", async () => {
	await using fake = await startFakeConsul();
	fake.fail({
		headers: { 'x-consul-lastcontact': '40', 'x-consul-knownleader': 'false', age: '7', 'x-cache': 'HIT' },
		body: [],
	});
	await using one = watchedMany([fake.url], { cached: true });
	const { metas } = one.watch('barista');
	await waitFor('the answer', () => metas.length > 0);
	const meta = { lastContactMs: 40, knownLeader: false, cache: 'hit' };
	// And the time that the call took.
	expect(metas[0]).toEqual({ ...meta, ageMs: expect.closeTo(7540, -3) });
	expect(one.events.find((event) => event.type === 'backend-query')).toMatchObject({ ...meta, ageMs: 7040 });
});

it('what a streaming agent says of its server is not kept: it never changes, whatever happens', async () => {
	await using fake = await startFakeConsul();
	const headers = {
		'x-consul-query-backend': 'streaming',
		'x-consul-lastcontact': '0',
		'x-consul-knownleader': 'false',
	};
	fake.fail({ headers, body: [] });
	await using one = watchedMany([fake.url], {});
	const { metas } = one.watch('barista');
	await waitFor('the answer', () => metas.length > 0);
	expect(metas[0]).toEqual({ ageMs: expect.any(Number) });
});
