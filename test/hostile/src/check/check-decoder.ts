import { chunksOf, type FuzzCase } from '../generate/stream.ts';
import type { Found } from '../reference/split-stream.ts';
import type { Subject } from '../subject.ts';
import { type Problem, show } from './problem.ts';

/** Streams this short are cut at every place, and at every two places. */
const EXHAUSTIVE_BYTES_MAX = 48;
/** An id as JSON and this protocol have it, and something behind it. */
const NUMBERED = /^\{"id":(0|[1-9][0-9]{0,9})(?![0-9])[\s\S]/;
/** Chunks are given in this, which is overwritten at once: a decoder must keep nothing of a chunk. */
let scratch = Buffer.alloc(1 << 16);

/** One stream of so many is also told to a reader that says hold at every third frame. */
const HELD_ONE_IN = 2;
const HELD_FRAMES = 3;

/** The decoder beside the splitter: whole, as cut, and cut everywhere; with and without its path for ids; held at frames. */
export function checkDecoder(
	fuzzCase: FuzzCase,
	expected: readonly Found[],
	{ createDecoder }: Pick<Subject, 'createDecoder'>,
): Problem | undefined {
	const { stream, cuts } = fuzzCase;
	const decoderCase = { ...fuzzCase, expected, createDecoder };
	for (const withIds of [false, true]) {
		const problem = checkCuts(decoderCase, cuts, withIds) ?? checkCuts(decoderCase, [], withIds);
		if (problem !== undefined) return problem;
	}
	if (stream.length % HELD_ONE_IN === 0) {
		const problem = checkCuts(decoderCase, cuts, true, true) ?? checkCuts(decoderCase, [], true, true);
		if (problem !== undefined) return problem;
	}
	if (stream.length > EXHAUSTIVE_BYTES_MAX) return undefined;
	for (let first = 1; first < stream.length; first++) {
		for (let second = first; second < stream.length; second++) {
			const problem = checkCuts(decoderCase, [first, second], (first + second) % 2 === 0);
			if (problem !== undefined) return problem;
		}
	}
	return undefined;
}

/** A stream, what a decoder must find in it, and the decoder. */
interface DecoderCase extends Pick<FuzzCase, 'stream' | 'frameBytesMax'>, Pick<Subject, 'createDecoder'> {
	readonly expected: readonly Found[];
}

function checkCuts(
	{ stream, frameBytesMax, expected, createDecoder }: DecoderCase,
	cuts: readonly number[],
	withIds: boolean,
	holds = false,
): Problem | undefined {
	let count = 0;
	let problem: Problem | undefined;
	let isHeld = false;
	const release = (): void => {
		isHeld = false;
		decoder.release();
	};
	const differ = (found: unknown): void => {
		problem ??= {
			check: holds ? 'decoder held' : withIds ? 'decoder with ids' : 'decoder',
			found: `cut at ${show(cuts)}, number ${count}: ${show(found)} and not ${show(expected[count])}`,
		};
	};
	const tell = (key: 'frame' | 'fault', value: string, numberedAs?: number): void => {
		const wanted = expected[count] as Record<string, unknown> | undefined;
		if (wanted?.[key] !== value) differ({ [key]: value });
		else if (withIds && key === 'frame' && numberedAs !== idOf(value)) differ({ numberedAs });
		count++;
		if (!holds) return;
		if (isHeld) differ('a frame although it was held');
		isHeld = count % HELD_FRAMES === 0;
		if (isHeld) decoder.hold();
	};
	const decoder = createDecoder(
		{
			frame: (text) => tell('frame', text),
			fault: (code) => tell('fault', code),
			...(withIds && { numbered: (id: number, rest: string) => tell('frame', `{"id":${id}${rest}`, id) }),
		},
		{ frameBytesMax },
	);
	for (const chunk of chunksOf(stream, cuts)) {
		if (chunk.length > scratch.length) scratch = Buffer.alloc(chunk.length * 2);
		chunk.copy(scratch);
		decoder.push(scratch.subarray(0, chunk.length));
		scratch.fill(0x7e, 0, chunk.length);
		if (holds && chunk.length % 2 === 0) release();
	}
	// Each time it goes on it tells so many frames, or all that are left.
	for (let more = holds ? expected.length : 0; more >= 0; more -= HELD_FRAMES) if (holds) release();
	if (count !== expected.length) differ('nothing more');
	return problem;
}

/** The id that the decoder must read out of a frame by itself; undefined if it must leave that to the parser. */
function idOf(frame: string): number | undefined {
	const id = Number(NUMBERED.exec(frame)?.[1]);
	return id <= 4294967295 ? id : undefined;
}
