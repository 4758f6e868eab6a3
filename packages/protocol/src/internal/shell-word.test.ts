import { spawnSync } from 'node:child_process';

import fc from 'fast-check';
import { expect, it } from 'vitest';

import { shellWord } from './shell-word.ts';

it('is the same word to a shell, whatever it holds', () => {
	// Not a NUL, which no argument can hold.
	const word = fc.string({ unit: 'binary', maxLength: 12 }).filter((text) => !text.includes('\0'));
	fc.assert(
		fc.property(fc.array(word, { minLength: 50, maxLength: 50 }), (words) => {
			const line = `printf '%s\\0' ${words.map(shellWord).join(' ')}`;
			const { stdout } = spawnSync('sh', ['-c', line], { encoding: 'utf8' });
			expect(stdout.split('\0').slice(0, -1)).toEqual(words.map((one) => Buffer.from(one).toString()));
		}),
		{ numRuns: 5 },
	);
});

it('is shown as it is where no shell takes it apart', () => {
	expect(['barista', '/uds/sidecar.sock', '127.0.0.1:4000', 'tls://a:1', 'app/limits'].map(shellWord)).toEqual([
		...['barista', '/uds/sidecar.sock', '127.0.0.1:4000', 'tls://a:1', 'app/limits'],
	]);
	expect(['', 'a b', `it's`, '$HOME', '~', '*', '{"total":5}'].map(shellWord)).toEqual([
		...[`''`, `'a b'`, `'it'\\''s'`, `'$HOME'`, `'~'`, `'*'`, `'{"total":5}'`],
	]);
});
