import { describe, expect, it } from 'vitest';

import { losePowerOften } from '../../test/lose-power.ts';

const IMAGES = 10_000;

describe('ten thousand losses of power', () => {
	it('leave logs that hold all they said was on disk', async () => {
		let images = 0;
		for (let seed = 1000; images < IMAGES; seed++) {
			images += (await losePowerOften({ seed, imagesPerOperation: 6 })).images;
		}
		expect(images).toBeGreaterThanOrEqual(IMAGES);
	});
});
