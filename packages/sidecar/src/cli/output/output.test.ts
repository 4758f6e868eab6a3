import { expect, it } from 'vitest';

import { printable, printableLines } from './output.ts';

const HOSTILE = 'a\u001b]52;c;AAAA\u0007b\u009b2J\u202ec\u2028d\u{e0041}\ufeff';

it('nothing in a text steers a terminal, and what it was can be read', () => {
	expect(printable(HOSTILE)).toBe('a\\u001b]52;c;AAAA\\u0007b\\u009b2J\\u202ec\\u2028d\\udb40\\udc41\\ufeff');
	expect(printable('two\nlines\tand \r')).toBe('two\\u000alines\\u0009and \\u000d');
	expect(printableLines('two\nlines\tand \r')).toBe('two\nlines\tand \\u000d');
	expect(printable('höflich, 日本, \\')).toBe('höflich, 日本, \\');
});

it('JSON stays JSON of the same value', () => {
	const value = { [HOSTILE]: [HOSTILE, '\n"\\'] };
	for (const text of [JSON.stringify(value), JSON.stringify(value, null, '\t')]) {
		expect(JSON.parse(printableLines(text))).toEqual(value);
		expect(printableLines(text)).not.toMatch(/[\u0080-\u009f\u202e\u2028]/);
	}
});
