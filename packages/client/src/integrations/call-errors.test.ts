import { SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { instanceError, isConnectionError, outcomeOf, serviceError } from './call-errors.ts';

const coded = (code: string, cause?: unknown): Error => Object.assign(new Error(code, { cause }), { code });
const named = (name: string): DOMException => new DOMException('x', name);
const circular = new Error('circular');
circular.cause = circular;

describe('the errors of calls', () => {
	it.each([
		['a refusal', coded('ECONNREFUSED'), 'failure', true],
		['a reset inside of fetch', new TypeError('fetch failed', { cause: coded('ECONNRESET') }), 'failure', true],
		['one of several addresses', new AggregateError([coded('X'), coded('ETIMEDOUT')]), 'failure', true],
		['a time-out of the caller', named('TimeoutError'), 'failure', true],
		['an abort by the caller', named('AbortError'), 'cancelled', false],
		['an abort because of a time-out', Object.assign(named('AbortError'), {}), 'cancelled', false],
		['axios that was cancelled', coded('ERR_CANCELED', named('AbortError')), 'cancelled', false],
		['what is retryable of ours', new SpockError('UNAVAILABLE', 'x'), 'failure', true],
		['what is not', new SpockError('ACL_DENIED', 'x'), 'failure', false],
		['a call of ours that was aborted', new SpockError('ABORTED', 'x'), 'cancelled', false],
		['an answer that is wrong', new SyntaxError('x'), 'failure', false],
		['no error at all', 'x', 'failure', false],
		['an error that is its own cause', circular, 'failure', false],
	])('%s', (_what, error, outcome, isConnection) => {
		expect(outcomeOf(error)).toBe(outcome);
		expect(isConnectionError(error)).toBe(isConnection);
	});

	it('an abort whose reason is a time-out is a failure', () => {
		expect(outcomeOf(Object.assign(named('AbortError'), { cause: named('TimeoutError') }))).toBe('failure');
	});

	it('that of an instance says what the innermost cause says', () => {
		const cause = new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED 10.0.0.1:80') });
		const error = instanceError({ service: 'barista' }, { host: '10.0.0.1', port: 80, instance: 'n/1' }, cause);
		expect(error.message).toBe('the instance "n/1" (10.0.0.1:80) of "barista": connect ECONNREFUSED 10.0.0.1:80');
		expect(error.cause).toBe(cause);
	});

	it('that of an instance names the service, the instance and where it is', () => {
		const cause = coded('ECONNREFUSED');
		const error = instanceError({ service: 'barista' }, { host: '::1', port: 80, instance: 'n/1' }, cause);
		expect(error).toMatchObject({
			code: 'UNAVAILABLE',
			message: 'the instance "n/1" ([::1]:80) of "barista": ECONNREFUSED',
			details: { service: 'barista', instance: 'n/1', host: '::1', port: 80 },
			cause,
		});
	});

	it('that of a look-up names the service, unless it does already', () => {
		const query = { service: 'barista' };
		const silent = new SpockError('TIMEOUT', 'no sidecar answered', { details: { timeoutMs: 5 }, retryable: false });
		expect(serviceError(query, silent)).toMatchObject({
			code: 'TIMEOUT',
			message: 'the service "barista": no sidecar answered',
			details: { timeoutMs: 5, service: 'barista' },
			retryable: false,
			cause: silent,
		});
		const saying = new SpockError('NO_SUCH_SERVICE', 'no instance of "barista" is registered', { details: query });
		expect(serviceError(query, saying)).toBe(saying);
		// `a` stands in many a word.
		expect(serviceError({ service: 'a' }, silent).message).toBe('the service "a": no sidecar answered');
		const fault = new TypeError('x');
		expect(serviceError(query, fault)).toMatchObject({ code: 'INTERNAL', cause: { cause: fault } });
	});
});
