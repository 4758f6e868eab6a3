import { SpockError } from '@spock/protocol';
import { expect, it } from 'vitest';

import { errorAsJson } from './error-json.ts';
import { CommandError, EXIT } from './output.ts';

it('a failure of the sidecar has its code, message, details and the address of its help', () => {
	const help = 'https://example.org/errors#acl-denied';
	const cause = new SpockError('ACL_DENIED', 'may not read', { details: { service: 'a', help } });
	const error = new CommandError(EXIT.failure, 'ACL_DENIED: may not read; see x', { cause });
	expect(errorAsJson(error, 'sidecar get --help')).toEqual({
		code: 'ACL_DENIED',
		message: 'may not read; see x',
		exitCode: 1,
		retryable: false,
		details: { service: 'a', help },
		help,
	});
});

it('wrong usage, an absent sidecar and other failures have codes of the command', () => {
	expect(errorAsJson(new CommandError(EXIT.usage, 'no'), 'sidecar get --help')).toEqual({
		code: 'USAGE',
		message: 'no',
		exitCode: 2,
		retryable: false,
		details: {},
		help: 'sidecar get --help',
	});
	const cause = Object.assign(new Error('x'), { code: 'ENOENT' });
	expect(errorAsJson(new CommandError(EXIT.noSidecar, 'no', { cause }), 'sidecar get --help')).toEqual({
		code: 'NO_SIDECAR',
		message: 'no',
		exitCode: 3,
		retryable: true,
		details: { causeCode: 'ENOENT' },
	});
	expect(errorAsJson(new CommandError(EXIT.failure, 'no', { code: 'TIMEOUT' }))).toMatchObject({
		code: 'TIMEOUT',
		retryable: true,
	});
	expect(errorAsJson(new CommandError(EXIT.failure, 'no'))).toMatchObject({ code: 'FAILED', retryable: false });
});

it('a fault of the command itself keeps its stack', () => {
	const json = errorAsJson(new TypeError('oh'));
	expect(json).toMatchObject({ code: 'INTERNAL', message: 'oh', exitCode: 1 });
	expect(json.details['stack']).toContain('TypeError: oh');
});
