import { expect, it } from 'vitest';

import { SharedBytes } from './shared-bytes.ts';

it('one share may have half, and all together no more than all', () => {
	const bytes = new SharedBytes(100);
	const rooms = () => ['a', 'b', 'c'].map((share) => bytes.hasRoom(share, 10));
	bytes.add('a', 41);
	expect(rooms()).toEqual([false, true, true]);
	bytes.add('b', 50);
	expect(rooms()).toEqual([false, false, false]);
	bytes.add('a', -41);
	expect(rooms()).toEqual([true, false, true]);
	bytes.add('b', -50);
	expect(['a', 'b'].map((share) => bytes.hasRoom(share, 50))).toEqual([true, true]);
	expect(bytes.hasRoom('a', 51)).toBe(false);
});
