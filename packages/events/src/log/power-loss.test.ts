import { describe, expect, it } from 'vitest';

import { losePowerOften } from '../../test/lose-power.ts';

describe('a loss of power', () => {
	it.each([1, 2, 3, 4, 5, 6])('leaves a log that holds all it said was on disk (seed %i)', async (seed) => {
		const { images, recovered } = await losePowerOften({ seed, imagesPerOperation: 2 });
		expect(images).toBeGreaterThan(50);
		expect(recovered).toBeGreaterThan(0);
	});
});
