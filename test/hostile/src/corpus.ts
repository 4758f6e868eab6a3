import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { FuzzCase, Reader } from './generate/stream.ts';

/** A case that once failed, as it is kept. */
export interface KeptCase {
	/** What must hold, or what was wrong. */
	readonly rule: string;
	readonly reader: Reader;
	/** The stream, in base64. */
	readonly bytes: string;
	readonly frameBytesMax?: number;
	readonly cuts?: readonly number[];
}

const FRAME_BYTES_MAX = 1 << 20;

/** The lines of every `.ndjson` file of a directory. */
function readLines(directory: string): Record<string, unknown>[] {
	return readdirSync(directory)
		.filter((name) => name.endsWith('.ndjson'))
		.flatMap((name) => readFileSync(join(directory, name), 'utf8').split('\n'))
		.filter((line) => line !== '')
		.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** The cases that failed before. */
export function keptCases(directory: string): { rule: string; fuzzCase: FuzzCase }[] {
	return (readLines(directory) as unknown as KeptCase[]).map(({ rule, reader, bytes, frameBytesMax, cuts }) => ({
		rule,
		fuzzCase: {
			reader,
			stream: Buffer.from(bytes, 'base64'),
			frameBytesMax: frameBytesMax ?? FRAME_BYTES_MAX,
			cuts: cuts ?? [],
		},
	}));
}

/** A case as a line to keep. */
export function keep(rule: string, { reader, stream, frameBytesMax, cuts }: FuzzCase): string {
	const kept: KeptCase = {
		rule,
		reader,
		bytes: Buffer.from(stream).toString('base64'),
		...(frameBytesMax !== FRAME_BYTES_MAX && { frameBytesMax }),
		...(cuts.length > 0 && { cuts }),
	};
	return JSON.stringify(kept);
}

/** Frames of the protocol's vectors, whatever they prove: what cases are mutated from. */
export function vectorFrames(directory: string): Buffer[] {
	return readLines(directory).flatMap((vector) => {
		const { frame, bytes, line, func, data, steps } = vector as Record<string, string> & {
			steps?: Record<string, unknown>[];
		};
		if (typeof frame === 'string') return [Buffer.from(frame)];
		if (typeof bytes === 'string') return [Buffer.from(bytes, 'base64')];
		if (typeof line === 'string') return [Buffer.from(line.trimEnd())];
		if (typeof func === 'string') return [Buffer.from(JSON.stringify({ id: 3, func, data }))];
		return (steps ?? []).map((step) => Buffer.from(JSON.stringify(step['<'] ?? step)));
	});
}
