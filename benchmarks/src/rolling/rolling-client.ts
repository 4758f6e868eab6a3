import { createInterface } from 'node:readline';

import { systemClock } from '@spock/protocol/internal';

import type { ClientCommand, ClientReport, ClientSettings } from './rolling-messages.ts';
import { TalliedLoad } from './tallied-load.ts';
import type { Way } from './ways/way.ts';
import { loadWay } from './ways/ways.ts';

/** Seconds of the load that are made before it, as fast as it goes: connections to all instances are there, and code is compiled. */
const WARM_UP_S = 4;
const WARM_UP_IN_FLIGHT = 8;

/** The process that calls the service in one way. Ends with its standard input. */
async function main(settings: ClientSettings): Promise<void> {
	const open = await loadWay(settings.way);
	const way = await open(settings);
	await warmUp(way, settings.rate * WARM_UP_S);
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

async function warmUp(way: Way, requests: number): Promise<void> {
	let made = 0;
	const makeInTurn = async (): Promise<void> => {
		while (made++ < requests) await way.call();
	};
	await Promise.all(Array.from({ length: WARM_UP_IN_FLIGHT }, makeInTurn));
}

await main(JSON.parse(process.argv[2] ?? '') as ClientSettings);
