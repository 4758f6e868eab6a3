import { Command, InvalidArgumentError } from 'commander';

import { resultOrigin, writeResults } from '../result-file.ts';
import { type MeasuringOptions, ResultPage } from '../result-page.ts';
import { sayWithTime } from '../run.ts';
import { openOwnTools, packageVersions } from '../toolbox.ts';
import { brokenPromises, fallenBehind } from './broken-promises.ts';
import { measureScenario } from './measure-scenario.ts';
import { renderRollingMarkdown } from './rolling-md.ts';
import type { WayName } from './rolling-messages.ts';
import type { RollingResults, Scenario, ScenarioResult } from './rolling-results.ts';
import { MEASURED_WAYS, WAY_NAMES } from './ways/ways.ts';

interface Options extends MeasuringOptions, Omit<Scenario, 'order' | 'preStopMs'> {
	readonly ways: readonly WayName[];
	readonly prestopMs: readonly number[];
	readonly samePort: boolean;
	readonly quick: boolean;
}

/** Measurements of a scenario until one is not too slow: other guests of a machine come and go. */
const MEASUREMENTS_MAX = 3;
const page = new ResultPage<RollingResults>('integrations/rolling-restart.md', renderRollingMarkdown);

const program = new Command('bench-rolling')
	.description('requests that fail under a rolling restart, by Spock and by DNS')
	.configureHelp({ showGlobalOptions: true });

page
	.measuring(program.command('run', { isDefault: true }))
	.description('measure, and write the result file; fails if a way of Spock fails a request')
	.option('--quick', 'say that the figures are rough', false)
	.option('--ways <names>', `some of: ${WAY_NAMES.join(', ')}`, toWays, MEASURED_WAYS)
	.option('--instances <count>', 'instances of the service', toCount, 5)
	.option('--restarts <count>', 'how often all of them are replaced', toCount, 2)
	.option('--rate <count>', 'requests a second of each client', toCount, 500)
	.option('--prestop-ms <ms>', 'how long an old one goes on serving; several, by commas, one run each', toTimes, [1000])
	.option('--same-port', 'once more with each new one at the port of the old one, which ends before', false)
	.option('--work-ms <ms>', 'how long a request takes an instance', toMs, 0)
	.option('--pause-ms <ms>', 'between an old one and the next new one', toMs, 2000)
	.option('--dns-ttl-ms <ms>', 'how long an answer of DNS is used', toMs, 5000)
	.action(run);

page.addRender(program);

async function run(options: Options): Promise<void> {
	const { ways, quick, node, out, docs } = options;
	const tools = openOwnTools(node);
	const session = { tools, say: sayWithTime() };
	try {
		const scenarios: ScenarioResult[] = [];
		for (const scenario of scenariosOf(options)) {
			let result = await measureScenario(session, scenario, ways);
			for (let again = 1; again < MEASUREMENTS_MAX && fallenBehind(result).length > 0; again++) {
				session.say(`once more, because:\n${fallenBehind(result).join('\n')}`);
				result = await measureScenario(session, scenario, ways);
			}
			scenarios.push(result);
		}
		const versions = packageVersions(['@grpc/grpc-js', 'undici']);
		const results: RollingResults = { ...resultOrigin(tools.nodeVersion, quick), versions, scenarios };
		writeResults(out, results);
		page.print(results);
		const wrong = [...scenarios.flatMap(fallenBehind), ...brokenPromises(scenarios)];
		if (wrong.length > 0) {
			process.stderr.write(`${wrong.join('\n')}\n`);
			process.exitCode = 1;
		} else if (docs !== undefined) {
			page.write(results, docs);
		}
	} finally {
		tools.close();
	}
}

function scenariosOf({ prestopMs, samePort, ...options }: Options): Scenario[] {
	const { instances, restarts, workMs, pauseMs, rate, dnsTtlMs } = options;
	const common = { instances, restarts, workMs, pauseMs, rate, dnsTtlMs };
	const scenarios: Scenario[] = prestopMs.map((preStopMs) => ({ order: 'surge', preStopMs, ...common }));
	const [preStopMs = 0] = prestopMs;
	if (samePort) scenarios.push({ order: 'in-place', preStopMs, ...common });
	return scenarios;
}

function toWays(text: string): readonly WayName[] {
	return text.split(',').map((name) => {
		const found = WAY_NAMES.find((known) => known === name);
		if (found === undefined) throw new InvalidArgumentError(`there is no way ${name}`);
		return found;
	});
}

function toMs(text: string): number {
	if (!/^\d+$/.test(text)) throw new InvalidArgumentError('a whole number of milliseconds is needed');
	return Number(text);
}

function toTimes(text: string): readonly number[] {
	return text.split(',').map(toMs);
}

function toCount(text: string): number {
	if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('a whole number from 1 is needed');
	return Number(text);
}

await program.parseAsync();
