import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { keptCases } from './corpus.ts';
import { describeFailure } from './report.ts';
import { runCase } from './run-case.ts';
import { work } from './work.ts';

const corpus = fileURLToPath(new URL('../corpus', import.meta.url));
const vectors = fileURLToPath(new URL('../../../packages/protocol/vectors', import.meta.url));

describe('cases that failed before', () => {
	const kept = keptCases(corpus);
	it('are kept', () => {
		expect(kept.length).toBeGreaterThan(5);
	});

	it.each(kept)('$rule', async ({ fuzzCase }) => {
		expect((await runCase(fuzzCase, true)).problem).toBeUndefined();
	});
});

describe('fuzz', () => {
	it('20,000 frames: decoder, validators, encoder, client and sidecar do as the reference says', async () => {
		const { frames, failure } = await work(
			{ seed: 1, step: 1, framesMax: 20_000, vectors, corpus: '', isShrunk: true },
			() => undefined,
		);
		expect(failure === undefined ? '' : describeFailure(failure)).toBe('');
		expect(frames).toBeGreaterThanOrEqual(20_000);
	});
});
