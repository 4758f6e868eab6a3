import { isUtf8 } from 'node:buffer';

import { KEY_ENTRIES_BYTES_MAX, KEY_VALUE_BYTES_MAX, type KeyEntry, type KeyQuery, SpockError } from '@spock/protocol';

/** What the largest value takes in base64: text may not take more, or it would not fit into a frame. */
const TEXT_BYTES_MAX = Math.ceil(KEY_VALUE_BYTES_MAX / 3) * 4;
/** JSON writes a byte as six characters at the most. */
const ESCAPED_BYTE_LENGTH_MAX = 6;

/**
 * A key with its value as the protocol writes it: text where the bytes are UTF-8, else base64. Frozen. Throws
 * FRAME_TOO_LARGE for a value over KEY_VALUE_BYTES_MAX.
 */
export function toKeyEntry(key: string, bytes: Buffer): KeyEntry {
	if (bytes.length > KEY_VALUE_BYTES_MAX) {
		const message = `the value of ${JSON.stringify(key)} has ${bytes.length} bytes, over the limit of ${KEY_VALUE_BYTES_MAX}`;
		throw new SpockError('FRAME_TOO_LARGE', message, {
			details: { key, valueBytes: bytes.length, valueBytesMax: KEY_VALUE_BYTES_MAX },
		});
	}
	if (!isUtf8(bytes)) return base64Entry(key, bytes);
	const value = bytes.toString('utf8');
	const mayBeLong = bytes.length * ESCAPED_BYTE_LENGTH_MAX > TEXT_BYTES_MAX;
	if (mayBeLong && Buffer.byteLength(JSON.stringify(value)) > TEXT_BYTES_MAX) return base64Entry(key, bytes);
	return Object.freeze({ key, value });
}

function base64Entry(key: string, bytes: Buffer): KeyEntry {
	return Object.freeze({ key, value: bytes.toString('base64'), encoding: 'base64' });
}

/**
 * The answer to a query: sorted by key in the order of UTF-16 units, which every process agrees on, and frozen. Throws
 * FRAME_TOO_LARGE when the entries together are longer than a frame may carry.
 */
export function sortEntries({ key }: KeyQuery, entries: KeyEntry[]): readonly KeyEntry[] {
	const entriesBytes = entries.length > 1 ? Buffer.byteLength(JSON.stringify(entries)) : 0;
	if (entriesBytes > KEY_ENTRIES_BYTES_MAX) {
		const message = `the ${entries.length} keys under ${JSON.stringify(key)} take ${entriesBytes} bytes, over the limit of ${KEY_ENTRIES_BYTES_MAX}: ask for a longer prefix`;
		throw new SpockError('FRAME_TOO_LARGE', message, {
			details: { key, entries: entries.length, entriesBytes, entriesBytesMax: KEY_ENTRIES_BYTES_MAX },
		});
	}
	entries.sort((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0));
	return Object.freeze(entries);
}

/** True if two answers, each sorted by key, say the same. */
export function isSameEntries(before: readonly KeyEntry[], after: readonly KeyEntry[]): boolean {
	if (before === after) return true;
	if (before.length !== after.length) return false;
	return before.every((entry, index) => {
		const other = after[index] as KeyEntry;
		return entry.key === other.key && entry.value === other.value && entry.encoding === other.encoding;
	});
}
