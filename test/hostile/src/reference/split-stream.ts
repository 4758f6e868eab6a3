// Written from docs/PROTOCOL.md ("Frames") to be obviously right, and from nothing else: it looks at the whole stream at
// once, so it has no chunks, no state and no fast path to be wrong in.

/** What a decoder must find in a stream, in order. */
export type Found = { readonly frame: string } | { readonly fault: 'BAD_FRAME' | 'FRAME_TOO_LARGE' };

const LF = 0x0a;
const CR = 0x0d;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Every frame and fault of a whole stream. */
export function splitStream(stream: Buffer, frameBytesMax: number): Found[] {
	const found: Found[] = [];
	let from = 0;
	for (let end = stream.indexOf(LF); end !== -1; end = stream.indexOf(LF, from)) {
		const line = stream.subarray(from, end);
		from = end + 1;
		const frame = line.at(-1) === CR ? line.subarray(0, -1) : line;
		if (frame.length === 0) continue;
		found.push(frame.length > frameBytesMax ? { fault: 'FRAME_TOO_LARGE' } : decode(frame));
	}
	// No end has come, and none could make it fit any more: the byte past the limit may still be a CR.
	if (stream.length - from > frameBytesMax + 1) found.push({ fault: 'FRAME_TOO_LARGE' });
	return found;
}

function decode(frame: Buffer): Found {
	try {
		return { frame: utf8.decode(frame) };
	} catch {
		return { fault: 'BAD_FRAME' };
	}
}
