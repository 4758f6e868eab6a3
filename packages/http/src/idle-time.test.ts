import { expect, it } from 'vitest';

import { idleTimeMs } from './idle-time.ts';

it.each([
	['no header: the limit', undefined, 4000],
	['a time below the limit, less the buffer', 'timeout=3', 2000],
	['a time beyond the limit', 'timeout=60', 4000],
	['among other members', 'max=100, timeout=2', 1000],
	['what is not understood', 'for ever', 4000],
	['a time within the buffer: not at all', 'timeout=1', 0],
])('%s', (_what, header, expected) => {
	expect(idleTimeMs(4000, header, 1000)).toBe(expected);
});
