import { readFileSync } from 'node:fs';

import { SpockError } from '@spock/protocol';
import { expect, it } from 'vitest';

import { STATUS_BY_CODE, statusName, statusOf } from './grpc-status.ts';

it('docs/GRPC.md has the status of each code', () => {
	const page = readFileSync(new URL('../../../../docs/GRPC.md', import.meta.url), 'utf8');
	const rows = Object.entries(STATUS_BY_CODE).map(([code, status]) => `| \`${code}\` | ${statusName(status)} |`);
	expect(page).toContain(['|---|---|', ...rows, '', '<!-- end -->'].join('\n'));
});

it('an error ends a call with our message, and with our code in the trailers', () => {
	const { code, details, metadata } = statusOf(new SpockError('NOT_READY', 'not yet'));
	expect([statusName(code), details]).toEqual(['UNAVAILABLE', 'not yet']);
	expect(metadata.getMap()).toEqual({ 'spock-code': 'NOT_READY', 'spock-retryable': 'true' });
});
