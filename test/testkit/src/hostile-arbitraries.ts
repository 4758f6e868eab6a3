import fc from 'fast-check';

import {
	type Draw,
	hostileHost,
	hostileMeta,
	hostileName,
	hostilePort,
	hostileTags,
	hostileText,
	IMPOSSIBLE_NAMES,
	ODD_NAMES,
	oddName,
} from './hostile.ts';

// The hostile alphabet as arbitraries. A case shrinks towards the first words of its list, and a name to fewer characters.

/** Whatever a function draws. */
export function drawn<T>(make: (draw: Draw) => T): fc.Arbitrary<T> {
	return fc
		.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }))
		.map((numbers) => make(() => numbers.next().value as number));
}

/** Any text in the place of a name: the words, and any characters at all, halves of them included. */
export const anyName: fc.Arbitrary<string> = fc.oneof(
	fc.constantFrom(...ODD_NAMES),
	fc.constantFrom(...IMPOSSIBLE_NAMES),
	drawn(hostileName),
	fc.string({ unit: 'binary', maxLength: 12 }),
	fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 }).map((units) => String.fromCharCode(...units)),
);

/** A name that a registry can have. */
export const possibleName: fc.Arbitrary<string> = drawn(oddName);

export const anyText: fc.Arbitrary<unknown> = drawn(hostileText);
export const anyHost: fc.Arbitrary<unknown> = drawn(hostileHost);
export const anyPort: fc.Arbitrary<unknown> = drawn(hostilePort);
export const anyTags: fc.Arbitrary<unknown> = drawn(hostileTags);
export const anyMeta: fc.Arbitrary<unknown> = drawn(hostileMeta);
