import type { Writable } from 'node:stream';

import { headText, LENGTH_BYTES, readNumber, UTF8_FLAG } from './frame-format.ts';

/** Writes the frames of a tick. Their lengths count characters, which are bytes as long as all of it is ASCII. */
export function writeFrames(stream: Writable, text: string, byteCount: number): void {
	if (byteCount === text.length) stream.write(text, 'latin1');
	else stream.write(withByteLengths(text), 'utf8');
}

function withByteLengths(text: string): string {
	let result = '';
	let from = 0;
	while (from < text.length) {
		const head = Buffer.from(text.slice(from, from + LENGTH_BYTES + 1), 'latin1');
		const end = from + LENGTH_BYTES + readNumber(head, 0);
		const behindKind = text.slice(from + LENGTH_BYTES + 1, end);
		const byteCount = Buffer.byteLength(behindKind);
		const kind = head[LENGTH_BYTES] as number;
		result += headText(byteCount === behindKind.length ? kind : kind | UTF8_FLAG, byteCount + 1) + behindKind;
		from = end;
	}
	return result;
}
