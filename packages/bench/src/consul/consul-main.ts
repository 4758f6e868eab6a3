import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { dirname, join } from 'node:path';

import { startConsul } from '@spock/testkit/real-consul';
import { Command } from 'commander';

import { resultOrigin, writeResults } from '../result-file.ts';
import { openToolbox, toolVersions } from '../toolbox.ts';
import { renderConsulMarkdown } from './consul-md.ts';
import type { ConsulResults, ScaleResults } from './consul-results.ts';
import type { ConsulRun } from './consul-run.ts';
import { measureChanges } from './measure-changes.ts';
import { measureCost } from './measure-cost.ts';
import { measureScale } from './measure-scale.ts';

interface Options {
	readonly quick: boolean;
	readonly node: string;
	readonly out: string;
	readonly docs?: string;
}

/** All pods of a run come from one address, of which an agent takes 200 connections unless it is told otherwise. */
const HCL = 'limits { http_max_conns_per_client = 5000 }';
const PAGE = 'performance/consul.md';

const program = new Command('bench-consul')
	.description('from a change in Consul to the client, and what a pod costs Consul')
	.configureHelp({ showGlobalOptions: true });

program
	.command('run', { isDefault: true })
	.description('measure, and write the result file')
	.option('--quick', 'under a minute; the figures are rough', false)
	.option('--node <path>', 'the Node that the processes run on', process.execPath)
	.requiredOption('--out <file>', 'the result file')
	.option('--docs <directory>', `also write ${PAGE} there`)
	.action(run);

program
	.command('scale')
	.description('measure few and many services beside foreign edits alone, and put that into the result file')
	.option('--quick', 'some two minutes; the figures are rough', false)
	.option('--node <path>', 'the Node that the processes run on', process.execPath)
	.requiredOption('--out <file>', 'the result file')
	.option('--docs <directory>', `also write ${PAGE} there`)
	.action(runScale);

program
	.command('render')
	.description('write the page from the result file')
	.requiredOption('--out <file>', 'the result file')
	.requiredOption('--docs <directory>', `where ${PAGE} goes`)
	.action(({ out, docs }: { out: string; docs: string }) => {
		render(JSON.parse(readFileSync(out, 'utf8')) as ConsulResults, docs);
	});

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
	const before = JSON.parse(readFileSync(options.out, 'utf8')) as ConsulResults;
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
	const startedMs = performance.now();
	try {
		if ('missing' in tools.consul) throw new Error(tools.consul.missing);
		await using consul = await startConsul({ binary: tools.consul.path, hcl: [HCL] });
		const results = await take({
			tools,
			quick,
			consul,
			say: (line) => say(`${Math.round((performance.now() - startedMs) / 1000)} s  ${line}`),
			leaveOut: (what, why) => say(`LEFT OUT: ${what}: ${why}`),
		});
		writeResults(out, results);
		say(renderConsulMarkdown(results));
		if (docs !== undefined) render(results, docs);
	} finally {
		tools.close();
	}
}

function render(results: ConsulResults, docs: string): void {
	const page = join(docs, PAGE);
	mkdirSync(dirname(page), { recursive: true });
	writeFileSync(page, renderConsulMarkdown(results));
	say(`wrote ${page}`);
}

function say(line: string): void {
	process.stdout.write(`${line}\n`);
}

await program.parseAsync();
