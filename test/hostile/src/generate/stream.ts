import type { SeededRandom } from '../random.ts';
import { clientFrame } from './client-frames.ts';
import { nestedText } from './json-text.ts';
import { sidecarFrame } from './sidecar-frames.ts';

/** Which side reads the stream. */
export type Reader = 'sidecar' | 'client';

/** One case: a stream of bytes, who reads it, and where its chunks end. */
export interface FuzzCase {
	readonly reader: Reader;
	readonly stream: Buffer;
	readonly frameBytesMax: number;
	/** Where chunks end, ascending; the end of the stream is always one. */
	readonly cuts: readonly number[];
}

/** The shortest limit that options allow. */
const FRAME_BYTES_MAX_SMALL = 1024;
const FRAME_BYTES_MAX_TINY = 24;
const bytes = (...codes: number[]): Buffer => Buffer.from(codes);
/** Bytes that mean something to a splitter, a decoder of UTF-8 or a parser. */
const SPECIAL: readonly Buffer[] = [
	...[
		'\r',
		'\n',
		'\r\n',
		'\n\r',
		'\0',
		'\ufeff',
		'\u2028',
		'\u2029',
		'"',
		'\\',
		'{',
		'}',
		'[',
		']',
		',',
		':',
		'0',
		'-',
	],
	...['{"id":', '{"id":1', '{"id":01', '{"id":-0', '{"id":1e0', '{"id":4294967296', '"__proto__":', '{"id":1.0'],
].map((text) => Buffer.from(text));
/** No UTF-8: lone continuation, overlong, surrogate, past U+10FFFF, cut off, never used. */
const ILL: readonly Buffer[] = [
	bytes(0x80),
	bytes(0xc0, 0xaf),
	bytes(0xe0, 0x80, 0xaf),
	bytes(0xed, 0xa0, 0x80),
	bytes(0xf4, 0x90, 0x80, 0x80),
	bytes(0xe2, 0x82),
	bytes(0xff),
	bytes(0xfe, 0xff),
];
const ENDS: readonly Buffer[] = ['\n', '\n', '\n', '\n', '\n', '\n', '\r\n', '\r\r\n', '\n\n', '\n\r\n', '\r'].map(
	(text) => Buffer.from(text),
);

const LINE_END = Buffer.from('\n');
/** From a client that reads the shortest frames that there are: whatever it asks, no answer may be longer. */
const SHORT_HELLO = Buffer.from('{"id":30,"func":"hello","data":{"versions":[1],"frameBytesMax":1024}}');

/** The case of a seed. `corpus` are frames to begin from, besides those that are made. */
export function makeCase(random: SeededRandom, corpus: readonly Buffer[]): FuzzCase {
	const reader: Reader = random.oneIn(2) ? 'sidecar' : 'client';
	const limits = random.below(64);
	const frameBytesMax = limits === 0 ? FRAME_BYTES_MAX_TINY : limits < 8 ? FRAME_BYTES_MAX_SMALL : 1 << 20;
	const parts: Buffer[] = [];
	const frames = random.oneIn(16) ? random.between(1, 2) : random.between(4, 40);
	if (reader === 'sidecar' && random.oneIn(4)) parts.push(SHORT_HELLO, LINE_END);
	for (let frame = 0; frame < frames; frame++) {
		// Ends stand between: every other part is a line.
		const earlier = parts[2 * random.below(frames)];
		if (reader === 'sidecar' && random.oneIn(8)) parts.push(...makeTwins(random));
		const line = random.oneIn(8) && earlier !== undefined ? renumber(random, earlier) : undefined;
		parts.push(line ?? makeLine(random, reader, corpus, frameBytesMax), random.pick(ENDS));
	}
	// Just as many as a sidecar bears in a row, or one more or less.
	if (random.oneIn(16)) parts.push(Buffer.from('\n'), Buffer.from('no JSON\n'.repeat(random.between(14, 17))));
	if (random.oneIn(4)) parts.pop();
	const stream = Buffer.concat(parts);
	return { reader, stream, frameBytesMax, cuts: makeCuts(random, stream.length) };
}

function makeLine(random: SeededRandom, reader: Reader, corpus: readonly Buffer[], frameBytesMax: number): Buffer {
	const kind = random.below(32);
	if (kind === 0 && random.oneIn(4)) return Buffer.from(nestedText(random));
	if (kind === 1) return Buffer.from(Array.from({ length: random.below(40) }, () => random.below(256)));
	const line =
		kind < 5 ? random.pick(corpus) : Buffer.from(reader === 'sidecar' ? clientFrame(random) : sidecarFrame(random));
	if (kind < 8) return mutate(random, line);
	return frameBytesMax <= FRAME_BYTES_MAX_SMALL && random.oneIn(3) ? padTo(random, line, frameBytesMax) : line;
}

/** A line that came before, under another id: both sides remember frames by what stands behind the id. */
function renumber(random: SeededRandom, line: Buffer): Buffer | undefined {
	const [, head, rest] = /^(\{"id":)\d+([\s\S]*)$/.exec(line.toString('latin1')) ?? [];
	return rest === undefined ? undefined : Buffer.from(`${head}${random.below(25)}${rest}`, 'latin1');
}

/** What may follow the digits of an id: the first is no part of it, the others are, whether or not they change it. */
const ID_TAILS: readonly string[] = ['', '.0000000000000001', '.0000000000000001', '.0', 'e0', '0'];

/** A request twice, with ids that go on in the same way behind other digits: a fast path reads the digits alone. */
function makeTwins(random: SeededRandom): Buffer[] {
	const [, rest] = /^\{"id":\d+(,[\s\S]*)$/.exec(clientFrame(random)) ?? [];
	if (rest === undefined) return [];
	const tail = random.pick(ID_TAILS);
	const ids = [random.between(1, 24), random.pick([0, 0, 25, 429496729, 4294967295])];
	return ids.flatMap((id) => [Buffer.from(`{"id":${id}${tail}${rest}`), LINE_END]);
}

/** One to three changes of bytes. */
function mutate(random: SeededRandom, line: Buffer): Buffer {
	let mutated = line;
	for (let change = random.between(1, 3); change > 0; change--) {
		const at = random.below(mutated.length + 1);
		const end = Math.min(mutated.length, at + random.between(1, 8));
		const [before, chosen, after] = [mutated.subarray(0, at), mutated.subarray(at, end), mutated.subarray(end)];
		const kind = random.below(6);
		if (kind === 0) mutated = Buffer.concat([before, after]);
		else if (kind === 1) mutated = Buffer.concat([before, chosen, chosen, after]);
		else if (kind === 2) mutated = Buffer.concat([before, random.pick(SPECIAL), chosen, after]);
		else if (kind === 3) mutated = Buffer.concat([before, random.pick(ILL), after]);
		else if (kind === 4) mutated = Buffer.from(before);
		else mutated = Buffer.concat([before, bytes(random.below(256)), after]);
	}
	return mutated;
}

/** The frame with white space to just the limit, or a byte beside it. */
function padTo(random: SeededRandom, line: Buffer, frameBytesMax: number): Buffer {
	const length = frameBytesMax + random.between(-1, 2);
	if (line.length >= length) return line;
	return Buffer.concat([line, Buffer.alloc(length - line.length, ' ')]);
}

function makeCuts(random: SeededRandom, length: number): number[] {
	const kind = random.below(4);
	if (kind === 0) return [];
	if (kind === 1 && length < 600) return Array.from({ length: Math.max(0, length - 1) }, (_, index) => index + 1);
	const count = random.between(1, kind === 2 ? 3 : 30);
	const cuts = new Set(Array.from({ length: count }, () => random.below(length + 1)));
	return [...cuts].sort((left, right) => left - right);
}

/** The chunks of a stream that is cut at these places. */
export function chunksOf(stream: Buffer, cuts: readonly number[]): Buffer[] {
	const ends = [...cuts.filter((cut) => cut > 0 && cut < stream.length), stream.length];
	return ends.map((end, index) => stream.subarray(index === 0 ? 0 : ends[index - 1], end));
}
