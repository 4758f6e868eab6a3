import { keyQueryKey } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { instance } from '../../test/fake-backend-source.ts';
import {
	instancesBody,
	keysBody,
	listBody,
	readInstancesBody,
	readKeysBody,
	readListBody,
	readVerifiedBody,
} from './state-body.ts';

const query = { service: 'barista' };
const key = { key: 'app/limits' };
/** As it comes back from a disk. */
const stored = (body: unknown): Record<string, unknown> => JSON.parse(JSON.stringify(body));
const another = expect.objectContaining({ refusal: 'foreign', message: expect.stringContaining('belongs to another') });
const misshapen = expect.objectContaining({
	refusal: 'foreign',
	message: expect.stringContaining('the expected shape'),
});
const limits = keyQueryKey(key);

describe('the body of a state file', () => {
	it('gives back what was put in', () => {
		const kept = { instances: [instance('a'), instance('b')], verifiedAt: 5 };
		expect(readInstancesBody(stored(instancesBody(query, kept)), query)).toEqual(kept);
		const value = [
			{ key: 'app/limits', value: '5' },
			{ key: 'app/bytes', value: '/w==', encoding: 'base64' as const },
		];
		expect(readKeysBody(stored(keysBody(key, { value, verifiedAt: 5 })), key)).toEqual({ value, verifiedAt: 5 });
		const services = [{ name: 'barista', tags: ['v2'] }];
		expect(readListBody(stored(listBody('dc2', { services, verifiedAt: 5 })), 'dc2')).toEqual({
			services,
			verifiedAt: 5,
		});
		expect(readVerifiedBody({ abc: 7 })).toEqual(new Map([['abc', 7]]));
	});

	it('about another question or datacenter is refused as foreign', () => {
		for (const body of [null, [], 'text', { key: 'roaster', verifiedAt: 5, instances: [] }]) {
			expect(() => readInstancesBody(body, query)).toThrow(another);
		}
		for (const body of [null, { key: keyQueryKey({ key: 'app/other' }), verifiedAt: 5, entries: [] }]) {
			expect(() => readKeysBody(body, key)).toThrow(another);
		}
		for (const body of [null, { key: 'dc1', verifiedAt: 5, services: [] }]) {
			expect(() => readListBody(body, 'dc2')).toThrow(another);
		}
	});

	it.each<[string, unknown]>([
		['no time', { key: 'barista', instances: [] }],
		['a time before 1970', { key: 'barista', verifiedAt: -1, instances: [] }],
		['no instances', { key: 'barista', verifiedAt: 5, instances: {} }],
		['an instance that is none', { key: 'barista', verifiedAt: 5, instances: ['a'] }],
	])('of instances with %s is refused as foreign', (_what, body) => {
		expect(() => readInstancesBody(body, query)).toThrow(misshapen);
	});

	it.each(['instance', 'host', 'port', 'weight', 'status', 'tags', 'meta', 'zone', 'datacenter'])(
		'of instances one of which has a wrong %s is refused as foreign',
		(member) => {
			const body = { key: 'barista', verifiedAt: 5, instances: [{ ...instance('a'), [member]: { wrong: 5 } }] };
			expect(() => readInstancesBody(body, query)).toThrow(misshapen);
		},
	);

	it.each<[string, unknown]>([
		['no time', { key: limits, entries: [] }],
		['no entries', { key: limits, verifiedAt: 5, entries: null }],
		['an entry that is none', { key: limits, verifiedAt: 5, entries: ['5'] }],
		['an entry without a value', { key: limits, verifiedAt: 5, entries: [{ key: 'app/limits' }] }],
		[
			'an encoding that is not known',
			{ key: limits, verifiedAt: 5, entries: [{ key: 'app/limits', value: 'ff', encoding: 'hex' }] },
		],
	])('of keys with %s is refused as foreign', (_what, body) => {
		expect(() => readKeysBody(body, key)).toThrow(misshapen);
	});

	it.each<[string, unknown]>([
		['no time', { key: 'dc2', services: [] }],
		['a service without tags', { key: 'dc2', verifiedAt: 5, services: [{ name: 'a' }] }],
		['a service that is none', { key: 'dc2', verifiedAt: 5, services: [null] }],
	])('of a list with %s is refused as foreign', (_what, body) => {
		expect(() => readListBody(body, 'dc2')).toThrow(misshapen);
	});

	it.each([null, [5], { abc: 'yesterday' }])('of times that is %j is refused as foreign', (body) => {
		expect(() => readVerifiedBody(body)).toThrow(misshapen);
	});
});
