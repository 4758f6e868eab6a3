import { loadavg } from 'node:os';

import { startConsul } from '@spock/testkit/real-consul';
import { Command } from 'commander';

import { resultOrigin, writeResults } from '../result-file.ts';
import { type MeasuringOptions, ResultPage } from '../result-page.ts';
import { say, sayWithTime } from '../run.ts';
import { openToolbox, toolVersions } from '../toolbox.ts';
import { renderConsulMarkdown } from './consul-md.ts';
import type { ConsulResults, ScaleResults } from './consul-results.ts';
import type { ConsulRun } from './consul-run.ts';
import { measureChanges } from './measure-changes.ts';
import { measureCost } from './measure-cost.ts';
import { measureScale } from './measure-scale.ts';

interface Options extends MeasuringOptions {
	readonly quick: boolean;
}

/** All pods of a run come from one address, of which an agent takes 200 connections unless it is told otherwise. */
const HCL = 'limits { http_max_conns_per_client = 5000 }';
const page = new ResultPage<ConsulResults>('performance/consul.md', renderConsulMarkdown);

const program = new Command('bench-consul')
	.description('from a change in Consul to the client, and what a pod costs Consul')
	.configureHelp({ showGlobalOptions: true });

page
	.measuring(program.command('run', { isDefault: true }))
	.description('measure, and write the result file')
	.option('--quick', 'under a minute; the figures are rough', false)
	.action(run);

page
	.measuring(program.command('scale'))
	.description('measure few and many services beside foreign edits alone, and put that into the result file')
	.option('--quick', 'some two minutes; the figures are rough', false)
	.action(runScale);

page.addRender(program);

async function run(options: Options): Promise<void> {
	await measure(options, async (session) => {
		const changes = await measureChanges(session);
		const cost = await measureCost(session);
		const { tools, quick } = session;
		return {
			...resultOrigin(tools.nodeVersion, quick),
			consul: toolVersions(tools)['consul'] ?? 'unknown',
			changes,
			cost,
			scale: await scaleOf(session),
		};
	});
}

async function runScale(options: Options): Promise<void> {
	const before = page.read(options.out);
	await measure(options, async (session) => ({ ...before, scale: await scaleOf(session) }));
}

async function scaleOf(session: ConsulRun): Promise<ScaleResults> {
	const [load = 0] = loadavg();
	const { tools, quick } = session;
	return { ...resultOrigin(tools.nodeVersion, quick), load, figures: await measureScale(session) };
}

async function measure(
	{ quick, node, out, docs }: Options,
	take: (session: ConsulRun) => Promise<ConsulResults>,
): Promise<void> {
	const tools = openToolbox(node);
	try {
		if ('missing' in tools.consul) throw new Error(tools.consul.missing);
		await using consul = await startConsul({ binary: tools.consul.path, hcl: [HCL] });
		const results = await take({
			tools,
			quick,
			consul,
			say: sayWithTime(),
			leaveOut: (what, why) => say(`LEFT OUT: ${what}: ${why}`),
		});
		writeResults(out, results);
		page.print(results);
		if (docs !== undefined) page.write(results, docs);
	} finally {
		tools.close();
	}
}

await program.parseAsync();
