import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

import { systemClock } from '@spock/protocol/internal';

import type { ClientCommand, ClientReport, ClientSettings } from './rolling-messages.ts';
import { TalliedLoad } from './tallied-load.ts';
import type { Way } from './ways/way.ts';
import { loadWay } from './ways/ways.ts';

/** Requests before the measurement: connections to all instances are made, and the code is warm. */
const WARM_UP_REQUESTS = 200;
const WARM_UP_GAP_MS = 2;

/** The process that calls the service in one way. Ends with its standard input. */
async function main(settings: ClientSettings): Promise<void> {
	const open = await loadWay(settings.way);
	const way = await open(settings);
	await warmUp(way);
	const load = new TalliedLoad(way, settings.rate, systemClock);
	let before: NodeJS.CpuUsage | undefined;
	const obey = async ({ kind }: ClientCommand): Promise<unknown> => {
		if (kind === 'end') {
			const tally = await load.end();
			const { user, system } = process.cpuUsage(before);
			return { ...tally, processorUs: (user + system) / tally.requests } satisfies ClientReport;
		}
		before = process.cpuUsage();
		load.begin();
		return { begun: true };
	};
	process.stdout.write('{"ready":true}\n');
	for await (const line of createInterface({ input: process.stdin })) {
		process.stdout.write(`${JSON.stringify(await obey(JSON.parse(line) as ClientCommand))}\n`);
	}
	await way.close();
}

async function warmUp(way: Way): Promise<void> {
	const calls: Promise<string>[] = [];
	for (let request = 0; request < WARM_UP_REQUESTS; request++) {
		calls.push(way.call());
		await delay(WARM_UP_GAP_MS);
	}
	await Promise.all(calls);
}

await main(JSON.parse(process.argv[2] ?? '') as ClientSettings);
