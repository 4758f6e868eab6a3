import { checkClient } from './check/check-client.ts';
import { checkDecoder } from './check/check-decoder.ts';
import { checkMessages } from './check/check-messages.ts';
import { checkSidecar } from './check/check-sidecar.ts';
import { type Problem, show, unhandled } from './check/problem.ts';
import type { FuzzCase } from './generate/stream.ts';
import { splitStream } from './reference/split-stream.ts';
import { PRODUCT, type Subject } from './subject.ts';

/** What came of a case. */
export interface Verdict {
	/** Frames and faults that the reference found in it. */
	readonly frames: number;
	/** The first difference. */
	readonly problem: Problem | undefined;
}

/**
 * Every check of a case: the decoder, each frame as its reader reads it, and, with `isThrough`, a whole client or a whole
 * sidecar that is told the stream. What is thrown is a problem too.
 */
export async function runCase(fuzzCase: FuzzCase, isThrough: boolean, subject: Subject = PRODUCT): Promise<Verdict> {
	const found = splitStream(fuzzCase.stream, fuzzCase.frameBytesMax);
	try {
		let problem = checkDecoder(fuzzCase, found, subject);
		let before: string | undefined;
		for (const one of found) {
			if (!('frame' in one) || one.frame === before) continue;
			before = one.frame;
			problem ??= checkMessages(before, fuzzCase.reader, subject);
		}
		if (problem === undefined && isThrough) {
			problem = await (fuzzCase.reader === 'client' ? checkClient(fuzzCase, subject) : checkSidecar(fuzzCase, subject));
			const [error] = unhandled.splice(0);
			if (error !== undefined) problem ??= { check: 'unhandled rejection', found: show(error) };
		}
		return { frames: found.length, problem };
	} catch (error) {
		return { frames: found.length, problem: { check: 'thrown', found: show(error) } };
	}
}
