import { expect, it } from 'vitest';

import { NEAREST_NAMES_MAX, nearestName } from './nearest-name.ts';

it.each([
	['barrista', ['barista', 'till'], 'barista'],
	['brista', ['till', 'barista'], 'barista'],
	['baritsa', ['barista'], 'barista'],
	['BARISTA', ['barista'], 'barista'],
	['barist', ['baristas', 'barista'], 'barista'],
	['bari', ['till', 'barista'], 'barista'],
	['barista-v2-eu', ['barista'], 'barista'],
	['ba', ['barista'], undefined],
	['ab', ['cd', 'xy'], undefined],
	['xxx', ['yyy', 'till'], undefined],
	['', ['a', 'barista'], undefined],
	['barista', [], undefined],
])('of %j among %j is meant %j', (name, names, meant) => {
	expect(nearestName(name, names)).toBe(meant);
});

it('looks at so many names and no more, however long they are', () => {
	const names = Array.from(
		{ length: NEAREST_NAMES_MAX },
		(_, index) => 'x'.repeat(500) + String(index).padStart(12, '0'),
	);
	expect(nearestName(`${'x'.repeat(500)}y`, [...names, `${'x'.repeat(500)}z`])).toBeUndefined();
	expect(nearestName(`${'x'.repeat(500)}000000000007y`, names)).toBe(names[7]);
});
