import { SpockError } from './spock-error.ts';

/**
 * True if the line, LF not counted, is at most `frameBytesMax` bytes of UTF-8. A line whose worst case fits (three bytes
 * for each UTF-16 unit) is not measured.
 */
export function fitsFrame(line: string, frameBytesMax: number): boolean {
	return (line.length - 1) * 3 <= frameBytesMax || Buffer.byteLength(line) - 1 <= frameBytesMax;
}

/** FRAME_TOO_LARGE: `what`, whose frame has `frameBytes` bytes, is over the limit. */
export function frameTooLargeError(what: string, frameBytes: number, frameBytesMax: number): SpockError {
	const remedy = 'raise frameBytesMax, at the sidecar and at its client, or ask for less';
	const message = `${what} of ${frameBytes} bytes is over the limit of ${frameBytesMax}: ${remedy}`;
	return new SpockError('FRAME_TOO_LARGE', message, { details: { frameBytes, frameBytesMax } });
}
