import type { Check } from './check/problem.ts';
import { keptCases, vectorFrames } from './corpus.ts';
import { type FuzzCase, makeCase } from './generate/stream.ts';
import { SeededRandom } from './random.ts';
import { runCase, type Verdict } from './run-case.ts';
import { shrink } from './shrink.ts';
import { PRODUCT, type Subject } from './subject.ts';

/** One case of this many goes through a whole client or sidecar as well: that costs about forty times a decoder. */
const THROUGH_ONE_IN = 12;
/** Streams that one process tells a sidecar at once. */
const PENDING_MAX = 64;

/** What one worker is to do. */
export interface Work {
	/** The first seed, and how far it is to the next one: workers take turns. */
	readonly seed: number;
	readonly step: number;
	/** Frames after which it ends. */
	readonly framesMax: number;
	/** Directories of the vectors and of the kept cases. */
	readonly vectors: string;
	readonly corpus: string;
	/** Whether a case that fails is made smaller. */
	readonly isShrunk: boolean;
}

/** What it did. */
export interface Done {
	readonly frames: number;
	readonly cases: number;
	/** Cases that went through a whole client, and a whole sidecar. */
	readonly throughClient: number;
	readonly throughSidecar: number;
	/** The first difference; the worker ends with it. */
	readonly failure: Failure | undefined;
}

/** A case that failed. `seed` is undefined for a kept one. */
export interface Failure {
	readonly seed: number | undefined;
	readonly check: Check;
	readonly found: string;
	readonly fuzzCase: FuzzCase;
	readonly smallest: FuzzCase;
}

/** The case of a seed, and whether it goes through a whole client or sidecar. */
function caseOf(seed: number, corpus: readonly Buffer[]): { fuzzCase: FuzzCase; isThrough: boolean } {
	const random = new SeededRandom(seed);
	const isThrough = random.oneIn(THROUGH_ONE_IN);
	return { fuzzCase: makeCase(random, corpus), isThrough };
}

/** Runs cases, the kept ones first, until enough frames were judged or one fails. `tell` hears of the progress. */
export async function work(order: Work, tell: (frames: number) => void, subject: Subject = PRODUCT): Promise<Done> {
	const run = new Run(order.isShrunk, subject);
	for (const { fuzzCase } of order.corpus === '' ? [] : keptCases(order.corpus))
		await run.add(fuzzCase, undefined, true);
	const corpus = vectorFrames(order.vectors);
	let told = 0;
	for (let { seed } = order; run.frames < order.framesMax && run.failure === undefined; seed += order.step) {
		const { fuzzCase, isThrough } = caseOf(seed, corpus);
		await run.add(fuzzCase, seed, isThrough);
		if (run.cases % 256 === 0) {
			tell(run.frames - told);
			told = run.frames;
		}
	}
	await run.settle();
	const { frames, cases, throughClient, throughSidecar, failure } = run;
	return { frames, cases, throughClient, throughSidecar, failure };
}

/** The cases of one process. */
class Run {
	readonly #isShrunk: boolean;
	readonly #subject: Subject;
	frames = 0;
	cases = 0;
	throughClient = 0;
	throughSidecar = 0;
	failure: Failure | undefined;
	/** Streams told to the sidecar that it has not answered yet: some answers take their time, so others go on meanwhile. */
	readonly #pending = new Set<Promise<void>>();

	constructor(isShrunk: boolean, subject: Subject) {
		this.#isShrunk = isShrunk;
		this.#subject = subject;
	}

	async add(fuzzCase: FuzzCase, seed: number | undefined, isThrough: boolean): Promise<void> {
		this.cases++;
		if (isThrough) {
			if (fuzzCase.reader === 'client') this.throughClient++;
			else this.throughSidecar++;
		}
		const judged = runCase(fuzzCase, isThrough, this.#subject).then(async ({ frames, problem }) => {
			this.frames += frames;
			if (problem === undefined || this.failure !== undefined) return;
			this.failure = { seed, ...problem, fuzzCase, smallest: fuzzCase };
			if (this.#isShrunk) this.failure = await shrunk(this.failure, isThrough, this.#subject);
		});
		if (!isThrough || fuzzCase.reader === 'client') {
			await judged;
			return;
		}
		this.#pending.add(judged);
		void judged.finally(() => this.#pending.delete(judged));
		if (this.#pending.size >= PENDING_MAX) await Promise.race(this.#pending);
	}

	async settle(): Promise<void> {
		await Promise.all(this.#pending);
	}
}

/** The failure with its smallest case, and what was found in that. */
async function shrunk(failure: Failure, isThrough: boolean, subject: Subject): Promise<Failure> {
	const { fuzzCase, check } = failure;
	const run = (one: FuzzCase): Promise<Verdict> => runCase(one, isThrough, subject);
	const smallest = await shrink(fuzzCase, async (one) => (await run(one)).problem?.check === check);
	const { problem } = await run(smallest);
	return { ...failure, found: problem?.found ?? failure.found, smallest };
}
