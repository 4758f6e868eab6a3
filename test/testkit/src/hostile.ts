// What a registry, an app or an attacker may put where a name, a host, a port, a tag or a note belongs. The words are those
// that code gets wrong; everything is drawn from numbers in [0, 1), so that a seed decides what comes.

/** Uniform in [0, 1): of a seed, or of fast-check. */
export type Draw = () => number;

/** Names that a registry can have, and that are mistaken for something else: members of objects, keys of ours, paths, markup. */
export const ODD_NAMES: readonly string[] = [
	...['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty', 'then', 'toJSON', 'length'],
	...[
		'=config/0',
		'=',
		'a,b',
		'a b',
		' a',
		'a ',
		'a:1',
		'a=b',
		'a|b',
		'a;b',
		'a#b',
		'a?dc=x',
		'a&tag=v1',
		'a%2Fb',
		'%',
		'%00',
	],
	...[
		'["v1"]',
		'[["v1"],null,null,null]',
		'{"service":"a"}',
		'a[["v1"],null,null,null]',
		'"',
		'\\',
		'\\n',
		"'",
		'`',
		'$(a)',
	],
	...[
		'null',
		'undefined',
		'true',
		'NaN',
		'0',
		'-1',
		'1e999',
		'0x10',
		'',
		'*',
		'..',
		'.',
		'a/b',
		'../a',
		'/a',
		'a/',
		'a//b',
	],
	...[
		'<b>a</b>',
		'<script>',
		"a' or '1'='1",
		'a" == "a" or "1',
		'A',
		'a',
		'ä',
		'a\u0308',
		'ß',
		'ẞ',
		'İ',
		'ı',
		'😀',
		'日本',
		'\u202ea',
		'a\u200bb',
	],
	...['x'.repeat(64), 'x'.repeat(255), 'x'.repeat(256), 'x'.repeat(511), 'x'.repeat(512), '€'.repeat(512)],
];

/** Names that no registry can have: control characters, the separators of lines and terminals, halves of a character, too long. */
export const IMPOSSIBLE_NAMES: readonly string[] = [
	...['\n', 'a\nb', 'a\n[["v1"],null,null,null]', 'a\n[[],null,[["rack","b"]],null]', 'a\n[[],"dc1",null,null]'],
	...[
		'a\n[[],null,null,"east"]',
		'=a\n',
		'a\r',
		'a\r\nb',
		'\t',
		'a\tb',
		'\0',
		'a\0b',
		'\x07',
		'\x08',
		'\x1b[31ma',
		'\x1b]52;c;YQ==\x07',
	],
	...['\x1f', '\x7f', 'a\x7f', '\x80', '\x85', '\x9b', '\ud800', 'a\ud800', '\udc00a', '\udc00\ud800', 'a\ud83d'],
	...['x'.repeat(513), '€'.repeat(513), 'x'.repeat(65_536)],
];

/** Hosts of which no connection and no header can be made. */
export const BROKEN_HOSTS: readonly string[] = [
	...['', ' ', 'a b', '10.0.0.1 ', 'a\r\nX-Evil: 1', 'a\nb', 'a\tb', 'a\0b', '\x1b[2J', '\x7f', '\ud800'],
	...['x'.repeat(65_536)],
];

/** Ports that there are not. */
export const BROKEN_PORTS: readonly unknown[] = [
	...[-1, 65_536, 70_000, 2 ** 31, 2 ** 53, -0.5, 80.5, Number.MAX_VALUE],
	...[null, '80', '', true, [80], {}],
];

/** JSON that is no string and stands where one belongs. */
const NOT_STRINGS: readonly unknown[] = [
	0,
	-1,
	1.5,
	1e21,
	null,
	true,
	false,
	[],
	{},
	['a'],
	{ a: 'a' },
	[[]],
	{ length: 1 },
];

/** One of these. */
export function pick<T>(draw: Draw, choices: readonly T[]): T {
	return choices[Math.floor(draw() * choices.length)] as T;
}

/** A name: ordinary, odd, or one that no registry can have; two of them joined now and then. */
export function hostileName(draw: Draw): string {
	const kind = draw();
	if (kind < 0.1) return `${pick(draw, ODD_NAMES)}${pick(draw, IMPOSSIBLE_NAMES)}`;
	if (kind < 0.4) return pick(draw, IMPOSSIBLE_NAMES);
	return kind < 0.9 ? pick(draw, ODD_NAMES) : `${pick(draw, ODD_NAMES)}${pick(draw, ODD_NAMES)}`;
}

/** A name that a registry can have, of 1 to 512 characters. */
export function oddName(draw: Draw): string {
	const name = pick(draw, ODD_NAMES);
	return name === '' ? '-' : name;
}

/** Anything that JSON can hold where a string belongs; every second one is a string. */
export function hostileText(draw: Draw): unknown {
	return draw() < 0.5 ? hostileName(draw) : pick(draw, NOT_STRINGS);
}

/** A host: every second one is of use. */
export function hostileHost(draw: Draw): unknown {
	const kind = draw();
	if (kind < 0.5)
		return pick(draw, ['10.0.0.1', '::1', 'fd00::1%eth0', 'a.example', 'ü.example', 'localhost', '__proto__']);
	return kind < 0.85 ? pick(draw, BROKEN_HOSTS) : pick(draw, NOT_STRINGS);
}

/** A port: every second one is of use. */
export function hostilePort(draw: Draw): unknown {
	return draw() < 0.5 ? pick(draw, [1, 80, 8080, 65_535]) : pick(draw, BROKEN_PORTS);
}

/** Tags, most of them strings; now and then no list at all. */
export function hostileTags(draw: Draw): unknown {
	if (draw() < 0.2) return pick(draw, [null, 'v1', 5, {}, { 0: 'v1', length: 1 }]);
	return Array.from({ length: Math.floor(draw() * 4) }, () => (draw() < 0.9 ? hostileName(draw) : hostileText(draw)));
}

/** Metadata, most of it strings; an own member `__proto__` now and then, as JSON.parse makes it. */
export function hostileMeta(draw: Draw): unknown {
	if (draw() < 0.2) return pick(draw, [null, 'rack', 5, [], [['rack', 'b']]]);
	const members = Array.from({ length: Math.floor(draw() * 4) }, () => {
		const name = draw() < 0.2 ? '__proto__' : hostileName(draw);
		return `${JSON.stringify(name)}:${JSON.stringify(draw() < 0.9 ? hostileName(draw) : hostileText(draw))}`;
	});
	return JSON.parse(`{${members.join(',')}}`);
}
