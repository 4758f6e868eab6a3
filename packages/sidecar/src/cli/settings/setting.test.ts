import { expect, it } from 'vitest';

import { durationMessage, readDurationMs, showDuration } from './setting.ts';

it('reads a number with a unit, or milliseconds', () => {
	const read = ['0', '250', '250ms', '30s', '1.5m', '2h', '2147483647'].map(readDurationMs);
	expect(read).toEqual([0, 250, 250, 30_000, 90_000, 7_200_000, 2_147_483_647]);
});

it.each(['', 's', '-1', '1 s', '1d', '.5s', '0.4ms', '1e3', '2147483648', 'Infinity'])('refuses %j', (text) => {
	expect(readDurationMs(text)).toBeUndefined();
});

it.each([
	['10d', 'unknown unit "d"; use ms, s, m or h'],
	['5 min', 'unknown unit "min"; use ms, s, m or h'],
	['5S', 'unknown unit "S"; use ms, s, m or h'],
	['5 s', 'write the unit right behind the number'],
	['600h', 'at most 2147483647 ms, nearly 25 days'],
	['0.4ms', 'at least 1 ms, or 0'],
])('says of %j what is wrong with it', (text, fault) => {
	expect(durationMessage('--timeout', text)).toBe(
		`--timeout must be a duration such as 500ms, 10s, 2m or 1h, not ${JSON.stringify(text)}: ${fault}`,
	);
});

it('says of other text only what is accepted', () => {
	expect(durationMessage('--timeout', 'soon')).toBe(
		'--timeout must be a duration such as 500ms, 10s, 2m or 1h, not "soon"',
	);
});

it('shows a duration in the largest unit that is exact, as it can be given again', () => {
	const shown = { 0: '0', 250: '250ms', 1500: '1500ms', 90000: '90s', 120000: '2m', 604800000: '168h' };
	for (const [ms, text] of Object.entries(shown)) {
		expect(showDuration(Number(ms))).toBe(text);
		expect(readDurationMs(text)).toBe(Number(ms));
	}
});
