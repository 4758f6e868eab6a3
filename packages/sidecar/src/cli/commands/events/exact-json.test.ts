import { describe, expect, it } from 'vitest';

import { parseExactly } from './exact-json.ts';

const LONG = '{"total":123456789012345678901.5,"note":"1234567890123456789012"}';

describe('JSON whose numbers are sent as they were given', () => {
	it('keeps digits that no double holds, where Node can, and says so where it cannot', () => {
		if ('rawJSON' in JSON) expect(JSON.stringify(parseExactly(LONG))).toBe(LONG);
		expect(() => parseExactly(LONG, {})).toThrow('123456789012345678901.5 has more digits');
	});

	it.each(['[1.10,1e3,0.0,-0.50,1E+2,0.1,1e-7,1.7976931348623157e308]', '"12345678901234567890123"', '{"a\\"9":[]}'])(
		'takes %s on every Node',
		(text) => {
			expect(JSON.parse(JSON.stringify(parseExactly(text, {})))).toEqual(JSON.parse(text));
		},
	);

	it.each(['12345678901234567890', '0.1234567890123456789', '1e400'])(
		'refuses %s where it would be another',
		(text) => {
			expect(() => parseExactly(text, {})).toThrow(RangeError);
		},
	);

	it('throws a SyntaxError for what is not JSON', () => {
		expect(() => parseExactly('{')).toThrow(SyntaxError);
		expect(() => parseExactly('{', {})).toThrow(SyntaxError);
	});
});
