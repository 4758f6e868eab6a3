import { KEY_ENTRIES_BYTES_MAX, KEY_VALUE_BYTES_MAX } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { isSameEntries, sortEntries, toKeyEntry } from './key-entry.ts';

const entry = (key: string, value: string) => toKeyEntry(key, Buffer.from(value));

describe('the value of a key', () => {
	it('is text where its bytes are UTF-8', () => {
		expect(entry('a', '{"max":5}')).toEqual({ key: 'a', value: '{"max":5}' });
		expect(entry('a', 'höflich \u{1F596}\n\u0000')).toEqual({ key: 'a', value: 'höflich \u{1F596}\n\u0000' });
		expect(entry('a', '')).toEqual({ key: 'a', value: '' });
		expect(Object.isFrozen(entry('a', ''))).toBe(true);
	});

	it('is base64 where they are not, and every byte comes back', () => {
		const bytes = Buffer.from([0, 0xff, 0x80, 0x0a]);
		const { value, encoding } = toKeyEntry('a', bytes);
		expect(encoding).toBe('base64');
		expect(Buffer.from(value, 'base64')).toEqual(bytes);
	});

	it('of the largest size fits into a frame whatever its bytes are; text that JSON makes too long is base64', () => {
		for (const bytes of [
			Buffer.alloc(KEY_VALUE_BYTES_MAX, 'a'),
			Buffer.alloc(KEY_VALUE_BYTES_MAX, 0x01),
			Buffer.alloc(KEY_VALUE_BYTES_MAX, 0xff),
		]) {
			const one = toKeyEntry('k'.repeat(512), bytes);
			expect(Buffer.byteLength(JSON.stringify(one))).toBeLessThan(KEY_ENTRIES_BYTES_MAX);
			expect(Buffer.from(one.value, one.encoding ?? 'utf8').equals(bytes)).toBe(true);
		}
		expect(toKeyEntry('a', Buffer.alloc(KEY_VALUE_BYTES_MAX, 'a'))).not.toHaveProperty('encoding');
		expect(toKeyEntry('a', Buffer.alloc(KEY_VALUE_BYTES_MAX, 0x01))).toHaveProperty('encoding', 'base64');
	});

	it('over the limit is refused, with its size', () => {
		expect(() => toKeyEntry('big', Buffer.alloc(KEY_VALUE_BYTES_MAX + 1))).toThrow(
			expect.objectContaining({
				code: 'FRAME_TOO_LARGE',
				details: { key: 'big', valueBytes: KEY_VALUE_BYTES_MAX + 1, valueBytesMax: KEY_VALUE_BYTES_MAX },
			}),
		);
	});
});

describe('the keys of a prefix', () => {
	it('are sorted by UTF-16 units, and frozen', () => {
		const sorted = sortEntries({ key: '', prefix: true }, [entry('b', '1'), entry('ä', '2'), entry('B', '3')]);
		expect(sorted.map(({ key }) => key)).toEqual(['B', 'b', 'ä']);
		expect(Object.isFrozen(sorted)).toBe(true);
	});

	it('are refused together when they are longer than a frame may carry', () => {
		const half = 'x'.repeat(KEY_VALUE_BYTES_MAX);
		expect(sortEntries({ key: 'a' }, [entry('a1', half)])).toHaveLength(1);
		expect(() => sortEntries({ key: 'a', prefix: true }, [entry('a1', half), entry('a2', half)])).toThrow(
			expect.objectContaining({ code: 'FRAME_TOO_LARGE' }),
		);
	});

	it('are the same if names, values and their encoding are', () => {
		const before = [entry('a', '1'), entry('b', '2')];
		expect(isSameEntries(before, [entry('a', '1'), entry('b', '2')])).toBe(true);
		expect(isSameEntries(before, [entry('a', '1'), entry('b', '3')])).toBe(false);
		expect(isSameEntries(before, [entry('a', '1'), entry('c', '2')])).toBe(false);
		expect(isSameEntries(before, [entry('a', '1')])).toBe(false);
		expect(isSameEntries([toKeyEntry('a', Buffer.from([0xff]))], [entry('a', '/w==')])).toBe(false);
	});
});
