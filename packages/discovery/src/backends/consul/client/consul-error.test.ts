import { SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { consulError, notJson, refuseFiltered } from './consul-error.ts';

const URL = 'http://127.0.0.1:8500';
const failure = (message: string, members: object = {}): Error => Object.assign(new Error(message), members);

describe('an error of Consul', () => {
	it('that is one already stays as it is', () => {
		const error = new SpockError('ABORTED', 'enough');
		expect(consulError(error, URL, [])).toBe(error);
	});

	it('names the address, and the code of the system', () => {
		expect(consulError(failure('connect ECONNREFUSED', { code: 'ECONNREFUSED' }), URL, [])).toMatchObject({
			code: 'UNAVAILABLE',
			message: `Consul at ${URL} failed: connect ECONNREFUSED`,
			details: { address: URL, systemCode: 'ECONNREFUSED' },
		});
	});

	it('for want of open files means that there is room for fewer queries', () => {
		const full = { details: { isFull: true } };
		expect(consulError(failure('connect EMFILE', { code: 'EMFILE' }), URL, [])).toMatchObject(full);
		expect(consulError(failure('connect ENFILE', { code: 'ENFILE' }), URL, [])).toMatchObject(full);
		expect(consulError(failure('connect EACCES', { code: 'EACCES' }), URL, [])).not.toMatchObject(full);
	});

	it('of a datacenter that is not there says what to check', () => {
		const error = consulError(failure('consul: x: No path to datacenter', { statusCode: 500 }), URL, []);
		expect(error.message).toContain('answered 500: No path to datacenter: Consul does not know this datacenter; check');
	});

	it.each([
		[failure('', { code: 'ETIMEDOUT' }), 'ETIMEDOUT'],
		[failure(''), 'no reason given'],
		['thrown as text', 'thrown as text'],
	])('without a word of its own still has a reason', (reason, text) => {
		expect(consulError(reason, URL, []).message).toBe(`Consul at ${URL} failed: ${text}`);
	});

	it('says what Consul said, as far as that is text, and never a secret', () => {
		const response = {
			body: ' rpc error: token s3cret is bad\n',
			headers: { 'content-type': 'text/plain; charset=utf-8' },
		};
		const error = consulError(failure('consul: x: Internal', { statusCode: 500, response }), URL, ['', 's3cret']);
		expect(error.message).toBe(`Consul at ${URL} answered 500: rpc error: token *** is bad`);
		expect(error.details).toEqual({ address: URL, status: 500 });
		expect(error.cause).toBeUndefined();
		const page = { body: '<html>', headers: { 'content-type': 'text/html' } };
		expect(consulError(failure('consul: x: bad gateway', { statusCode: 502, response: page }), URL, []).message).toBe(
			`Consul at ${URL} answered 502: bad gateway`,
		);
	});

	it('of 403 is ACL_DENIED, and tells a token that is not known from one that may not', () => {
		for (const [message, isUnknownToken] of [
			['rpc error: ACL not found', true],
			['Permission denied', false],
		] as const) {
			expect(consulError(failure(message, { statusCode: 403 }), URL, [])).toMatchObject({
				code: 'ACL_DENIED',
				details: { isUnknownToken },
			});
		}
	});

	it('an answer of another program says what it is', () => {
		expect(notJson({ headers: { 'content-type': 'text/html' } }).message).toContain('text/html');
		expect(notJson({ headers: {} }).message).toContain('no content type');
		refuseFiltered({ headers: {} });
		const headers = { 'x-consul-results-filtered-by-acls': 'true' };
		expect(() => refuseFiltered({ headers })).toThrow(expect.objectContaining({ code: 'ACL_DENIED' }));
	});
});
