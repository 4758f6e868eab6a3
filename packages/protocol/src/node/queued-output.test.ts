import { expect, it } from 'vitest';

import { QueuedOutput, SLICE_CHARACTERS } from './queued-output.ts';

/** Characters of one, two, three and four bytes; the last are two UTF-16 units. */
const ALPHABET = ['x', '\n', 'é', '€', '😀', '\u0000'];

it('gives everything in order, in slices that each are whole characters, and knows its bytes', () => {
	// At every place of the boundary within a character.
	for (let shift = 0; shift < 2 * ALPHABET.length; shift++) {
		const queued = new QueuedOutput();
		const texts = [
			'a'.repeat(shift) + ALPHABET.join('').repeat(40_000),
			'short\n',
			'',
			'😀'.repeat(SLICE_CHARACTERS),
			'b'.repeat(SLICE_CHARACTERS),
		];
		for (const text of texts) queued.push(text);
		const all = Buffer.from(texts.join(''));
		expect(queued.bytes).toBe(all.length);
		const slices: Buffer[] = [];
		for (let slice = queued.take(); slice !== undefined; slice = queued.take()) {
			slices.push(Buffer.from(slice));
			expect(slice.length).toBeLessThanOrEqual(SLICE_CHARACTERS + 1);
			expect(slice.length).toBeGreaterThan(0);
			expect(queued.bytes).toBe(all.length - Buffer.concat(slices).length);
		}
		expect(Buffer.concat(slices).equals(all)).toBe(true);
	}
});

it('gives what is left at once, and nothing after that', () => {
	const queued = new QueuedOutput();
	const text = '€😀'.repeat(SLICE_CHARACTERS);
	queued.push(text);
	queued.push('last\n');
	const first = queued.take() ?? '';
	expect(first + queued.takeAll()).toBe(`${text}last\n`);
	expect(queued.bytes).toBe(0);
	expect(queued.take()).toBeUndefined();
	expect(queued.takeAll()).toBe('');
});
