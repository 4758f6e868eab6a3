import type { SeededRandom } from '../random.ts';

// JSON as text and not as values: only text can have a member twice, -0, 1e0, escapes where none are needed, or 1e999.

/** Numbers at the edges of what ids, deadlines, ports and doubles may be, in every notation. */
const NUMBERS: readonly string[] = [
	...['0', '-0', '1', '-1', '1.0', '1e0', '1E+0', '10e-1', '0e9', '0.5', '1.5', '1e2', '1e-400', '1e999', '-1e999'],
	...[
		'4294967295',
		'4294967295.0',
		'4294967296',
		'4294967294.9999999999',
		'2147483647',
		'2147483648',
		'65535',
		'65536',
	],
	...[
		'9007199254740993',
		'1e21',
		'100000000000000000000',
		'0.0000000000000001',
		'1.0000000000000001',
		'00',
		'01',
		'.5',
	],
	...['5.', '+1', '1e', '0x10', 'NaN', 'Infinity', '1_000', '429496729599', '99999999999'],
];
const WORDS: readonly string[] = ['null', 'true', 'false', '{}', '[]', '""', 'undefined', 'nul', 'True'];
/** Strings that names of JavaScript, of the protocol and of lines are made of. */
const TEXTS: readonly string[] = [
	...['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'length', 'hasOwnProperty', 'then', 'toJSON'],
	...['barista', 'waiter', 'app/limits', 'passing', 'warning', 'critical', 'maintenance', 'live', 'last-known-good'],
	...['\\u2028', '\u2028', '\u2029', '\ufeff', '\\ud800', '\\udc00\\ud800', '\\u0000', '\\n', '\\r', '\\/', 'é€😀'],
	...['spock-x', 'consul-y', 'http://a', 'a:1', '127.0.0.1', 'base64', '\\', '\\x', '\u007f', '{', '[[', ']}', '":'],
];
const NAMES: readonly string[] = [
	...['id', 'func', 'data', 'timeoutMs', 'error', 'event', 'service', 'tags', 'datacenter', 'meta', 'peer', 'key'],
	...['prefix', 'maxAgeMs', 'instances', 'instance', 'host', 'port', 'weight', 'status', 'revision', 'source', 'ageMs'],
	...['verifiedAt', 'code', 'message', 'retryable', 'details', 'versions', 'version', 'limits', 'features', 'state'],
	...[
		'value',
		'entries',
		'encoding',
		'services',
		'name',
		'__proto__',
		'constructor',
		'toString',
		'zone',
		'held',
		'panic',
	],
];

/** A number, an id or what only looks like one. */
export function numberText(random: SeededRandom): string {
	return random.oneIn(3) ? String(random.below(random.oneIn(2) ? 300 : 2 ** 32)) : random.pick(NUMBERS);
}

/** A string with its quotes; now and then a long one, at the limits of names. */
export function stringText(random: SeededRandom): string {
	if (random.oneIn(24)) {
		const length = random.pick([63, 64, 65, 128, 129, 256, 257, 512, 513, 1024, 1025]);
		return `"${random.pick(['x', 'é', '\\u0061', '€', '[', '{', '\\"[', ']}']).repeat(length)}"`;
	}
	const count = random.oneIn(4) ? 2 : 1;
	return `"${Array.from({ length: count }, () => random.pick(TEXTS)).join('')}"`;
}

/** The name of a member, with its quotes; an escape in it changes nothing of what it is. */
export function nameText(random: SeededRandom): string {
	const name = random.pick(NAMES);
	return random.oneIn(16) ? `"\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}"` : `"${name}"`;
}

/** Any value, mostly valid. */
export function valueText(random: SeededRandom, depth = 0): string {
	const kind = random.below(depth > 3 ? 6 : 10);
	if (kind < 2) return numberText(random);
	if (kind < 5) return stringText(random);
	if (kind === 5) return random.pick(WORDS);
	if (kind === 6 && random.oneIn(12)) return nestedText(random);
	const items = Array.from({ length: random.below(4) }, () => valueText(random, depth + 1));
	if (kind < 8) return `[${items.join(',')}]`;
	return `{${items.map((item) => `${nameText(random)}:${item}`).join(',')}}`;
}

/** Nesting about the limit, or far past it. */
export function nestedText(random: SeededRandom): string {
	const depth = random.oneIn(8) ? 2000 : random.between(124, 131);
	const kinds = Array.from({ length: depth }, () => random.oneIn(2));
	const open = kinds.map((isList) => (isList ? '[' : '{"a":'));
	const close = kinds.map((isList) => (isList ? ']' : '}')).reverse();
	return `${open.join('')}${random.pick(['1', '"]}"', 'null', '""'])}${close.join('')}`;
}
