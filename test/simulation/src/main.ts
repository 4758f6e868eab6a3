import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

import { bundle } from './bundle.ts';
import { runSeeds } from './run-seeds.ts';
import { runScaleWorker } from './scale/run-scale-worker.ts';
import type { SeedRun } from './seed-worker.ts';
import { readSeeds } from './seeds-file.ts';
import { addTo, describeTotals, noTotals } from './totals.ts';

const USAGE = `npm run suite simulation                         the seeds that ever failed, and 100 more
npm run suite -- simulation --seeds N [--from S]    the seeds that ever failed, and N more, from S on
npm run suite -- simulation --seed N [--trace]      one seed, and what happened in it
npm run suite -- simulation --plant NAME            the same with a fault of plants.ts, which must break its promise
npm run suite -- simulation --nodes N                N nodes with --pods-each pods each (50): how soon all see a change
  --events                       worlds that have events, and nothing else
  --pods                         worlds of pods that ask a shared sidecar, and nothing else
  --servers                      worlds of pods that register at servers without node agents, and nothing else
  --own-sidecars                 with --nodes: each pod has a sidecar of its own, which asks its node's
  --json                         with --nodes: prints the result in JSON
  --jobs J                       threads at once; default: one for each core
`;
const SEEDS = 100;
/** A thousand seeds and more have so many events each, or they have become too short to prove anything. */
const [SEEDS_THAT_PROVE, EVENTS_EACH_MIN] = [1000, 10_000];
/** Lines of a trace that are shown with a failure. */
const TAIL_LINES = 40;

const { values } = parseArgs({
	options: {
		seeds: { type: 'string' },
		from: { type: 'string', default: '1' },
		seed: { type: 'string' },
		jobs: { type: 'string', default: String(availableParallelism()) },
		trace: { type: 'boolean', default: false },
		plant: { type: 'string' },
		events: { type: 'boolean', default: false },
		pods: { type: 'boolean', default: false },
		servers: { type: 'boolean', default: false },
		nodes: { type: 'string' },
		'pods-each': { type: 'string', default: '50' },
		'own-sidecars': { type: 'boolean', default: false },
		json: { type: 'boolean', default: false },
		root: { type: 'string', default: process.cwd() },
		help: { type: 'boolean', default: false },
	},
});
const { root, plant, events: isOfEvents, pods: isOfPods, servers: isOfServers } = values;

if (values.help) print(USAGE);
else if (values.nodes !== undefined) await scale(count('nodes', values.nodes));
else if (values.seed !== undefined) await one(count('seed', values.seed));
else await many();

async function many(): Promise<void> {
	const startedMs = performance.now();
	const program = await bundle(root, 'product');
	const [from, seeds] = [count('from', values.from), count('seeds', values.seeds ?? String(SEEDS))];
	const kept = readSeeds(root).map((one) => ({
		seed: one.seed,
		isOfEvents: one.isOfEvents ?? isOfEvents,
		isOfPods: one.isOfPods ?? isOfPods,
		isOfServers: one.isOfServers ?? isOfServers,
	}));
	const ways = { isOfEvents, isOfPods, isOfServers };
	const isKept = (seed: number): boolean =>
		kept.some((one) => JSON.stringify(one) === JSON.stringify({ seed, ...ways }));
	const others = Array.from({ length: seeds }, (_, at) => ({ seed: from + at, ...ways })).filter(
		({ seed }) => !isKept(seed),
	);
	const totals = noTotals();
	const failed: SeedRun[] = [];
	const runs = [...kept, ...others].map((run) => ({ ...run, plant }));
	await runSeeds(runs, {
		program,
		jobs: count('jobs', values.jobs),
		ran: (result, run) => {
			addTo(totals, result);
			if (result.violation === undefined) return;
			failed.push(run);
			print(`seed ${result.seed}: ${result.violation.invariant}: ${result.violation.message}\n`);
		},
	});
	print(`${describeTotals(totals, performance.now() - startedMs)}\n`);
	if (seeds >= SEEDS_THAT_PROVE && totals.events < seeds * EVENTS_EACH_MIN) {
		print(`fewer than ${EVENTS_EACH_MIN} events for each seed: the seeds have become too short\n`);
		process.exitCode = 1;
	}
	const [first] = failed;
	if (first === undefined) return;
	await show(program, first);
	process.exitCode = 1;
}

async function scale(nodes: number): Promise<void> {
	const startedMs = performance.now();
	const result = await runScaleWorker(root, {
		seed: count('seed', values.seed ?? '1'),
		nodes,
		podsEach: count('pods-each', values['pods-each']),
		hasSidecars: values['own-sidecars'],
	});
	const wallSeconds = (performance.now() - startedMs) / 1000;
	if (values.json) print(`${JSON.stringify({ ...result, wallSeconds })}\n`);
	else for (const [name, value] of Object.entries({ ...result, wallSeconds })) print(`${name}: ${value}\n`);
	if (result.failedLookups > 0) process.exitCode = 1;
}

async function one(seed: number): Promise<void> {
	const program = await bundle(root, 'product');
	await show(program, { seed, plant, isOfEvents, isOfPods, isOfServers });
}

/** Runs one seed and prints what happened in it, the whole tail with `--trace`. */
async function show(program: string, run: SeedRun): Promise<void> {
	const { seed } = run;
	const { isOfEvents = false, isOfPods = false, isOfServers = false } = run;
	const way = `${isOfEvents ? ' --events' : ''}${isOfPods ? ' --pods' : ''}${isOfServers ? ' --servers' : ''}`;
	await runSeeds([run], {
		program,
		jobs: 1,
		keepsTrace: true,
		ran: ({ tail, violation, events, hash, virtualMs, counts }) => {
			const lines = values.trace ? tail : violation === undefined ? [] : tail.slice(-TAIL_LINES);
			if (lines.length > 0) print(`${lines.join('\n')}\n`);
			print(`seed ${seed}: ${events} events, ${virtualMs} virtual ms, trace ${hash}, ${JSON.stringify(counts)}\n`);
			if (violation === undefined) print('every promise was kept\n');
			else {
				print(
					`${violation.invariant}: ${violation.message}\nAgain: npm run suite -- simulation${way} --seed ${seed} --trace\n`,
				);
				process.exitCode = 1;
			}
		},
	});
}

function count(name: string, text: string): number {
	const value = Number(text);
	if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`--${name} must be a whole number, not ${text}`);
	return value;
}

function print(text: string): void {
	process.stdout.write(text);
}
