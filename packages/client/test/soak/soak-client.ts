import { getEventListeners, setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

import { connect, socketTransport } from '@spock/client';

import { HEARTBEAT_MS, injectionOf } from './planted-leaks.ts';
import { CountingClock, figuresOfProcess } from './process-figures.ts';
import { cycles } from './soak-cycles.ts';
import type { SoakCommand, SoakReply, SoakSettings } from './soak-messages.ts';

// The app of a soak: makes cycles of all kinds, some of them side by side, and tells what it holds between them.
const settings = JSON.parse(process.argv[2] ?? '') as SoakSettings;
process.once('disconnect', () => process.exit());

const LANES = 16;
const {
	clock = new CountingClock(),
	transport = socketTransport,
	signal: never = new AbortController().signal,
} = injectionOf(settings.leak);
const options = { path: settings.path, clock, transport, heartbeatMs: HEARTBEAT_MS };
const shared = await connect({ ...options, heartbeatMs: 1000 });
await shared.getService('steady');
// Every lane may have calls of it under way.
setMaxListeners(0, never);
const made: Record<string, number> = {};
const ends: Record<string, number> = {};
const kinds = Object.entries(cycles);
let number = 0;

function count(counts: Record<string, number>, name: string): void {
	counts[name] = (counts[name] ?? 0) + 1;
}

async function makeCycles(total: number): Promise<SoakReply> {
	const last = number + total;
	const context = { options, shared, stop: never, count: (end: string) => count(ends, end) };
	const lane = async (): Promise<void> => {
		while (number < last) {
			const own = number++;
			const [name, cycle] = kinds[own % kinds.length] as (typeof kinds)[number];
			await cycle(context, own);
			count(made, name);
		}
	};
	await Promise.all(Array.from({ length: LANES }, lane));
	await shared.ready({ timeoutMs: 30_000 });
	return { kind: 'cycles', made, ends };
}

async function figures(): Promise<SoakReply> {
	// Its heartbeat alone is under way then.
	while (shared.status().inFlight > 0) await delay(1);
	const { subscriptions, inFlight, waiting } = shared.status();
	const listeners = getEventListeners(never, 'abort').length;
	return {
		kind: 'figures',
		figures: await figuresOfProcess(clock, listeners, subscriptions + inFlight + waiting),
		killed: 0,
	};
}

process.on('message', (command: SoakCommand) => {
	const work = command.kind === 'cycles' ? makeCycles(command.count) : figures();
	work.then(
		(reply) => process.send?.(reply),
		(error: unknown) => process.send?.({ kind: 'failed', why: String((error as Error).stack ?? error) }),
	);
});
process.send?.({ kind: 'ready' } satisfies SoakReply);
