import { fakeInstance, HOSTILE_VALUES } from '@spock/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { readAddress, readKeySnapshot, readList, readSnapshot } from './read-snapshot.ts';

const snapshot = { service: 'barista', revision: 1, instances: [] };
const place = { host: '10.0.0.1', port: 80 };
const withInstance = (instance: unknown): unknown => ({ ...snapshot, instances: [instance] });

describe('a snapshot from the wire', () => {
	it('gets the defaults of the protocol where members are missing or of no use', () => {
		const bad = { weight: -1, tags: ['a', 5], meta: 'none', zone: 7, datacenter: null, status: undefined };
		const { instances, ...rest } = readSnapshot({ ...(withInstance({ ...place, ...bad }) as object), ageMs: -5 });
		expect(rest).toEqual({ service: 'barista', revision: 1, source: 'live', ageMs: 0, verifiedAt: 0 });
		expect(instances).toEqual([fakeInstance('10.0.0.1:80', place)]);
	});

	it('keeps whose it is, and what stands of an instance', () => {
		const instance = { ...place, instance: 'n/b1', weight: 0, status: 'warning', meta: { zone: 'z' }, zone: 'z' };
		const query = { tags: ['v2'], datacenter: 'dc2', meta: { build: '7' }, peer: 'east' };
		const read = readSnapshot({ ...snapshot, ...query, instances: [{ ...instance, tags: ['v2'], datacenter: 'dc2' }] });
		expect(read).toMatchObject(query);
		expect(read.instances).toEqual([{ ...instance, tags: ['v2'], datacenter: 'dc2' }]);
		expect(Object.isFrozen(read) && Object.isFrozen(read.instances) && Object.isFrozen(read.instances[0])).toBe(true);
	});

	it('an instance whose status this version does not know gets no work', () => {
		expect(readSnapshot(withInstance({ ...place, status: 'half-open' })).instances[0]?.status).toBe('critical');
	});

	it.each<[unknown, string]>([
		[null, ''],
		[[], ''],
		[{ ...snapshot, service: 5 }, 'service'],
		[{ ...snapshot, revision: 'new' }, 'revision'],
		[{ ...snapshot, instances: { 0: place } }, 'instances'],
		[withInstance('10.0.0.1:80'), 'instances[0]'],
		[withInstance({ ...place, host: '' }), 'instances[0].host'],
		[withInstance({ ...place, port: 70_000 }), 'instances[0].port'],
		[withInstance({ ...place, port: '80' }), 'instances[0].port'],
	])('%j is PROTOCOL, and names %j', (data, path) => {
		expect(() => readSnapshot(data)).toThrow(expect.objectContaining({ code: 'PROTOCOL', details: { path } }));
	});
});

describe('a snapshot with entries that are bad', () => {
	it('has the good ones, and tells of the others', () => {
		const told: string[] = [];
		const instances = [{ ...place, instance: 'a' }, { ...place, port: 70_000 }, null, { ...place, host: 'a\r\nb' }];
		const read = readSnapshot({ ...snapshot, instances }, (why) => told.push(why));
		expect(read.instances.map(({ instance }) => instance)).toEqual(['a']);
		expect(told).toEqual([
			expect.stringContaining('instances[1].port'),
			expect.stringContaining('instances[2]'),
			expect.stringContaining('instances[3].host'),
		]);
	});

	it('of any kind has every good one', () => {
		const odd = fc.constantFrom(...HOSTILE_VALUES);
		const members = { instance: odd, host: odd, port: odd, weight: odd, status: odd, tags: odd, meta: odd, zone: odd };
		const entry = fc.oneof(odd, fc.record(members, { requiredKeys: [] }));
		fc.assert(
			fc.property(fc.array(entry, { maxLength: 5 }), fc.nat(5), (entries, at) => {
				const instances = entries.toSpliced(at, 0, { ...place, instance: 'good' });
				const read = readSnapshot({ ...snapshot, instances });
				expect(read.instances.map(({ instance }) => instance)).toContain('good');
				for (const { host, port } of read.instances) expect(new URL(`http://${host}:${port}`).pathname).toBe('/');
			}),
		);
	});
});

describe('an address from the wire', () => {
	it('has its age only while it is stale', () => {
		expect(readAddress({ ...place, ageMs: 5 })).toEqual({ ...place, instance: '10.0.0.1:80' });
		expect(readAddress({ ...place, stale: true, ageMs: 5.4 })).toMatchObject({ stale: true, ageMs: 5, verifiedAt: 0 });
	});
});

describe('a list from the wire', () => {
	it('has a name for each service, and tags where they are told', () => {
		expect(readList({ services: [{ name: 'a', tags: ['v2'] }, { name: 'b' }], source: 'static' })).toEqual({
			services: [
				{ name: 'a', tags: ['v2'] },
				{ name: 'b', tags: [] },
			],
			source: 'static',
			ageMs: 0,
			verifiedAt: 0,
		});
		for (const entry of ['a', { tags: [] }]) {
			expect(readList({ services: [{ name: 'a' }, entry] }).services).toEqual([{ name: 'a', tags: [] }]);
			expect(() => readList({ services: [entry] })).toThrow(/services\[0\]/);
		}
	});
});

describe('a snapshot of keys from the wire', () => {
	it('keeps the datacenter, and that it is held back', () => {
		const data = { key: 'app/', prefix: true, datacenter: 'dc2', revision: 2, held: true, entries: [] };
		expect(readKeySnapshot(data)).toMatchObject({
			key: 'app/',
			prefix: true,
			datacenter: 'dc2',
			held: true,
			entries: [],
		});
	});

	it.each<[unknown, string]>([
		[{ revision: 1, value: 'x' }, 'key'],
		[{ key: 'a', revision: null, value: 'x' }, 'revision'],
		[{ key: 'a', revision: 1, value: 5 }, 'value'],
		[{ key: 'a', revision: 1, value: 'x', encoding: 'hex' }, 'encoding'],
		[{ key: 'a/', prefix: true, revision: 1, entries: [{ value: 'x' }] }, 'entries[0].key'],
	])('%j is PROTOCOL, and names %j', (data, path) => {
		expect(() => readKeySnapshot(data)).toThrow(expect.objectContaining({ code: 'PROTOCOL', details: { path } }));
	});
});
