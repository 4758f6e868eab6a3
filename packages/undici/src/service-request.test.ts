import type { CallOutcome, Diplomat, Lease } from '@spock/client';
import { describe, expect, it } from 'vitest';

import { nameInstance, outcomeOfRequest, ServiceRequest } from './service-request.ts';

const QUERY = { service: 'barista' };
const ADDRESS = { host: '::1', port: 80, instance: 'web-1' };
const PLACE = 'the instance "web-1" ([::1]:80) of "barista"';

function withCode(code: string, name = 'Error'): Error {
	return Object.assign(new Error('it broke'), { code, name });
}

describe('the outcome of a request', () => {
	it.each<[string, unknown, CallOutcome]>([
		['refused', withCode('ECONNREFUSED'), 'failure'],
		['hung up', withCode('UND_ERR_SOCKET'), 'failure'],
		['no headers in time', withCode('UND_ERR_HEADERS_TIMEOUT'), 'failure'],
		['a bad certificate', withCode('ERR_TLS_CERT_ALTNAME_INVALID'), 'failure'],
		['no HTTP', Object.assign(new Error('x'), { name: 'HTTPParserError' }), 'failure'],
		['the caller’s time-out', new DOMException('x', 'TimeoutError'), 'failure'],
		['the caller’s abort', new DOMException('x', 'AbortError'), 'cancelled'],
		['undici’s word for it', withCode('UND_ERR_ABORTED', 'AbortError'), 'cancelled'],
		['a reason of the caller’s own', new Error('mine'), 'cancelled'],
		['a reason that is no error', 'enough', 'cancelled'],
		['no reason', undefined, 'cancelled'],
		['a dispatcher that was destroyed', withCode('UND_ERR_DESTROYED'), 'cancelled'],
		['a body of another length than was said', withCode('UND_ERR_REQ_CONTENT_LENGTH_MISMATCH'), 'cancelled'],
	])('%s', (_what, error, outcome) => {
		expect(outcomeOfRequest(error)).toBe(outcome);
	});
});

describe('an error', () => {
	it('says which instance it is about, in its message and in its stack, once', () => {
		const error = withCode('ECONNREFUSED') as Error & { service?: string };
		nameInstance(error, QUERY, ADDRESS);
		nameInstance(error, { service: 'other' }, ADDRESS);
		expect(error).toMatchObject({
			message: `${PLACE}: it broke`,
			service: 'barista',
			instance: 'web-1',
			code: 'ECONNREFUSED',
		});
		expect(error.stack).toContain(`${PLACE}: it broke`);
		expect(error.cause).toMatchObject({ code: 'UNAVAILABLE', details: { service: 'barista', host: '::1' } });
		expect((error.cause as Error).cause).not.toBe(error);
	});

	it('keeps its cause, and has its code for a message where it had none', () => {
		const cause = new Error('why');
		const error = Object.assign(new AggregateError([], '', { cause }), { code: 'ECONNREFUSED' });
		nameInstance(error, QUERY, ADDRESS);
		expect([error.message, error.cause]).toEqual([`${PLACE}: ECONNREFUSED`, cause]);
	});

	it.each([
		['frozen', Object.freeze(new Error('mine'))],
		['a DOMException', new DOMException('mine', 'TimeoutError')],
		['no error', { message: 'mine' }],
	])('that is %s stays as it is', (_what, error) => {
		nameInstance(error, QUERY, ADDRESS);
		expect(error).toMatchObject({ message: 'mine' });
		expect(Object.hasOwn(error, 'service')).toBe(false);
	});
});

it('a request without a lease is reported by the address that the client returned, whose record it finds at once', () => {
	const reported: unknown[][] = [];
	const diplomat = { report: (...given: unknown[]) => void reported.push(given) } as unknown as Diplomat;
	const lease: Lease = { query: QUERY, address: ADDRESS, release: () => undefined };
	const request = new ServiceRequest(lease, { diplomat, isFailure: () => false }, () => undefined);
	request.dispatched();
	request.made();
	request.answered(200);
	request.completed();
	expect(reported).toEqual([[ADDRESS, 'success', expect.any(Number)]]);
	expect(reported[0]?.[0]).toBe(ADDRESS);
});
