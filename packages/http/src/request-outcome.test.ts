import { SpockError } from '@spock/client';
import { describe, expect, it } from 'vitest';

import { type CallEnd, outcomeOfEnd } from './request-outcome.ts';

const NOTHING: CallEnd = {
	head: undefined,
	isComplete: false,
	responseError: undefined,
	destroyed: undefined,
	hasTimedOut: false,
	error: undefined,
};

function named(name: string, code?: string): Error {
	return Object.assign(new Error(name), { name, code });
}

describe('what the end of a request says of its instance', () => {
	it.each([
		['a whole answer', { head: 'success', isComplete: true }, 'success'],
		[
			'a whole answer, and its caller destroyed the request after it',
			{ head: 'success', isComplete: true, destroyed: { reason: undefined } },
			'success',
		],
		['a status of failure, whatever came then', { head: 'failure', destroyed: { reason: undefined } }, 'failure'],
		[
			'an answer that its server broke off',
			{ head: 'success', responseError: named('Error', 'ECONNRESET') },
			'failure',
		],
		['an answer that its reader left', { head: 'success' }, 'cancelled'],
		[
			'an answer that its reader left for a reason of its own',
			{ head: 'success', responseError: named('Error') },
			'cancelled',
		],
		[
			'an answer that could not be parsed to its end',
			{ head: 'success', error: named('Error', 'HPE_INVALID_CHUNK_SIZE') },
			'failure',
		],
		['no answer', { error: named('Error', 'ECONNRESET') }, 'failure'],
		[
			'a caller that gave no reason',
			{ destroyed: { reason: undefined }, error: named('Error', 'ECONNRESET') },
			'cancelled',
		],
		[
			'a caller that gave no reason after its time-out',
			{ destroyed: { reason: undefined }, hasTimedOut: true },
			'failure',
		],
		['an AbortSignal', { destroyed: { reason: named('AbortError', 'ABORT_ERR') } }, 'cancelled'],
		['axios, told to cancel', { destroyed: { reason: named('CanceledError', 'ERR_CANCELED') } }, 'cancelled'],
		['got, told to cancel', { destroyed: { reason: named('CancelError', 'ERR_CANCELED') } }, 'cancelled'],
		['a time-out of axios', { destroyed: { reason: named('AxiosError', 'ECONNABORTED') } }, 'failure'],
		['a time-out of got', { destroyed: { reason: named('TimeoutError', 'ETIMEDOUT') } }, 'failure'],
		['a caller whose own body failed', { destroyed: { reason: named('Error') } }, 'cancelled'],
		['a client that was closed', { error: new SpockError('ABORTED', 'aborted') }, 'cancelled'],
	] as const)('%s', (_what, end, outcome) => {
		expect(outcomeOfEnd({ ...NOTHING, ...end })).toBe(outcome);
	});
});
