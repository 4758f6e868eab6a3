import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { findConsul, type RealConsul, startConsul } from '@spock/testkit/real-consul';
import { Command, InvalidArgumentError } from 'commander';

import { watchOthers } from '../load/others-share.ts';
import { resultOrigin, writeResults } from '../result-file.ts';
import { type MeasuringOptions, ResultPage } from '../result-page.ts';
import { sayWithTime } from '../run.ts';
import { openOwnTools } from '../toolbox.ts';
import { measureHeldQueries } from './measure/held-queries.ts';
import { measureLargeService } from './measure/large-service.ts';
import { measureManyServices } from './measure/many-services.ts';
import { measurePicks } from './measure/picks.ts';
import { measurePodMemory } from './measure/pod-memory.ts';
import { measurePushBytes } from './measure/push-bytes.ts';
import { measurePushCpu } from './measure/push-cpu.ts';
import { measureReconnects } from './measure/reconnects.ts';
import { measureSecondHop } from './measure/second-hop.ts';
import { measureSimulation } from './measure/simulation.ts';
import { measureWays } from './measure/ways.ts';
import { judgeScale } from './scale-goals.ts';
import { renderScaleMarkdown } from './scale-md.ts';
import { ROWS, type RowName, type ScaleFigures, type ScaleResults, type TakenRow } from './scale-results.ts';
import type { ConsulScaleRun } from './scale-run.ts';

interface Options extends MeasuringOptions {
	readonly quick: boolean;
	readonly check: boolean;
	readonly only: readonly RowName[];
}

type Measure<Name extends RowName> = (run: ConsulScaleRun) => Promise<ScaleFigures[Name]>;

/** In the order in which they are measured: what fills the memory of the machine comes last. */
const MEASURES: { readonly [Name in RowName]: Measure<Name> } = {
	picks: measurePicks,
	'push-bytes': measurePushBytes,
	'large-service': measureLargeService,
	ways: measureWays,
	'pod-memory': measurePodMemory,
	'second-hop': measureSecondHop,
	reconnects: measureReconnects,
	'push-cpu': measurePushCpu,
	'many-services': measureManyServices,
	'held-queries': measureHeldQueries,
	simulation: measureSimulation,
};
const ROW_NAMES = Object.keys(MEASURES) as RowName[];
/** All sidecars of a run come from one address, of which an agent takes 200 connections by default; it needs that many open files. */
const HCL = 'limits { http_max_conns_per_client = 15000 }';
const page = new ResultPage<ScaleResults>('performance/scale.md', renderScaleMarkdown);

const program = new Command('bench-scale')
	.description('thousands of sidecars, large services, node Spocks')
	.configureHelp({ showGlobalOptions: true });

page
	.measuring(program.command('run', { isDefault: true }))
	.description('measure, and put what was measured into the result file')
	.option('--quick', 'tiny sizes; the figures mean nothing', false)
	.option('--check', 'fail where a figure misses its floor', false)
	.option('--only <names>', `some of: ${ROW_NAMES.join(', ')}`, toRows, ROW_NAMES)
	.action(run);

page.addRender(program);

async function run(options: Options): Promise<void> {
	const { quick, node, out, docs, only, check } = options;
	if (quick && check) throw new Error('--check needs the sizes that the floors are for: leave out --quick');
	const binary = findConsul(process.env);
	const tools = openOwnTools(node);
	const say = sayWithTime();
	const failures: string[] = [];
	let places = 0;
	try {
		let results: ScaleResults = {
			...resultOrigin(tools.nodeVersion, quick),
			consul: '',
			rows: existsSync(out) ? page.read(out).rows : {},
		};
		for (const name of ROW_NAMES.filter((row) => only.includes(row))) {
			// Each has a Consul of its own: what one row has registered is no work for the next.
			await using consul = await startConsul({ binary, hcl: [HCL] });
			const run: ConsulScaleRun = {
				...{ tools, quick, consul, say },
				place: (file) => join(tools.directory, `${++places}-${file}`),
			};
			say(ROWS[name]);
			try {
				const taken = await take(run, MEASURES[name]);
				results = { ...results, consul: await versionOf(consul), rows: { ...results.rows, [name]: taken } };
				writeResults(out, results);
			} catch (error) {
				// The other rows are measured all the same.
				failures.push(`${name} failed: ${(error as Error).message}`);
			}
		}
		page.print(results);
		if (docs !== undefined) page.write(results, docs);
		const missed = judgeScale(results).filter(({ goal, verdict }) => verdict === 'missed' && only.includes(goal.row));
		if (check) failures.push(...missed.map(({ goal }) => `missed: ${goal.figure}: ${goal.what}`));
		if (failures.length === 0) return;
		process.stderr.write(`${failures.join('\n')}\n`);
		process.exitCode = 1;
	} finally {
		tools.close();
	}
}

async function versionOf({ url }: RealConsul): Promise<string> {
	const response = await fetch(`${url}/v1/agent/self`);
	return ((await response.json()) as { readonly Config: { readonly Version: string } }).Config.Version;
}

async function take<Name extends RowName>(
	run: ConsulScaleRun,
	measure: Measure<Name>,
): Promise<TakenRow<ScaleFigures[Name]>> {
	const { tools, quick } = run;
	const others = watchOthers();
	const startedMs = performance.now();
	const figure = await measure(run);
	const seconds = (performance.now() - startedMs) / 1000;
	const { takenAt, commit } = resultOrigin(tools.nodeVersion, quick);
	return { takenAt, commit, node: tools.nodeVersion, quick, seconds, othersShare: others(), figure };
}

function toRows(text: string): readonly RowName[] {
	return text.split(',').map((name) => {
		const found = ROW_NAMES.find((known) => known === name);
		if (found === undefined) throw new InvalidArgumentError(`there is no row ${name}`);
		return found;
	});
}

// Last, because everything above must stand when it runs.
await program.parseAsync();
