import { expect, it } from 'vitest';

import { readDurationMs } from './setting.ts';

it('reads a number with a unit, or milliseconds', () => {
	const read = ['0', '250', '250ms', '30s', '1.5m', '2h', '2147483647'].map(readDurationMs);
	expect(read).toEqual([0, 250, 250, 30_000, 90_000, 7_200_000, 2_147_483_647]);
});

it.each(['', 's', '-1', '1 s', '1d', '.5s', '0.4ms', '1e3', '2147483648', 'Infinity'])('refuses %j', (text) => {
	expect(readDurationMs(text)).toBeUndefined();
});
