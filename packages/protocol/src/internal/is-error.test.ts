import { runInNewContext } from 'node:vm';

import { expect, it } from 'vitest';

import { isError } from './is-error.ts';

it('is an Error of any context, and nothing else', () => {
	for (const error of [new Error('here'), new TypeError('here'), new DOMException('here')])
		expect(isError(error)).toBe(true);
	for (const code of ['new Error("there")', 'new RangeError("there")'])
		expect(isError(runInNewContext(code))).toBe(true);
	for (const other of [undefined, null, 'error', { message: 'error', stack: '' }]) expect(isError(other)).toBe(false);
});
