/** Where a text stops being JSON, and what was expected there. */
export interface JsonFault {
	/** In characters from the start. */
	readonly offset: number;
	readonly reason: string;
}

/** A mark, a text in quotes, or a number or word, behind white space. */
const TOKEN =
	/[ \t\n\r]*(?:([{}[\]:,])|("[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null))/y;
const SPACE = /[ \t\n\r]*/y;

type Expected = 'first member' | 'member' | 'colon' | 'first item' | 'value' | 'separator';

/**
 * The first place where a text is not JSON; undefined if it is. JSON.parse says where only in some versions of Node, and a reader of
 * YAML takes more than JSON, such as a comma before a bracket. Source: https://www.rfc-editor.org/rfc/rfc8259
 */
export function jsonFault(text: string): JsonFault | undefined {
	const open: ('{' | '[')[] = [];
	let expected: Expected = 'value';
	for (let offset = 0; ; ) {
		const inside = open.at(-1);
		TOKEN.lastIndex = offset;
		const [token, mark, name, word] = TOKEN.exec(text) ?? [];
		const isValue = expected === 'value' || expected === 'first item';
		let next: Expected | undefined;
		if (isValue && (mark === '{' || mark === '[')) {
			open.push(mark);
			next = mark === '{' ? 'first member' : 'first item';
		} else if (isValue && (name !== undefined || word !== undefined)) next = 'separator';
		else if ((expected === 'member' || expected === 'first member') && name !== undefined) next = 'colon';
		else if (expected === 'colon' && mark === ':') next = 'value';
		else if (expected === 'separator' && mark === ',' && inside !== undefined)
			next = inside === '{' ? 'member' : 'value';
		else if (mark === '}' && inside === '{' && (expected === 'first member' || expected === 'separator')) {
			open.pop();
			next = 'separator';
		} else if (mark === ']' && inside === '[' && (expected === 'first item' || expected === 'separator')) {
			open.pop();
			next = 'separator';
		}
		if (next === undefined || token === undefined) return faultAt(text, offset, expected, inside);
		expected = next;
		offset += token.length;
	}
}

/** Nothing that fits follows; undefined for the end of a whole text. */
function faultAt(text: string, from: number, expected: Expected, inside: string | undefined): JsonFault | undefined {
	SPACE.lastIndex = from;
	const offset = from + (SPACE.exec(text)?.[0].length ?? 0);
	const isWhole = expected === 'separator' && inside === undefined;
	if (offset === text.length && isWhole) return undefined;
	const found =
		offset === text.length ? 'the end' : JSON.stringify(String.fromCodePoint(text.codePointAt(offset) ?? 0));
	const wanted: Readonly<Record<Expected, string>> = {
		'first member': 'a name in double quotes or "}"',
		member: 'a name in double quotes after the comma',
		colon: '":" after the name',
		'first item': 'a value or "]"',
		value: inside === '[' ? 'a value after the comma' : 'a value',
		separator: inside === undefined ? 'the end' : inside === '{' ? '"," or "}"' : '"," or "]"',
	};
	const isBadText = text[offset] === '"' && expected !== 'separator' && expected !== 'colon';
	const reason = isBadText
		? 'a string that does not end on its line, or contains a tab or an escape that JSON does not allow'
		: `expected ${wanted[expected]}, not ${found}`;
	return { offset, reason };
}
