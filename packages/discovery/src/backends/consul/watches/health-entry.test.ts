import type { ServiceInstance } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { checksOf } from '../../../foundation/instance-notes.ts';
import { type HealthEntry, readHealthEntries, type TaggedAddress } from './health-entry.ts';

const Node = { Node: 'n1', Address: '10.9.9.9', Datacenter: 'dc1' };
const Service = { ID: 's1', Address: '10.0.0.1', Port: 80 };
const read = (entry: HealthEntry) => readHealthEntries([entry])[0];

describe('a health entry', () => {
	it('becomes an instance, named by its node and its id', () => {
		const entry: HealthEntry = {
			Node: { ...Node, Meta: { zone: 'z9' } },
			Service: { ...Service, Tags: ['v1'], Meta: { rack: 'b' }, Weights: { Passing: 3, Warning: 2 } },
			Checks: [{ CheckID: 'c', Status: 'passing' }],
		};
		expect(read(entry)).toEqual({
			instance: 'n1/s1',
			host: '10.0.0.1',
			port: 80,
			weight: 3,
			status: 'passing',
			tags: ['v1'],
			meta: { rack: 'b' },
			zone: 'z9',
			datacenter: 'dc1',
		});
	});

	it('null tags, meta, weights and checks are none', () => {
		const entry = { Node, Service: { ...Service, Tags: null, Meta: null, Weights: null }, Checks: null };
		expect(read(entry)).toMatchObject({ tags: [], meta: {}, weight: 1, status: 'passing', zone: null });
	});

	it('of which nearly nothing is told is one all the same: a proxy may leave out what it does not know', () => {
		expect(read({ Node: { Address: '10.0.0.1' }, Service: { Port: 80 } })).toEqual({
			instance: '/',
			host: '10.0.0.1',
			port: 80,
			weight: 1,
			status: 'passing',
			tags: [],
			meta: {},
			zone: null,
			datacenter: null,
		});
		expect(read({})).toBeUndefined();
		expect(read({ Node: { Address: '10.0.0.1' } })).toBeUndefined();
		expect(read({ Node, Service: { ...Service, Port: 0 } })).toBeUndefined();
	});

	it('has the worst of its checks, in whatever order they come', () => {
		const checks = (...statuses: string[]) => statuses.map((Status) => ({ Status }));
		const status = (...statuses: string[]) => read({ Node, Service, Checks: checks(...statuses) })?.status;
		expect(status('warning', 'passing', 'warning')).toBe('warning');
		expect(status('critical', 'warning')).toBe('critical');
		expect(status('warning', 'unheard-of')).toBe('critical');
		expect(status('critical', 'maintenance', 'warning')).toBe('maintenance');
	});

	it("has its node's address when it has none of its own", () => {
		expect(read({ Node, Service: { ...Service, Address: '' } })?.host).toBe('10.9.9.9');
	});

	describe('at a tagged address', () => {
		const OwnTags = {
			wan: { Address: '198.51.100.7', Port: 8080 },
			wan_ipv6: { Address: '2001:db8::7', Port: 0 },
			lan_ipv4: { Address: '', Port: 9 },
		};
		const NodeTags = { wan: '198.51.100.1', lan_ipv6: 'fd00::1' };
		const at = (tag: TaggedAddress | undefined, service: object = {}, node: object = {}): string => {
			const entry = { Node: { ...Node, ...node }, Service: { ...Service, ...service } };
			const [found] = readHealthEntries([entry], tag);
			return `${found?.host} ${found?.port}`;
		};

		it.each<[string, TaggedAddress | undefined, object, object, string]>([
			[
				'none asked for: its own',
				undefined,
				{ TaggedAddresses: OwnTags },
				{ TaggedAddresses: NodeTags },
				'10.0.0.1 80',
			],
			["its own tag, with that one's port", 'wan', { TaggedAddresses: OwnTags }, {}, '198.51.100.7 8080'],
			['a tag whose port is 0: its own port', 'wan_ipv6', { TaggedAddresses: OwnTags }, {}, '2001:db8::7 80'],
			['a family it has not: its network', 'wan_ipv4', { TaggedAddresses: OwnTags }, {}, '198.51.100.7 8080'],
			['an empty address counts as none', 'lan_ipv4', { TaggedAddresses: OwnTags }, {}, '10.0.0.1 80'],
			['a tag it has not: its own address, not its node', 'wan', {}, { TaggedAddresses: NodeTags }, '10.0.0.1 80'],
			[
				"no address of its own: its node's tag, its own port",
				'wan',
				{ Address: '' },
				{ TaggedAddresses: NodeTags },
				'198.51.100.1 80',
			],
			[
				"its node's network for a family",
				'wan_ipv6',
				{ Address: '' },
				{ TaggedAddresses: NodeTags },
				'198.51.100.1 80',
			],
			['nothing tagged at all: its node', 'wan', { Address: '' }, { TaggedAddresses: null }, '10.9.9.9 80'],
		])('%s', (_what, tag, service, node, place) => {
			expect(at(tag, service, node)).toBe(place);
		});
	});

	it("a zone is that of metadata or of Consul's locality: the service's own before its node's", () => {
		const zoneOf = (service: object, node: object): string | null | undefined =>
			read({ Node: { ...Node, ...node }, Service: { ...Service, ...service } } as never)?.zone;
		const locality = (zone: unknown): object => ({ Locality: { Region: 'eu-1', Zone: zone } });
		expect(zoneOf({ ...locality('own') }, { Meta: { zone: 'node' } })).toBe('own');
		expect(zoneOf({ Meta: { zone: 'meta' }, ...locality('own') }, {})).toBe('meta');
		expect(zoneOf({}, locality('node'))).toBe('node');
		expect(zoneOf({}, { Meta: { zone: 'meta' }, ...locality('node') })).toBe('meta');
		for (const bad of [7, null, {}]) expect(zoneOf(locality(bad), { Locality: bad })).toBe(null);
	});

	it("its own zone goes before its node's", () => {
		const entry = { Node: { ...Node, Meta: { zone: 'node' } }, Service: { ...Service, Meta: { zone: 'own' } } };
		expect(read(entry)?.zone).toBe('own');
	});

	it.each([
		{ checks: [], status: 'passing' },
		{ checks: ['passing', 'warning'], status: 'warning' },
		{ checks: ['warning', 'critical', 'passing'], status: 'critical' },
		{ checks: ['critical', 'maintenance'], status: 'maintenance' },
		{ checks: ['unheard of'], status: 'critical' },
	])('checks $checks make it $status', ({ checks, status }) => {
		expect(read({ Node, Service, Checks: checks.map((Status) => ({ CheckID: 'c', Status })) })?.status).toBe(status);
	});

	it.each(['_node_maintenance', '_service_maintenance:s1'])('the check %s is maintenance', (CheckID) => {
		const Checks = [
			{ CheckID: 'c', Status: 'critical' },
			{ CheckID, Status: 'critical' },
		];
		expect(read({ Node, Service, Checks })?.status).toBe('maintenance');
	});

	it.each([
		'_node_maintenance_window_check',
		'_node_maintenance:web',
		'_service_maintenance',
		'_service_maintenance_of_mine',
		'my_node_maintenance',
	])("the check %s is another program's, and counts by its status", (CheckID) => {
		const status = (Status: string) => read({ Node, Service, Checks: [{ CheckID, Status }] })?.status;
		expect([status('passing'), status('warning'), status('critical')]).toEqual(['passing', 'warning', 'critical']);
	});

	it('warning has a weight of its own, which may be 0', () => {
		const entry = (Status: string): HealthEntry => ({
			Node,
			Service: { ...Service, Weights: { Passing: 5, Warning: 0 } },
			Checks: [{ Status }],
		});
		expect([read(entry('passing'))?.weight, read(entry('warning'))?.weight]).toEqual([5, 0]);
	});

	it('remembers its checks beside it, the worst first, without what they printed', () => {
		const Checks = [
			{ CheckID: 'a', Name: 'A', Status: 'passing', Output: 's3cret' },
			{ CheckID: 'c', Name: 'C', Status: 'warning' },
			{ CheckID: 'b', Name: 'B', Status: 'critical' },
			{ CheckID: '_node_maintenance', Name: 'Node Maintenance Mode', Status: 'critical' },
			{ Status: 'odd' },
		];
		const instance = read({ Node, Service, Checks }) as ServiceInstance;
		expect(checksOf(instance)).toEqual([
			{ id: '_node_maintenance', name: 'Node Maintenance Mode', status: 'maintenance' },
			{ id: 'b', name: 'B', status: 'critical' },
			{ id: '', name: '', status: 'odd' },
			{ id: 'c', name: 'C', status: 'warning' },
			{ id: 'a', name: 'A', status: 'passing' },
		]);
		expect(JSON.stringify(instance)).not.toContain('checks');
	});

	it('has at most 64 checks remembered', () => {
		const Checks = Array.from({ length: 100 }, (_, number) => ({ CheckID: `${number}`, Status: 'passing' }));
		expect(
			checksOf(read({ Node, Service, Checks: [...Checks, { CheckID: 'z', Status: 'warning' }] }) as ServiceInstance),
		).toMatchObject({ 0: { id: 'z' }, length: 64 });
	});

	it('entries are sorted by instance, whatever their order, and frozen', () => {
		const entry = (node: string, id: string) => ({ Node: { ...Node, Node: node }, Service: { ...Service, ID: id } });
		const list = readHealthEntries([entry('n2', 'a'), entry('n1', 'b'), entry('n1', 'a')]);
		expect(list.map(({ instance }) => instance)).toEqual(['n1/a', 'n1/b', 'n2/a']);
		expect(Object.isFrozen(list) && list.every((one) => Object.isFrozen(one) && Object.isFrozen(one.meta))).toBe(true);
	});
});
