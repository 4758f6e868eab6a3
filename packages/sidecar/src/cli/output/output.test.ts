import { SpockError } from '@spock/protocol';
import { expect, it, vi } from 'vitest';

import { CommandError, EXIT, printable, printableLines, reportFailure } from './output.ts';

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

it('a failure, and where its causes are explained, begin with the name by which the command was called', () => {
	const calledAs = process.argv[1] as string;
	const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
	try {
		process.argv[1] = '/usr/local/bin/spock';
		const cause = new SpockError('UNAVAILABLE', 'away');
		reportFailure(new CommandError(EXIT.failure, 'UNAVAILABLE: away', { cause }));
		const lines = write.mock.calls.join('').trimEnd().split('\n');
		expect(lines).toEqual(['spock: UNAVAILABLE: away', expect.stringMatching(/^spock: causes and what to do: \S/)]);
	} finally {
		process.argv[1] = calledAs;
		write.mockRestore();
	}
});
