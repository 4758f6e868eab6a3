import { setTimeout as delay } from 'node:timers/promises';

import { connect } from '@spock/client';

import type { GoodCommand, GoodReply, Window } from './messages.ts';

// A well-behaved client in a process of its own: looks up over the wire, one at a time, and watches a service.
const PAUSE_MS = 1;
const TIMEOUT_MS = 30_000;
const diplomat = await connect({ path: process.argv[2] ?? '', timeoutMs: TIMEOUT_MS });
let version = 0;

function answer(reply: GoodReply): void {
	process.send?.(reply);
}

async function follow(): Promise<void> {
	for await (const { instances } of diplomat.watchService('changing')) version = Number(instances[0]?.meta['version']);
}

async function measure(durationMs: number): Promise<Window> {
	const roundTripsMs: number[] = [];
	let failed = 0;
	let example: string | null = null;
	const untilMs = performance.now() + durationMs;
	while (performance.now() < untilMs) {
		const startedMs = performance.now();
		try {
			const { port } = await diplomat.getService('steady', { fresh: true });
			if (port !== 8765) throw new Error(`the port ${port} is of another service`);
		} catch (error) {
			failed++;
			example ??= String(error);
		}
		roundTripsMs.push(performance.now() - startedMs);
		await delay(PAUSE_MS);
	}
	roundTripsMs.sort((left, right) => left - right);
	const at = (fraction: number): number => roundTripsMs[Math.floor(roundTripsMs.length * fraction)] ?? 0;
	const { reconnects } = diplomat.status();
	return { medianMs: at(0.5), p99Ms: at(0.99), lookups: roundTripsMs.length, failed, example, reconnects };
}

process.once('disconnect', () => process.exit());
process.on('message', async (command: GoodCommand) => {
	if (command.kind === 'version') answer({ kind: 'version', version });
	else answer({ kind: 'measured', ...(await measure(command.durationMs)) });
});
void follow();
await diplomat.getService('steady');
answer({ kind: 'ready' });
