import type { ServiceInstance } from '@spock/protocol';
import { FakeClock, HOSTILE_VALUES, settle } from '@spock/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { createSource, instance, query, recorder, scriptedWatches } from '../../test/fake-backend-source.ts';
import { chainBackend } from '../backends/chain/chain-backend.ts';
import { readHealthEntries } from '../backends/consul/watches/health-entry.ts';
import { instancesOf, readSrv } from '../backends/dns/srv-instances.ts';
import { readRecord } from '../backends/replay/record-format.ts';
import { readInstancesBody } from '../state/state-body.ts';
import type { Backend } from './backend.ts';
import { goodInstances } from './good-instances.ts';
import { refusedOf } from './instance-notes.ts';

const hostile = fc.constantFrom(...HOSTILE_VALUES);
const bad = (members: object): ServiceInstance => ({ ...instance('bad'), ...members }) as ServiceInstance;
const names = (list: readonly ServiceInstance[]): string[] => list.map((one) => one.instance);

/** An instance of which some members are anything. */
const anyInstance: fc.Arbitrary<unknown> = fc.oneof(
	hostile,
	fc
		.record(
			{
				instance: hostile,
				host: hostile,
				port: hostile,
				weight: hostile,
				status: hostile,
				tags: hostile,
				meta: hostile,
			},
			{ requiredKeys: [] },
		)
		.map((members) => ({ ...instance('odd'), ...members })),
);

describe('one bad entry of a registry', () => {
	it.each<[string, object]>([
		['port', { port: 70_000 }],
		['has no port', { port: 0 }],
		['port', { port: -1 }],
		['port', { port: '80' }],
		['host', { host: '' }],
		['host', { host: '10.0.0.1\r\nX: 1' }],
		['tags', { tags: ['a', 5] }],
		['metadata', { meta: { a: 1 } }],
		['name', { instance: 7 }],
		['status', { status: 'half-open' }],
	])('with a bad %s takes no good one away, and is told of once, in an event and by explain', async (what, members) => {
		const { source, last, events } = createSource();
		const seen = recorder();
		source.watch(query, seen);
		last().answered(Object.freeze([instance('a'), bad(members), instance('c')]));
		last().answered(Object.freeze([instance('a'), bad(members), instance('c')]));
		expect(seen.seen.map(({ instances }) => names(instances))).toEqual([['a', 'c']]);
		const told = events.filter(({ type }) => type === 'instances-refused');
		expect(told).toMatchObject([{ query, count: 1, added: 1, instances: [{ reason: expect.stringContaining(what) }] }]);
		expect(await source.inspect(query)).toMatchObject({ refusedCount: 1, refused: [{}] });
		last().answered(Object.freeze([instance('a'), instance('c')]));
		expect((await source.inspect(query)).refused).toBeUndefined();
		expect(events.filter(({ type }) => type === 'instances-refused')).toHaveLength(2);
	});

	it('is no answer where it is no list: the last known one is served', () => {
		const { source, last } = createSource();
		source.watch(query, recorder());
		last().answered([instance('a')]);
		last().answered({ a: 1 } as never);
		expect(source.peek(query)).toMatchObject({ source: 'last-known-good', instances: [{ instance: 'a' }] });
	});

	it('is left out of a chain before it is asked who knows the service', async () => {
		const [first, second] = [scriptedWatches(), scriptedWatches()] as const;
		const member = (name: string, { watch }: typeof first): Backend =>
			({ name, watch, list: async () => [], close: async () => undefined }) as unknown as Backend;
		const backends = [member('one', first as never), member('two', second as never)];
		const chain = chainBackend({ backends, clock: new FakeClock() });
		const { source } = createSource({}, { watch: (asked, observer) => chain.watch(asked, observer) });
		const seen = recorder();
		source.watch(query, seen);
		(first.last() as { answered(list: unknown): void }).answered([bad({ port: -1 })]);
		(second.last() as { answered(list: unknown): void }).answered([instance('b')]);
		await settle();
		expect(seen.seen.map(({ instances }) => names(instances))).toEqual([['b']]);
	});

	it('of a kind that nobody thought of takes no good one away, wherever it is read', () => {
		const good = instance('good');
		fc.assert(
			fc.property(fc.array(anyInstance, { maxLength: 5 }), fc.nat(5), (odd, at) => {
				const list = odd.toSpliced(at, 0, good) as ServiceInstance[];
				const read = goodInstances(list);
				expect(names(read)).toContain('good');
				expect(refusedOf(read).count).toBe(list.length - read.length);
				// As they are after a disk.
				const stored = JSON.parse(JSON.stringify(list)) as unknown[];
				const body = { key: 'barista', verifiedAt: 1, instances: stored };
				expect(names(readInstancesBody(body, query).instances)).toContain('good');
				const line = { type: 'snapshot', t: 0, service: 'barista', source: 'live', instances: stored };
				expect(readRecord(JSON.stringify(line))).toMatchObject({
					instances: expect.arrayContaining([expect.objectContaining({ instance: 'good' })]),
				});
			}),
		);
	});

	it('of Consul takes no good one away, whatever stands in it', () => {
		const good = { Node: { Node: 'n', Address: '10.0.0.9' }, Service: { ID: 'good', Port: 80 } };
		const part = (...members: string[]) =>
			fc.oneof(hostile, fc.record(Object.fromEntries(members.map((name) => [name, hostile])), { requiredKeys: [] }));
		const entry = fc.oneof(
			hostile,
			fc.record({
				Node: part('Node', 'Address', 'TaggedAddresses', 'Datacenter', 'Meta'),
				Service: part('ID', 'Address', 'Port', 'TaggedAddresses', 'Tags', 'Meta', 'Weights'),
				Checks: fc.oneof(hostile, fc.array(part('CheckID', 'Name', 'Status'))),
			}),
		);
		fc.assert(
			fc.property(fc.array(entry, { maxLength: 5 }), fc.nat(5), (odd, at) => {
				const read = readHealthEntries(odd.toSpliced(at, 0, good), 'wan');
				expect(names(read)).toContain('n/good');
				expect(names(goodInstances(read))).toEqual(names(read));
				expect(read.length + refusedOf(read).count).toBe(odd.length + 1);
			}),
		);
	});

	it('of DNS takes no good one away', () => {
		const record = (data: unknown) => ({ name: 'a.example', type: 'SRV', ttl: 1, data });
		const good = record({ priority: 1, weight: 1, port: 80, target: 'good.example' });
		const odd = fc.oneof(
			hostile,
			fc.record({ priority: hostile, weight: hostile, port: hostile, target: hostile }, { requiredKeys: [] }),
		);
		fc.assert(
			fc.property(fc.array(odd, { maxLength: 5 }), fc.nat(5), (some, at) => {
				const answers = some.map(record).toSpliced(at, 0, good);
				const { values } = readSrv({ answers } as never, 'a.example');
				const addresses = new Map(values.map(({ target }) => [target, ['10.0.0.1']]));
				expect(names(goodInstances(instancesOf(values, addresses, {})))).toContain('good.example:80/10.0.0.1');
			}),
		);
	});
});
