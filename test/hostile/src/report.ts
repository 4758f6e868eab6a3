import type { FuzzCase } from './generate/stream.ts';
import type { Failure } from './work.ts';

const SHOWN_BYTES_MAX = 4096;

/** For people: what failed, the bytes of the case and of the smallest one, and how to see it again. */
export function describeFailure({ seed, check, found, fuzzCase, smallest }: Failure): string {
	const origin = seed === undefined ? 'a kept case' : `seed ${seed}`;
	const replay = seed === undefined ? '' : `\nreplay: npm run suite -- fuzz --seed ${seed}`;
	return `FAILED: ${check} (${origin})\n${found}\n\nthe smallest case:\n${describeCase(smallest)}\n\nthe whole case:\n${describeCase(fuzzCase)}${replay}`;
}

/** A case with its bytes as text and, where that hides something, in hex. */
export function describeCase({ reader, stream, frameBytesMax, cuts }: FuzzCase): string {
	// Over the channel of a process a Buffer comes as bare bytes.
	const bytes = Buffer.from(stream);
	const shown = bytes.subarray(0, SHOWN_BYTES_MAX);
	const more = stream.length > shown.length ? `… (${stream.length} bytes)` : '';
	return [
		`read by a ${reader}, frameBytesMax ${frameBytesMax}, cut at [${cuts.join(', ')}]`,
		`text: ${JSON.stringify(shown.toString('utf8'))}${more}`,
		`hex:  ${shown.toString('hex')}${more}`,
	].join('\n');
}
