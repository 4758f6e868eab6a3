// `pnpm mutants [words]`: takes each mend of tools/mutants.json out of the source, one at a time, and runs the test that stands for it:
// it must fail. Nothing is written to the sources; a mutated file exists only in that run. With words only the rows that have
// them all are run. What is left after a run is a list of the mends that nothing guards, and exit code 1 if there are any.
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { failures } from './mutants-list.js';
import { ensureBuilt, ensureInstalled, fail, root, say } from './prepare.js';

const VITEST = join(root, 'node_modules/vitest/vitest.mjs');
const CONFIG = fileURLToPath(new URL('./mutants.vitest.config.js', import.meta.url));
const REPORTS = join(root, 'reports/mutants');
/** A mutant may hang a test: that is noticed too, and must not take minutes. */
const TEST_MS_MAX = 10_000;
const RUN_MS_MAX = 90_000;

const words = process.argv.slice(2).map((word) => word.toLowerCase());
const jobs = failures
	.flatMap(({ what, mutants }) => mutants.map((mutant) => ({ what, ...mutant })))
	.filter((job) => words.every((word) => JSON.stringify(job).toLowerCase().includes(word)));
if (jobs.length === 0) fail('no mutant has these words', 2);

ensureInstalled();
ensureBuilt();
rmSync(REPORTS, { recursive: true, force: true });
mkdirSync(REPORTS, { recursive: true });
const startedMs = performance.now();
const survivors = [];
let next = 0;
await Promise.all(
	Array.from({ length: Math.max(1, availableParallelism() - 1) }, async () => {
		while (next < jobs.length) {
			const number = next++;
			const job = jobs[number];
			const outcome = await run(job, number);
			say(`${outcome.padEnd(12)} ${job.what} · ${job.file} · ${job.name}`);
			if (outcome !== 'noticed') survivors.push(`${outcome}: ${job.what}: ${job.file}, ${JSON.stringify(job.find)}`);
		}
	}),
);
const seconds = Math.round((performance.now() - startedMs) / 1000);
say(`${jobs.length - survivors.length} of ${jobs.length} mutants were noticed, in ${seconds} s`);
if (survivors.length > 0) fail(survivors.join('\n'));

/** `noticed`, `survived`, or what was wrong with the run: a test that does not exist, a file that does not load. */
async function run({ file, find, replace, test, name }, number) {
	const report = join(REPORTS, `${number}.json`);
	const project = /\.(consul)\.itest\.ts$/.exec(test)?.[1] ?? (test.endsWith('.itest.ts') ? 'socket' : 'unit');
	const args = ['run', '--config', CONFIG, '--project', project, test, '--testNamePattern', escapeRegExp(name)];
	const reporters = ['--reporter=json', `--outputFile.json=${report}`, `--testTimeout=${TEST_MS_MAX}`, '--bail=1'];
	const env = { ...process.env, SPOCK_MUTANT: JSON.stringify({ file: join(root, file), find, replace }) };
	const child = spawn(process.execPath, [VITEST, ...args, ...reporters], { cwd: root, env, stdio: 'ignore' });
	const timer = setTimeout(() => child.kill('SIGKILL'), RUN_MS_MAX);
	const signal = await new Promise((resolve) => child.on('exit', (_, bySignal) => resolve(bySignal)));
	clearTimeout(timer);
	// A loop without end keeps its process from telling anything.
	if (signal === 'SIGKILL') return 'noticed';
	let result;
	try {
		result = JSON.parse(readFileSync(report, 'utf8'));
	} catch {
		return 'no report';
	}
	const tests = result.testResults.flatMap(({ assertionResults }) => assertionResults);
	if (tests.some(({ status }) => status === 'failed')) return 'noticed';
	if (result.numFailedTestSuites > 0 && tests.length === 0) return 'not loaded';
	return tests.some(({ status }) => status === 'passed') ? 'survived' : 'no such test';
}

function escapeRegExp(text) {
	return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
