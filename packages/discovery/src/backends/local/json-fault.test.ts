import { describe, expect, it } from 'vitest';

import { jsonFault } from './json-fault.ts';

const GOOD = [
	'{}',
	' [ ] ',
	'{"a":[1,-2.5e+3,true,false,null,"x\\"\\u00e9\\\\"],"b":{"c":{}}}\n',
	'"text"',
	'0',
	`${'['.repeat(5000)}${']'.repeat(5000)}`,
	JSON.stringify({ a: 'x'.repeat(100_000), b: '\\"'.repeat(100_000) }),
];

describe('the place where a text is not JSON', () => {
	it.each([
		['', 0, 'expected a value, not the end'],
		['{"a": [1, 2}', 11, 'expected "," or "]", not "}"'],
		['{"a": [1, 2,]}', 12, 'expected a value after the comma, not "]"'],
		['{"a": 1,}', 8, 'expected a name in double quotes after the comma, not "}"'],
		['{"a" 1}', 5, 'expected ":" after the name, not "1"'],
		['{"a": 1 "b": 2}', 8, 'expected "," or "}", not "\\""'],
		['{a: 1}', 1, 'expected a name in double quotes or "}", not "a"'],
		["{'a': 1}", 1, 'expected a name in double quotes or "}", not "\'"'],
		['{"a": b}', 6, 'expected a value, not "b"'],
		['[1', 2, 'expected "," or "]", not the end'],
		['{"a":', 5, 'expected a value, not the end'],
		['{} x', 3, 'expected the end, not "x"'],
		['01', 1, 'expected the end, not "1"'],
		['// comment\n{}', 0, 'expected a value, not "/"'],
		[
			'{"a": "x\ny"}',
			6,
			'a string that does not end on its line, or contains a tab or an escape that JSON does not allow',
		],
		[
			'{"a": "\\x"}',
			6,
			'a string that does not end on its line, or contains a tab or an escape that JSON does not allow',
		],
		['}', 0, 'expected a value, not "}"'],
		['[}', 1, 'expected a value or "]", not "}"'],
	])('of %j', (text, offset, reason) => {
		expect(jsonFault(text)).toEqual({ offset, reason });
	});

	it('is found just where JSON.parse refuses, whatever one character of it is', () => {
		for (const text of GOOD.filter(({ length }) => length < 100)) {
			for (let at = 0; at <= text.length; at++) {
				for (const put of ['', ',', '}', ']', '"', ':', '1', 'x', ' ', '\\', '{', '\u0007']) {
					const changed = `${text.slice(0, at)}${put}${text.slice(at + 1)}`;
					expect([changed, jsonFault(changed) === undefined]).toEqual([changed, isJson(changed)]);
				}
			}
		}
	});

	it.each(GOOD.map((text) => [text.slice(0, 30), text]))('%s has none', (_name, text) => {
		expect(jsonFault(text)).toBeUndefined();
	});
});

function isJson(text: string): boolean {
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
}
