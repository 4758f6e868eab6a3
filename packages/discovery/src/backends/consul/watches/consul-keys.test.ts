import { describe, expect, it } from 'vitest';

import { readAnsweredKeys } from './consul-keys.ts';

const ok = { statusCode: 200, headers: { 'x-consul-index': '7', 'content-type': 'application/json' } };
const absent = { statusCode: 404, headers: { 'x-consul-index': '9' } };

describe('an answer about keys', () => {
	it('is one entry, or a list of them; a key without bytes has none', () => {
		expect(readAnsweredKeys(ok, { Key: 'a', Value: Buffer.from('1'), Flags: 0 })).toEqual({
			index: 7,
			meta: { ageMs: 0 },
			value: [{ key: 'a', bytes: Buffer.from('1') }],
		});
		expect(readAnsweredKeys(ok, [{ Key: 'a', Value: null }, { Key: 'b' }])).toEqual({
			index: 7,
			meta: { ageMs: 0 },
			value: [
				{ key: 'a', bytes: Buffer.alloc(0) },
				{ key: 'b', bytes: Buffer.alloc(0) },
			],
		});
	});

	it('is empty for a 404 of Consul, which has an index', () => {
		expect(readAnsweredKeys(absent, undefined)).toEqual({ index: 9, meta: { ageMs: 0 }, value: [] });
	});

	it('is none without an index: a 404 of a proxy is not the absence of a key', () => {
		expect(() => readAnsweredKeys({ statusCode: 404, headers: {} }, undefined)).toThrow('X-Consul-Index');
		expect(() => readAnsweredKeys({ ...ok, headers: {} }, { Key: 'a', Value: null })).toThrow('X-Consul-Index');
	});

	it('is none in another shape than the API’s', () => {
		for (const body of [
			undefined,
			null,
			'<html>',
			5,
			{ Value: null },
			{ Key: 5 },
			{ Key: 'a', Value: 'text' },
			[null],
		]) {
			expect(() => readAnsweredKeys(ok, body)).toThrow('check that this address is Consul');
		}
	});

	it('from which ACLs filtered everything is ACL_DENIED; a part may be missing', () => {
		const filtered = { 'x-consul-results-filtered-by-acls': 'true' };
		expect(() => readAnsweredKeys({ ...absent, headers: { ...absent.headers, ...filtered } }, undefined)).toThrow(
			expect.objectContaining({ code: 'ACL_DENIED' }),
		);
		expect(
			readAnsweredKeys({ ...ok, headers: { ...ok.headers, ...filtered } }, [{ Key: 'a', Value: null }]).value,
		).toHaveLength(1);
	});
});
