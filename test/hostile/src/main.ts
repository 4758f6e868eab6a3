import { fork } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { keep } from './corpus.ts';
import { describeFailure } from './report.ts';
import type { Done, Work } from './work.ts';

// `npm run suite fuzz`: told by tools/fuzz.js where everything is.
const { values } = parseArgs({
	options: {
		frames: { type: 'string', default: '1000000' },
		from: { type: 'string' },
		seed: { type: 'string' },
		workers: { type: 'string' },
		vectors: { type: 'string', default: '' },
		corpus: { type: 'string', default: '' },
	},
});

const SEEDS = 2 ** 48;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

function wholeOption(name: 'frames' | 'from' | 'seed' | 'workers', fallback: number): number {
	const text = values[name];
	const value = text === undefined ? fallback : Number(text);
	if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`--${name} must be a whole number, got ${text}`);
	return value;
}

/** Processes and not threads: a sidecar sets its umask, which a thread cannot. */
function startWorker(order: Work, progressed: (frames: number) => void): Promise<Done> {
	return new Promise((resolve, reject) => {
		const worker = fork(fileURLToPath(new URL('./worker.mjs', import.meta.url)), [JSON.stringify(order)], {
			serialization: 'advanced',
			// Nearly everything is garbage at once: with a larger nursery a tenth of the time is saved.
			execArgv: [...process.execArgv, '--max-semi-space-size=64'],
		});
		worker.on('message', (message: { frames?: number; done?: Done }) => {
			if (message.frames !== undefined) progressed(message.frames);
			if (message.done !== undefined) resolve(message.done);
		});
		worker.on('error', reject);
		worker.on('exit', (code, signal) =>
			reject(new Error(`a process that began at seed ${order.seed} ended with ${code ?? signal}`)),
		);
	});
}

async function main(): Promise<number> {
	const isReplay = values.seed !== undefined;
	const first = isReplay ? wholeOption('seed', 0) : wholeOption('from', Math.floor(Math.random() * SEEDS));
	const frames = isReplay ? 1 : wholeOption('frames', 0);
	const workers = isReplay ? 1 : Math.max(1, wholeOption('workers', 1));
	if (!isReplay) say(`fuzz: ${frames} frames in ${workers} processes, from seed ${first} (again: --from ${first})`);
	const startedMs = performance.now();
	let judged = 0;
	let shownMs = startedMs;
	const progressed = (count: number): void => {
		judged += count;
		if (performance.now() - shownMs < 10_000) return;
		shownMs = performance.now();
		say(`  ${judged} frames after ${Math.round((shownMs - startedMs) / 1000)} s`);
	};
	const { vectors, corpus } = values;
	const starting = Array.from({ length: workers }, (_, index) =>
		startWorker(
			{
				seed: first + index,
				step: workers,
				framesMax: Math.ceil(frames / workers),
				vectors,
				corpus: isReplay ? '' : corpus,
				isShrunk: true,
			},
			progressed,
		),
	);
	const all = await Promise.all(starting);
	const sum = (count: (done: Done) => number): number => all.reduce((total, done) => total + count(done), 0);
	const seconds = (performance.now() - startedMs) / 1000;
	const failures = all.flatMap(({ failure }) => failure ?? []);
	for (const failure of failures) {
		say(describeFailure(failure));
		if (failure.seed === undefined || isReplay) continue;
		appendFileSync(
			join(corpus, 'found.ndjson'),
			`${keep(`${failure.check}, seed ${failure.seed}`, failure.smallest)}\n`,
		);
		say(`kept in ${join(corpus, 'found.ndjson')}: commit it with the mend`);
	}
	const total = sum((done) => done.frames);
	say(
		`fuzz: ${total} frames of ${sum((done) => done.cases)} streams in ${seconds.toFixed(1)} s ` +
			`(${Math.round(total / seconds)} a second); ${sum((done) => done.throughClient)} streams told to a whole client, ` +
			`${sum((done) => done.throughSidecar)} to a whole sidecar; ${failures.length} differences`,
	);
	return failures.length === 0 ? 0 : 1;
}

process.exitCode = await main();
