import { describe, expect, it } from 'vitest';

import { parseIndex, readAnswerMeta } from '../client/answer-headers.ts';
import { readAnsweredInstances, readAnsweredServices } from './read-answer.ts';

const at = (headers: Record<string, string> = {}) => ({ headers: { 'x-consul-index': '7', ...headers } });

describe('an answer of Consul', () => {
	it.each([null, {}, 'text', ['text'], [null]])('of instances that is %j is not the API’s', (body) => {
		expect(() => readAnsweredInstances(at(), body)).toThrow(/check that this address is Consul/);
	});

	it.each([null, [], { barista: 'v2' }])('of services that is %j is not the API’s', (body) => {
		expect(() => readAnsweredServices(at(), body)).toThrow(/check that this address is Consul/);
	});

	it('without an index is an error, and not index 0', () => {
		expect(() => readAnsweredInstances({ headers: {} }, [])).toThrow(/X-Consul-Index/);
	});

	it('that is empty because of ACLs is denied, where Consul says so; where it may be so, that is told', () => {
		const filtered = at({ 'x-consul-results-filtered-by-acls': 'true' });
		expect(() => readAnsweredInstances(filtered, [])).toThrow(expect.objectContaining({ code: 'ACL_DENIED' }));
		expect(readAnsweredInstances(at({ 'x-consul-default-acl-policy': 'deny' }), [])).toMatchObject({
			mayBeDenied: true,
		});
		expect(readAnsweredInstances(at({ 'x-consul-default-acl-policy': 'allow' }), [])).not.toHaveProperty('mayBeDenied');
	});

	it('of services is sorted by name, each with its tags in order; no tags may be null', () => {
		const services = [
			{ name: 'barista', tags: ['a', 'b'] },
			{ name: 'roaster', tags: [] },
		];
		const body = { roaster: null, barista: ['b', 'a'] };
		expect(readAnsweredServices(at(), body)).toMatchObject({ services, mayBeDenied: false });
		const headers = { 'x-consul-default-acl-policy': 'deny' };
		expect(readAnsweredServices({ headers }, body).mayBeDenied).toBe(false);
		expect(readAnsweredServices({ headers }, {})).toMatchObject({ services: [], mayBeDenied: true });
		expect(readAnsweredServices(at(), {}).mayBeDenied).toBe(false);
	});

	it('with more entries than Consul can send is refused as a whole, before any is read', () => {
		const body = Array.from({ length: 100_001 }, () => ({}));
		expect(() => readAnsweredInstances(at(), body)).toThrow('more than 100000 entries');
	});

	it('of services is as old as a follower’s last contact, too', () => {
		const headers = { 'x-consul-lastcontact': '600000', 'x-consul-knownleader': 'false' };
		expect(readAnsweredServices({ headers }, { barista: [] }).meta.ageMs).toBe(600_000);
	});

	it('is as old as a follower’s last contact and the age in the agent’s cache together', () => {
		const headers = { 'x-consul-lastcontact': '40', age: '2', 'x-cache': 'HIT', 'x-consul-knownleader': 'true' };
		expect(readAnswerMeta({ headers })).toEqual({ ageMs: 2040, lastContactMs: 40, knownLeader: true, cache: 'hit' });
		expect(readAnswerMeta({ headers: { 'x-cache': 'MISS', age: '-3' } })).toEqual({ ageMs: 0, cache: 'miss' });
		const streaming = { ...headers, 'x-consul-query-backend': 'streaming', 'x-consul-knownleader': 'false' };
		expect(readAnswerMeta({ headers: streaming })).toEqual({ ageMs: 2000, cache: 'hit' });
	});
});

describe('X-Consul-Index', () => {
	it.each([undefined, '', '-1', '1.5', 'x', '9'.repeat(16), '9'.repeat(40), ['1', '2']])('%j is no index', (header) => {
		expect(parseIndex(header as string | undefined)).toBeUndefined();
	});

	it('reads a number', () => {
		expect(parseIndex('0')).toBe(0);
		expect(parseIndex('123456789012345')).toBe(123456789012345);
	});
});
