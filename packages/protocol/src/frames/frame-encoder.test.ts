import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ID_MAX } from '../foundation/limits.ts';
import { encodePayload, FrameHeads, fitsFrame, frameTooLargeError } from './frame-encoder.ts';

describe('FrameHeads', () => {
	it('print the same beginning as a template does, in any order of ids', () => {
		const heads = new FrameHeads();
		for (const id of [0, 7, 999, 1000, 1001, 1999, 2000, 999_999, 1_000_000, 5, ID_MAX - 1, ID_MAX, 0, 1000]) {
			expect(heads.head(id)).toBe(`{"id":${id}`);
		}
	});
});

describe('a payload', () => {
	it('of nothing is null', () => {
		expect(encodePayload(undefined)).toBe('null');
	});

	it.each([() => 1, Symbol('s'), 1n])('that JSON cannot carry is a TypeError', (data) => {
		expect(() => encodePayload(data)).toThrow(TypeError);
	});

	it('that is a function is named as one', () => {
		expect(() => encodePayload(() => 1)).toThrow('data must be a JSON value, not a function');
	});
});

describe('the limit of a frame', () => {
	it('is in bytes of UTF-8, without the LF', () => {
		const line = fc.string({ unit: 'grapheme' }).map((text) => `${text}\n`);
		fc.assert(
			fc.property(line, fc.integer({ min: -3, max: 3 }), (line, more) => {
				const bytes = Buffer.byteLength(line) - 1;
				expect(fitsFrame(line, bytes + more)).toBe(more >= 0);
			}),
		);
	});

	it('says of what is over it how long it is, and what to do', () => {
		expect(frameTooLargeError('a reply', 12, 10)).toMatchObject({
			code: 'FRAME_TOO_LARGE',
			message: expect.stringMatching(/^a reply of 12 bytes is over the limit of 10: raise frameBytesMax/),
			details: { frameBytes: 12, frameBytesMax: 10 },
		});
	});
});
