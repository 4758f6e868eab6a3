import { KEY_VALUE_BYTES_MAX } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { LocalKeyWatches, readKeys } from './local-keys.ts';
import { parseLocalFile, ServicesFileError } from './services-file.ts';

const fail = (key: string, reason: string): never => {
	throw new Error(`${key}: ${reason}`);
};

describe('the keys of a services file', () => {
	it('are text as it is, anything else as its JSON, and nothing as an empty value', () => {
		const text = `
services: {}
keys:
  app/text: hello
  app/quoted: "5"
  app/number: 5
  app/limits: { max: 5, names: [a, b] }
  app/nothing:
`;
		const { keys } = parseLocalFile(text, 'f');
		expect([...keys.values()].map(({ key, value }) => [key, value])).toEqual([
			['app/text', 'hello'],
			['app/quoted', '5'],
			['app/number', '5'],
			['app/limits', '{"max":5,"names":["a","b"]}'],
			['app/nothing', ''],
		]);
	});

	it('are read from JSON alike, and are not needed', () => {
		const json = '{"services":{},"keys":{"a":{"max":5},"b":"text"}}';
		expect(parseLocalFile(json, 'f').keys).toEqual(parseLocalFile(`# YAML\n${json}`, 'f').keys);
		expect(parseLocalFile('{"services":{}}', 'f').keys.size).toBe(0);
	});

	it('that are wrong are refused with their place', () => {
		for (const [text, place] of [
			['services: {}\nkeys: [a]\n', 'f:2:7: keys must be an object'],
			['services: {}\nkeys:\n  "": x\n', 'f:3:7: keys.: a key needs a name of 1 to 512 characters'],
			[`{"services":{},"keys":{"${'k'.repeat(513)}":1}}`, 'a key needs a name of 1 to 512 characters'],
		] as const) {
			expect(() => parseLocalFile(text, 'f')).toThrow(ServicesFileError);
			expect(() => parseLocalFile(text, 'f')).toThrow(place);
		}
		expect(() => readKeys({ big: 'x'.repeat(KEY_VALUE_BYTES_MAX + 1) }, fail)).toThrow('over the limit');
	});
});

describe('watches of local keys', () => {
	function watch(watches: LocalKeyWatches, query: { key: string; prefix?: boolean }) {
		const answers: string[][] = [];
		const errors: string[] = [];
		const { stop } = watches.watch(query, {
			answered: (entries) => answers.push(entries.map(({ key, value }) => `${key}=${value}`)),
			failed: ({ code }) => errors.push(code),
		});
		return { answers, errors, stop };
	}

	it('answer at once, and again with every content of the file', () => {
		const watches = new LocalKeyWatches(readKeys({ 'app/b': 2, 'app/a': 1, apple: 0 }, fail));
		const one = watch(watches, { key: 'app/a' });
		const all = watch(watches, { key: 'app/', prefix: true });
		expect(one.answers).toEqual([['app/a=1']]);
		expect(all.answers).toEqual([['app/a=1', 'app/b=2']]);
		watches.replace(readKeys({ 'app/c': 3 }, fail));
		expect(one.answers.at(-1)).toEqual([]);
		expect(all.answers.at(-1)).toEqual(['app/c=3']);
		one.stop();
		watches.replace(readKeys({ 'app/a': 9 }, fail));
		expect(one.answers).toHaveLength(2);
		watches.close();
	});

	it('over a prefix with more than a frame carries fail, and answer when it is shorter', () => {
		const half = 'x'.repeat(KEY_VALUE_BYTES_MAX);
		const watches = new LocalKeyWatches(readKeys({ 'app/a': half, 'app/b': half }, fail));
		const all = watch(watches, { key: 'app/', prefix: true });
		expect(all).toMatchObject({ answers: [], errors: ['FRAME_TOO_LARGE'] });
		watches.replace(readKeys({ 'app/a': 1 }, fail));
		expect(all.answers).toEqual([['app/a=1']]);
	});
});
