import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { LoadClient, startServer } from '../processes.ts';
import type { OwnTools } from '../toolbox.ts';
import type { ClientCommand, ClientReport, ClientSettings, WayName } from './rolling-messages.ts';
import type { Scenario, ScenarioResult, WayResult } from './rolling-results.ts';
import { placeOf, ServiceGroup } from './service-group.ts';

/** Requests before the first restart and, beside the time to live of DNS, after the last one, in milliseconds. */
const CALM_MS = 1000;
/** How long the last answers may take, in milliseconds: every try has a time-out. */
const LAST_ANSWERS_MS = 90_000;

/** What a measurement works with. */
interface RollingRun {
	readonly tools: OwnTools;
	/** Tells the person who waits. */
	say(line: string): void;
}

/** One sidecar, the instances, and a client for each way, all through the same restarts. */
export async function measureScenario(
	run: RollingRun,
	scenario: Scenario,
	ways: readonly WayName[],
): Promise<ScenarioResult> {
	const { tools } = run;
	const socket = join(tools.directory, 'rolling.sock');
	const sidecar = startServer(
		[tools.node, tools.sidecar, 'start', '--backend', 'local', '--socket', socket, '--log-level', 'warn'],
		socket,
	);
	const clients: LoadClient[] = [];
	let group: ServiceGroup | undefined;
	try {
		const { instances, preStopMs, workMs, rate, dnsTtlMs } = scenario;
		group = await ServiceGroup.start(tools, instances, { socket, preStopMs, workMs });
		for (const way of ways) {
			const settings: ClientSettings = { way, socket, rate, dnsTtlMs };
			clients.push(await LoadClient.start([tools.node, tools.entry('rolling-client'), JSON.stringify(settings)]));
		}
		run.say(`${instances} instances and ${clients.length} clients are there`);
		const startedMs = performance.now();
		await Promise.all(clients.map((client) => client.ask({ kind: 'begin' } satisfies ClientCommand)));
		await delay(CALM_MS);
		await restartAll(run, group, scenario);
		await delay(CALM_MS + dnsTtlMs);
		const seconds = (performance.now() - startedMs) / 1000;
		const reports = await Promise.all(
			clients.map((client) => client.ask({ kind: 'end' } satisfies ClientCommand, LAST_ANSWERS_MS)),
		);
		return {
			...scenario,
			seconds,
			ways: ways.map((way, index) => resultOf(way, reports[index] as ClientReport, instances)),
		};
	} finally {
		await Promise.all(clients.map((client) => client.close()));
		await group?.close();
		await sidecar.close();
	}
}

async function restartAll(run: RollingRun, group: ServiceGroup, { restarts, order, pauseMs }: Scenario): Promise<void> {
	for (let restart = 1; restart <= restarts; restart++) {
		for (let place = 0; place < group.size; place++) {
			await group.replace(place, order);
			await delay(pauseMs);
		}
		run.say(`rolling restart ${restart} of ${restarts}`);
	}
}

function resultOf(way: WayName, { answered, ...report }: ClientReport, size: number): WayResult {
	const counts = new Array<number>(size).fill(0);
	for (const [instance, count] of Object.entries(answered)) {
		const place = placeOf(instance);
		counts[place] = (counts[place] ?? 0) + count;
	}
	const total = counts.reduce((sum, count) => sum + count, 0);
	return {
		way,
		...report,
		shares: counts.map((count) => count / Math.max(1, total)),
		instancesSeen: Object.keys(answered).length,
	};
}
