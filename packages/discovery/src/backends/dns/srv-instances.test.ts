import { describe, expect, it } from 'vitest';

import type { DnsRecord, DnsReply } from './dns-message.ts';
import { instancesOf, negativeTtl, readAddresses, readSrv, type SrvRecord } from './srv-instances.ts';

const srv = (record: Partial<SrvRecord> & Pick<SrvRecord, 'target'>): SrvRecord => {
	return { priority: 0, weight: 0, port: 80, ...record };
};
const reply = (answers: readonly DnsRecord[], more: Partial<DnsReply> = {}): DnsReply => {
	return { rcode: 'NOERROR', isTruncated: false, byteLength: 0, answers, authorities: [], additionals: [], ...more };
};
const ADDRESSES = new Map([
	['a.test', ['10.0.0.1']],
	['b.test', ['10.0.0.2']],
	['two.test', ['10.0.0.3', '10.0.0.4']],
	['none.test', []],
]);

describe('instances from SRV records', () => {
	it('only the lowest priority that has an address serves; the others stand by and say so', () => {
		const records = [
			srv({ target: 'none.test', priority: 1 }),
			srv({ target: 'b.test', priority: 20 }),
			srv({ target: 'a.test', priority: 10 }),
		];
		expect(instancesOf(records, ADDRESSES, {})).toMatchObject([
			{ instance: 'a.test:80/10.0.0.1', host: '10.0.0.1', status: 'passing', meta: { priority: '10' } },
			{ instance: 'b.test:80/10.0.0.2', status: 'maintenance', meta: { priority: '20', standby: 'true' } },
		]);
		expect(instancesOf(records, ADDRESSES, {})[0]?.meta).not.toHaveProperty('standby');
	});

	it('weights are weights, and all of 0 are all of 1', () => {
		const weights = (...given: number[]): number[] => {
			const records = given.map((weight, number) => srv({ target: ['a.test', 'b.test'][number] as string, weight }));
			return instancesOf(records, ADDRESSES, {}).map(({ weight }) => weight);
		};
		expect(weights(0, 0)).toEqual([1, 1]);
		expect(weights(0, 5)).toEqual([0, 5]);
		expect(weights(3, 1)).toEqual([3, 1]);
	});

	it('a target with two addresses is two instances, the same record twice is one, and what was asked for is in each', () => {
		const records = [srv({ target: 'two.test' }), srv({ target: 'two.test' }), srv({ target: 'a.test', port: 81 })];
		const instances = instancesOf(records, ADDRESSES, { tags: ['v1'], datacenter: 'dc1' });
		expect(instances.map(({ instance }) => instance)).toEqual([
			'a.test:81/10.0.0.1',
			'two.test:80/10.0.0.3',
			'two.test:80/10.0.0.4',
		]);
		expect(instances[0]).toMatchObject({ port: 81, tags: ['v1'], datacenter: 'dc1', zone: null });
		expect(Object.isFrozen(instances) && Object.isFrozen(instances[0])).toBe(true);
	});

	it('of the same place with two priorities the better one counts, in any order', () => {
		const records = [srv({ target: 'a.test', priority: 9 }), srv({ target: 'a.test', priority: 1 })];
		expect(instancesOf(records, ADDRESSES, {})).toMatchObject([{ status: 'passing', meta: { priority: '1' } }]);
		expect(instancesOf(records.reverse(), ADDRESSES, {})).toMatchObject([{ status: 'passing' }]);
	});

	it('are read through aliases, whatever the case of names, with the shortest time to live on the way', () => {
		const answers: DnsRecord[] = [
			{ name: 'Web.Test', type: 'CNAME', ttl: 7, data: 'real.test.' },
			{ name: 'real.test', type: 'SRV', ttl: 30, data: { priority: 0, weight: 1, port: 80, target: 'A.Test.' } },
			{ name: 'stranger.test', type: 'SRV', ttl: 1, data: { priority: 0, weight: 1, port: 81, target: 'x.test' } },
		];
		expect(readSrv(reply(answers), 'web.test')).toEqual({
			values: [{ priority: 0, weight: 1, port: 80, target: 'a.test' }],
			ttl: 7,
		});
	});

	it('a loop of aliases, a target of "." and records that are broken give nothing', () => {
		const loop: DnsRecord[] = [
			{ name: 'a.test', type: 'CNAME', ttl: 1, data: 'b.test' },
			{ name: 'b.test', type: 'CNAME', ttl: 1, data: 'a.test' },
		];
		expect(readSrv(reply(loop), 'a.test').values).toEqual([]);
		const broken = [{ port: 0, target: '.' }, { port: 70_000, target: 'a.test' }, { target: 'a.test' }, null, 'x'];
		const answers = broken.map((data): DnsRecord => ({ name: 'a.test', type: 'SRV', ttl: 1, data }));
		expect(readSrv(reply(answers), 'a.test').values).toEqual([]);
	});

	it('addresses are IPv4 where there are some, else IPv6, each once and sorted', () => {
		const a = (type: string, data: string, ttl = 9): DnsRecord => ({ name: 'a.test', type, ttl, data });
		expect(readAddresses([a('AAAA', '::2'), a('A', '10.0.0.2', 5), a('A', '10.0.0.1')], 'a.test')).toEqual({
			values: ['10.0.0.1', '10.0.0.2'],
			ttl: 5,
		});
		expect(readAddresses([a('AAAA', '::2'), a('AAAA', '::1'), a('AAAA', '::1')], 'a.test').values).toEqual([
			'::1',
			'::2',
		]);
	});

	it('"no such name" is believed for the shorter of what its SOA record says', () => {
		const soa = (ttl: number, minimum: number): DnsReply =>
			reply([], { authorities: [{ name: 'test', type: 'SOA', ttl, data: { minimum } }] });
		expect(negativeTtl(soa(60, 5))).toBe(5);
		expect(negativeTtl(soa(3, 5))).toBe(3);
		expect(negativeTtl(reply([]))).toBeUndefined();
		const bare = (data: unknown): DnsReply => reply([], { authorities: [{ name: 'test', type: 'SOA', ttl: 7, data }] });
		expect(negativeTtl(bare('not one'))).toBe(7);
		expect(negativeTtl(bare({}))).toBe(7);
	});

	it('a target that nobody gave an address is not there', () => {
		expect(instancesOf([srv({ target: 'nowhere.test' })], ADDRESSES, {})).toEqual([]);
	});
});
