import { describe, expect, it } from 'vitest';

import { errorLabel } from './error-label.ts';

const coded = (code: unknown, message: string, cause?: unknown): Error =>
	Object.assign(new Error(message, { cause }), { code });

describe('the label of an error', () => {
	it.each([
		['its code', coded('ECONNRESET', 'socket hang up'), 'ECONNRESET'],
		['its name where it has none', new TypeError('x'), 'TypeError'],
		['the codes of its causes', coded('UNAVAILABLE', 'x', coded('ECONNREFUSED', 'y')), 'UNAVAILABLE: ECONNREFUSED'],
		['each once', coded('ECONNRESET', 'x', coded('ECONNRESET', 'y')), 'ECONNRESET'],
		['the number of gRPC', coded(4, '4 DEADLINE_EXCEEDED: late'), 'gRPC 4'],
		['with what the connection said', coded(14, '14 UNAVAILABLE: read ECONNRESET'), 'gRPC 14 ECONNRESET'],
		['what is no error', 'x', 'x'],
	])('is %s', (_what, error, label) => {
		expect(errorLabel(error)).toBe(label);
	});
});
