import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';

import { callOutcome } from './call-status.ts';

it('a status is a success when the instance answered, a failure when it did not, and neither when the caller gave up', () => {
	const outcomes = Object.entries(status)
		.filter(([, code]) => typeof code === 'number')
		.map(([name, code]) => [name, callOutcome(code as number)]);
	expect(Object.fromEntries(outcomes)).toEqual({
		OK: 'success',
		CANCELLED: 'cancelled',
		UNKNOWN: 'failure',
		INVALID_ARGUMENT: 'success',
		DEADLINE_EXCEEDED: 'failure',
		NOT_FOUND: 'success',
		ALREADY_EXISTS: 'success',
		PERMISSION_DENIED: 'success',
		RESOURCE_EXHAUSTED: 'failure',
		FAILED_PRECONDITION: 'success',
		ABORTED: 'success',
		OUT_OF_RANGE: 'success',
		UNIMPLEMENTED: 'success',
		INTERNAL: 'failure',
		UNAVAILABLE: 'failure',
		DATA_LOSS: 'failure',
		UNAUTHENTICATED: 'success',
	});
});
