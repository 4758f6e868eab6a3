import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { parseServicesFile, readLocalContent, ServicesFileError } from './services-file.ts';

const refusal = (text: string): ServicesFileError => {
	try {
		parseServicesFile(text, 'f');
	} catch (error) {
		expect(error).toBeInstanceOf(ServicesFileError);
		return error as ServicesFileError;
	}
	throw new Error('the file was accepted');
};

describe('a services file', () => {
	it('in JSON, with every member and with none but host and port', () => {
		const text = JSON.stringify({
			services: {
				barista: [
					{
						host: '10.0.0.2',
						port: 1,
						id: 'b',
						tags: ['v1'],
						meta: { rack: '7' },
						weight: 2.5,
						status: 'warning',
						zone: 'z',
						datacenter: 'dc',
					},
					{ host: '10.0.0.1', port: 8765 },
				],
				empty: [],
			},
		});
		const services = parseServicesFile(text, 'f');
		expect([...services.keys()]).toEqual(['barista', 'empty']);
		expect(services.get('barista')).toEqual([
			{
				instance: '10.0.0.1:8765',
				host: '10.0.0.1',
				port: 8765,
				weight: 1,
				status: 'passing',
				tags: [],
				meta: {},
				zone: null,
				datacenter: null,
			},
			{
				instance: 'b',
				host: '10.0.0.2',
				port: 1,
				weight: 2.5,
				status: 'warning',
				tags: ['v1'],
				meta: { rack: '7' },
				zone: 'z',
				datacenter: 'dc',
			},
		]);
		expect(parseServicesFile(JSON.stringify(JSON.parse(text), null, '\t'), 'f')).toEqual(services);
	});

	it('in YAML, with comments and anchors', () => {
		const text = `
# services of this pod
services:
  barista:
    - &one { host: 1.2.3.4, port: 8765, tags: &tags [v1] }
  waiter:
    - host: 1.2.3.5
      port: 80
      tags: *tags
`;
		expect(parseServicesFile(text, 'f').get('waiter')).toMatchObject([{ host: '1.2.3.5', port: 80, tags: ['v1'] }]);
	});

	it('the example is good, and its barista is at 127.0.0.1:8765', () => {
		const file = new URL('../../../../../examples/services.json', import.meta.url);
		const services = parseServicesFile(readFileSync(file, 'utf8'), 'services.json');
		expect(services.get('barista')).toMatchObject([{ host: '127.0.0.1', port: 8765, status: 'passing' }]);
		const statuses = new Set([...services.values()].flat().map(({ status }) => status));
		expect([...statuses].sort()).toEqual(['critical', 'passing', 'warning']);
	});

	it.each([
		['an empty file', '', 1, 1, /the file must be an object/],
		['a list', '[]', 1, 1, /the file must be an object/],
		['no services', '{}', 1, 1, /services must be an object/],
		['a comma that is missing', '{ "services": {\n "a": []\n "b": [] } }', 3, 2, /./],
		[
			'a misspelt member of the file',
			'services: {}\nserivces: {}',
			2,
			11,
			/unknown member serivces; did you mean "services"\?$/,
		],
		['an unknown member', 'services: {}\nzebra: {}', 2, 8, /unknown member zebra; expected one of: services, keys/],
		['services that are no list', 'services:\n  a: 7', 2, 6, /services\.a must be a list/],
		['an instance that is none', 'services:\n  a:\n    - 7', 3, 7, /services\.a\[0\] must be an object/],
		['no host', 'services:\n  a:\n    - port: 7', 3, 7, /a\[0\]\.host/],
		['a wrong host', 'services:\n  a:\n    - port: 7\n      host: 5', 4, 13, /a\[0\]\.host/],
		['a port of 0', 'services:\n  a:\n    - host: h\n      port: 0', 4, 13, /port from 1 to 65535/],
		['a port in quotes', 'services:\n  a:\n    - host: h\n      port: "80"', 4, 13, /port from 1 to 65535/],
		['a negative weight', 'services: { a: [{ host: h, port: 1,\n weight: -1 }] }', 2, 10, /weight/],
		['a weight that is no number', 'services: { a: [{ host: h, port: 1,\n weight: .nan }] }', 2, 10, /weight/],
		['an unheard status', 'services: { a: [{ host: h, port: 1,\n status: fine }] }', 2, 10, /one of passing/],
		['tags that are no list', 'services: { a: [{ host: h, port: 1,\n tags: v1 }] }', 2, 8, /tags/],
		['meta that is no text', 'services: { a: [{ host: h, port: 1, meta: {\n rack: 7 } }] }', 2, 8, /meta\.rack/],
		[
			'a misspelt member',
			'services: { a: [{ host: h, port: 1,\n wieght: 7 }] }',
			2,
			10,
			/wieght; did you mean "weight"\?/,
		],
		['an empty id', 'services: { a: [{ host: h, port: 1,\n id: "" }] }', 2, 6, /id/],
		[
			'an id that repeats',
			'services:\n  a:\n    - { host: h, port: 1 }\n    - { host: i, port: 1, id: "h:1" }',
			4,
			7,
			/a\[1\] repeats the id h:1/,
		],
		['a name that repeats', 'services:\n  a: []\n  a: []', 3, 3, /unique/i],
		['a name that is too long', `services:\n  ${'x'.repeat(513)}: []`, 2, 518, /1 to 512/],
		['a name with a control character', 'services:\n  "a\\nb": []', 2, 11, /without control characters/],
		['two documents', 'services: {}\n---\nservices: {}', 2, 1, /./],
	])('with %s is refused with line and column', (_name, text, line, column, reason) => {
		const error = refusal(text);
		expect(error.message).toMatch(reason);
		expect(`${error.line}:${error.column}`).toBe(`${line}:${column}`);
		expect(error.message).toBe(`f:${line}:${column}: ${error.reason}`);
	});

	it('a file that is called .json is told of in the words of JSON, and where it stops being that', () => {
		const text = '{ "services": {\n "a": [}\n}';
		expect(() => parseServicesFile(text, 'a.json')).toThrow(
			/^a\.json:2:8: invalid JSON: expected a value or "]", not "}"$/,
		);
		const open = '{\n  "services": {\n    "a": [\n      { "host": "h", "port": 1 }\n    ],\n    "b": [\n  }\n}\n';
		expect(() => parseServicesFile(open, 'a.json')).toThrow(
			/^a\.json:7:3: invalid JSON: expected a value or "]", not "}"$/,
		);
		const unended = '{\n  "services": {\n    "a": []\n  }\n';
		expect(() => parseServicesFile(unended, 'a.json')).toThrow(
			/^a\.json:5:1: invalid JSON: expected "," or "}", not the end$/,
		);
		expect(() => parseServicesFile(text, 'a.yaml')).toThrow(/^a\.yaml:2:\d+: Flow/);
	});

	it.each([
		[
			'a comma before a bracket',
			'{"services":{"a":[{"host":"h","port":1},]}}',
			/^a\.json:1:41: invalid JSON: .* after the comma/,
		],
		['a comment', '# one\n{"services":{}}', /^a\.json:1:1: invalid JSON: expected a value, not "#"/],
		['YAML', 'services: {}', /^a\.json:1:1: invalid JSON/],
	])('%s is refused in a file that is called .json, and taken in others', (_name, text, message) => {
		expect(() => parseServicesFile(text, 'a.json')).toThrow(message);
		expect(() => parseServicesFile(text, 'a.yaml')).not.toThrow();
	});

	it('may begin with a byte order mark', () => {
		expect(parseServicesFile('\ufeff{"services":{"a":[]}}', 'a.json').size).toBe(1);
	});

	it('aliases that multiply are refused', () => {
		const levels = Array.from({ length: 9 }, (_, level) => {
			const before = level === 0 ? 'x' : `*l${level - 1}`;
			return `l${level}: &l${level} [${Array.from({ length: 9 }, () => before).join(', ')}]`;
		});
		expect(refusal(`${levels.join('\n')}\nservices: {}`).message).toMatch(/alias/i);
	});

	it('the names of objects in JavaScript are names like others', () => {
		const text = '{ "services": { "__proto__": [{ "host": "h", "port": 1 }], "constructor": [] } }';
		expect([...parseServicesFile(text, 'f').keys()].sort()).toEqual(['__proto__', 'constructor']);
	});
});

describe('services that are given', () => {
	it('are read as those of a file, and a wrong one is named', () => {
		expect(readLocalContent({ services: { a: [{ host: 'h', port: 1 }] } }).services.get('a')).toMatchObject([
			{ instance: 'h:1' },
		]);
		expect(() => readLocalContent({ services: { a: [{ host: 'h', port: 0 }] } })).toThrow(
			new TypeError('services.a[0].port must be a port from 1 to 65535'),
		);
	});

	it('says the same of JSON as of the YAML that it is, duplicate members too', () => {
		const bad = [
			'{"services":{"a":[{"host":"h","port":1}],"a":[]}}',
			'{"services":{"a":[{"host":"h","host":"i","port":1}]}}',
			'{"services":{"a":[{"host":"h","port":0}]}}',
			'{"services":{"a:\\"":[{"host":"h","port":"x"}]}}',
			'{"services":{},"other":1}',
			'{"services":',
		];
		for (const text of bad) expect(() => parseServicesFile(text, 'f')).toThrow(/^f:\d+:\d+: /);
		const good = '{"services":{"a:\\"b\\\\":[{"host":"h-1","port":1,"meta":{"a:b":"\\":"}}]}}';
		expect(parseServicesFile(good, 'f')).toEqual(parseServicesFile(`# YAML\n${good}`, 'f'));
	});

	it('reads a file of a hundred thousand instances without a tree of its places', () => {
		const list = (service: number): object[] =>
			Array.from({ length: 10 }, (_, index) => ({ id: `${service}-${index}`, host: `10.0.0.${index}`, port: 80 }));
		const services = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`s${index}`, list(index)]));
		const read = parseServicesFile(JSON.stringify({ services }), 'f');
		expect(read.size).toBe(10_000);
		expect(read.get('s9999')).toHaveLength(10);
	});
});
