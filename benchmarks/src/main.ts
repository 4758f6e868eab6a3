import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { arch, platform, release, totalmem } from 'node:os';
import { join } from 'node:path';

import { Command, InvalidArgumentError } from 'commander';

import { breaches, CHECKED_SHAPES } from './check.ts';
import { CONTENDERS } from './contenders.ts';
import { renderPerformanceMarkdown } from './report/performance-md.ts';
import { renderPlots } from './report/plots.ts';
import { renderSummary } from './report/summary.ts';
import { resultOrigin, writeResults } from './result-file.ts';
import { type BenchResults, NO_FIGURES } from './results.ts';
import { type Run, say, sayWithTime } from './run.ts';
import { measureCalls } from './sections/calls.ts';
import { SECTION_NAMES, SECTIONS, type SectionName } from './sections.ts';
import { openToolbox, type Toolbox, toolVersions } from './toolbox.ts';

interface Options {
	readonly quick: boolean;
	readonly check: boolean;
	readonly only: readonly SectionName[];
	readonly node: string;
	readonly nodeVersions: readonly string[];
	readonly out: string;
	readonly docs?: string;
}

/** Measurements that must find a breach before it counts. */
const CHECKS_MAX = 3;

const program = new Command('bench')
	.description('Spock and Diplomat beside their peers, in one run')
	.configureHelp({ showGlobalOptions: true });

program
	.command('run', { isDefault: true })
	.description('measure, write the result file, and print a summary')
	.option('--quick', 'about two minutes: fewer loads and rounds; the figures are rough', false)
	.option(
		'--check',
		'fail when a ratio to the raw echo is twice as bad as its goal, in three measurements in a row',
		false,
	)
	.option('--only <sections>', `some of: ${SECTION_NAMES.join(', ')}`, toSections, SECTION_NAMES)
	.option('--node <path>', 'the Node that clients and servers run on', process.execPath)
	.option('--node-versions <paths>', 'Nodes to compare, separated by commas', (paths) => paths.split(','), [])
	.requiredOption('--out <file>', 'the result file; sections that are not run keep what it holds')
	.option('--docs <directory>', 'also write PERFORMANCE.md and its plots there')
	.action(run);

program
	.command('render')
	.description('write PERFORMANCE.md and its plots from the result file')
	.requiredOption('--out <file>', 'the result file')
	.requiredOption('--docs <directory>', 'where the page goes')
	.action(({ out, docs }: { out: string; docs: string }) => render(readResults(out), docs));

async function run(options: Options): Promise<void> {
	const tools = openToolbox(options.node);
	const leftOut: { what: string; why: string }[] = [];
	const session: Run = {
		tools,
		quick: options.quick,
		say: sayWithTime(),
		leaveOut: (what, why) => {
			leftOut.push({ what, why });
			say(`LEFT OUT: ${what}: ${why}`);
		},
	};
	try {
		let results = blankResults(options, tools);
		if (existsSync(options.out)) results = { ...readResults(options.out), ...pick(results, ORIGIN) };
		for (const name of options.only) {
			results = { ...results, ...(await SECTIONS[name](session, options.nodeVersions)) };
			results = { ...results, takenAt: new Date().toISOString(), leftOut };
			// After each section: a run that is broken off has not been for nothing.
			writeResults(options.out, results);
		}
		say(renderSummary(results));
		if (options.docs !== undefined) render(results, options.docs);
		if (options.check) await check(session, results);
	} finally {
		tools.close();
	}
}

/** A breach counts when every measurement of the same loads finds it: other guests of a machine come and go. */
async function check(session: Run, results: BenchResults): Promise<void> {
	let found = breaches(results.calls);
	for (let again = 1; again < CHECKS_MAX && found.length > 0; again++) {
		say(`once more, because:\n${found.map(({ sentence }) => sentence).join('\n')}`);
		const contenders = CONTENDERS.filter(({ id }) => id === 'echo' || id === 'spock');
		const window = { rounds: 7, durationMs: 400, warmupMs: 150 };
		const calls = await measureCalls(session, { contenders, shapes: [...CHECKED_SHAPES], busy: [false], ...window });
		const before = found;
		found = breaches(calls).filter(({ what }) => before.some((breach) => breach.what === what));
	}
	if (found.length === 0) {
		say('every checked ratio to the raw echo is within its bound');
		return;
	}
	const sentences = found.map(({ sentence }) => sentence).join('\n');
	process.stderr.write(`too slow beside the raw echo, ${CHECKS_MAX} times in a row:\n${sentences}\n`);
	process.exitCode = 1;
}

const ORIGIN = ['schema', 'quick', 'commit', 'machine', 'node', 'versions'] as const;

function blankResults({ quick }: Options, tools: Toolbox): BenchResults {
	const origin = resultOrigin(tools.nodeVersion, quick);
	const memoryMb = Math.round(totalmem() / 1024 / 1024);
	return {
		...origin,
		machine: { ...origin.machine, memoryMb, kernel: `${platform()} ${release()} ${arch()}` },
		versions: toolVersions(tools),
		leftOut: [],
		...NO_FIGURES,
	};
}

function pick<T, K extends keyof T>(value: T, keys: readonly K[]): Pick<T, K> {
	return Object.fromEntries(keys.map((key) => [key, value[key]])) as Pick<T, K>;
}

function readResults(file: string): BenchResults {
	const results = JSON.parse(readFileSync(file, 'utf8')) as BenchResults;
	if (results.schema !== 1) throw new Error(`${file} is of another version of the bench: remove it`);
	return results;
}

function render(results: BenchResults, docs: string): void {
	const prose = join(docs, 'performance/what-limits-us.md');
	const whatLimitsUs = existsSync(prose) ? readFileSync(prose, 'utf8') : '';
	mkdirSync(join(docs, 'performance'), { recursive: true });
	writeFileSync(join(docs, 'PERFORMANCE.md'), renderPerformanceMarkdown(results, { whatLimitsUs }));
	for (const [file, svg] of renderPlots(results)) writeFileSync(join(docs, 'performance', file), svg);
	say(`wrote ${join(docs, 'PERFORMANCE.md')}`);
}

function toSections(text: string): readonly SectionName[] {
	return text.split(',').map((name) => {
		const found = SECTION_NAMES.find((known) => known === name);
		if (found === undefined) throw new InvalidArgumentError(`there is no section ${name}`);
		return found;
	});
}

// Last, because everything above must stand when it runs.
await program.parseAsync();
