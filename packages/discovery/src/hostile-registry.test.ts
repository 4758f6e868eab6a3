import { isServing, queryKey, type ServiceInstance, type ServiceQuery, type ServiceSnapshot } from '@spock/protocol';
import { FakeClock, settle } from '@spock/testkit';
import { anyHost, anyMeta, anyName, anyPort, anyTags, anyText, possibleName } from '@spock/testkit/hostile-arbitraries';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { instance, scriptedWatches } from '../test/fake-backend-source.ts';
import { BackendSource } from './backend-source.ts';
import { type HealthEntry, readHealthEntries } from './backends/consul/watches/health-entry.ts';
import type { Backend } from './foundation/backend.ts';

/** As Consul, something before it, or something that says it is Consul, may send one: every member may be anything. */
const anyEntry = fc.record(
	{
		Node: fc.oneof(
			fc.record(
				{ Node: anyText, Address: anyHost, Meta: anyMeta, Datacenter: anyText, TaggedAddresses: anyMeta },
				{ requiredKeys: [] },
			),
			anyText,
		),
		Service: fc.oneof(
			fc.record(
				{
					...{ ID: anyText, Address: anyHost, Port: anyPort, Tags: anyTags, Meta: anyMeta },
					Weights: fc.oneof(fc.record({ Passing: anyPort, Warning: anyPort }, { requiredKeys: [] }), anyText),
					TaggedAddresses: fc.oneof(
						fc.record({ wan: fc.record({ Address: anyHost, Port: anyPort }, { requiredKeys: [] }) }),
						anyText,
					),
				},
				{ requiredKeys: [] },
			),
			anyText,
		),
		Checks: fc.oneof(
			fc.array(fc.record({ CheckID: anyText, Name: anyText, Status: anyText }, { requiredKeys: [] })),
			anyText,
		),
	},
	{ requiredKeys: [] },
);
/** As it should be, but for one thing: what is wrong with one member is not hidden by another. */
const nearlyGood = fc
	.tuple(
		fc.record({ ID: possibleName, Port: anyPort, Address: anyHost, Tags: anyTags, Meta: anyMeta }),
		fc.constantFrom('Port', 'Address', 'Tags', 'Meta'),
	)
	.map(([service, member]) => ({
		Node: { Node: 'n2', Address: '10.0.0.9' },
		Service: { ID: service.ID, Address: '10.0.0.1', Port: 80, [member]: service[member as keyof typeof service] },
	}));
const goodEntry = fc.tuple(possibleName, fc.constantFrom('passing', 'warning', 'critical')).map(([ID, Status]) => ({
	Node: { Node: 'good', Address: '10.0.0.9', Datacenter: 'dc1' },
	Service: { ID, Address: '10.0.0.1', Port: 8080, Tags: ['v1'], Meta: { rack: 'b' } },
	Checks: [{ CheckID: 'c', Name: 'c', Status }],
}));

/** Over HTTP, as they come. */
function read(entries: readonly unknown[]): readonly ServiceInstance[] {
	return readHealthEntries(JSON.parse(JSON.stringify(entries)) as HealthEntry[]);
}

/** What a consumer of an instance may rely on. */
function whatIsWrong(one: ServiceInstance): string | undefined {
	const texts = [one.instance, one.host, ...one.tags, ...Object.values(one.meta)];
	if (texts.some((text) => typeof text !== 'string')) return 'text';
	if (one.host === '' || /[\s\p{Cc}\p{Cs}]/u.test(one.host)) return 'host';
	if (!Number.isInteger(one.port) || one.port < 0 || one.port > 65_535) return 'port';
	if (!Number.isFinite(one.weight) || one.weight < 0) return 'weight';
	if (![one.zone, one.datacenter].every((text) => text === null || typeof text === 'string')) return 'zone, datacenter';
	return undefined;
}

describe('entries of a registry', () => {
	it('whatever they hold, an instance that is given is whole, and no entry takes another one away', () => {
		fc.assert(
			fc.property(
				fc.array(goodEntry, { maxLength: 4 }),
				fc.array(fc.oneof(anyEntry, nearlyGood, anyText), { maxLength: 4 }),
				(good, bad) => {
					const found = read([...bad, ...good]);
					for (const one of found) expect([whatIsWrong(one), one]).toEqual([undefined, one]);
					const kept = found.filter((one) => one.instance.startsWith('good/'));
					const alone = read(good);
					expect(kept).toEqual(alone);
					expect(alone).toHaveLength(good.length);
					expect([...found].map((one) => one.instance)).toEqual(found.map((one) => one.instance).sort());
				},
			),
			{ numRuns: 2000 },
		);
	});

	it.each<[string, object]>([
		['a port past the last one', { Port: 70_000 }],
		['a port below 0', { Port: -1 }],
		['a host that ends a header', { Address: 'a\r\nX-Evil: 1' }],
	])('%s is none: the others stay', (_what, service) => {
		const entry = (id: string, more: object): object => ({
			Node: { Node: 'n', Address: '10.0.0.9' },
			Service: { ID: id, Address: '10.0.0.1', Port: 80, ...more },
		});
		expect(read([entry('a', {}), entry('b', service), entry('c', {})]).map((one) => one.instance)).toEqual([
			'n/a',
			'n/c',
		]);
	});
});

const anyQuery: fc.Arbitrary<ServiceQuery> = fc.record(
	{
		service: anyName,
		tags: fc.array(anyName, { maxLength: 2 }),
		datacenter: anyName,
		meta: fc.dictionary(anyName, anyName, { maxKeys: 2 }),
		peer: anyName,
	},
	{ requiredKeys: ['service'] },
);
/** Questions, and questions whose names are the keys of those. */
const questions = fc
	.array(anyQuery, { minLength: 1, maxLength: 5 })
	.map((asked) => [
		...asked,
		...asked.map((one) => ({ service: queryKey(one) })),
		...asked.map(({ service }) => ({ service })),
	]);

function meaning({ service, tags = [], datacenter, meta = {}, peer }: ServiceQuery): string {
	const conditions = Object.entries(meta).sort(([left], [right]) => (left < right ? -1 : 1));
	return JSON.stringify([service, [...new Set(tags)].sort(), datacenter ?? null, conditions, peer ?? null]);
}

describe('a cache of answers', () => {
	it('gives every question its own answer, whatever characters it is made of, and whoever asked before', async () => {
		await fc.assert(
			fc.asyncProperty(questions, async (asked) => {
				const { watch, watching } = scriptedWatches<ServiceQuery, readonly ServiceInstance[]>();
				const backend: Backend = {
					name: 'fake',
					watch,
					list: () => Promise.resolve([]),
					status: () => ({ name: 'fake', state: 'up', addresses: [], error: null, lastSuccessAgeMs: 0 }),
					close: () => Promise.resolve(),
				};
				const source = new BackendSource({ backend, clock: new FakeClock() });
				const answers = asked.map((query) => {
					const answer = source.get(query).catch((error: unknown) => error);
					return answer as Promise<ServiceSnapshot>;
				});
				await settle();
				const ports = new Map([...new Set(asked.map(meaning))].map((one, at) => [one, at + 1]));
				for (const { query, observer } of watching) observer.answered([instance('a', ports.get(meaning(query)))]);
				for (const [at, query] of asked.entries()) {
					const answer = await answers[at];
					const port = answer instanceof Error ? 'refused' : answer?.instances[0]?.port;
					expect([query, port]).toEqual([query, ports.get(meaning(query))]);
					expect(meaning(answer as ServiceSnapshot)).toBe(meaning(query));
					expect((answer as ServiceSnapshot).instances.every(isServing)).toBe(true);
				}
				await source.close();
			}),
			{ numRuns: 300 },
		);
	});
});
