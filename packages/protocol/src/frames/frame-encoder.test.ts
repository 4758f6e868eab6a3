import { describe, expect, it } from 'vitest';

import { ID_MAX } from '../foundation/limits.ts';
import { FrameHeads } from './frame-encoder.ts';

describe('FrameHeads', () => {
	it('print the same beginning as a template does, in any order of ids', () => {
		const heads = new FrameHeads();
		for (const id of [0, 7, 999, 1000, 1001, 1999, 2000, 999_999, 1_000_000, 5, ID_MAX - 1, ID_MAX, 0, 1000]) {
			expect(heads.head(id)).toBe(`{"id":${id}`);
		}
	});
});
