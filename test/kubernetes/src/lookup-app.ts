// The app of the pods under test: it looks a service up without pause and prints what happens to it, as lines of JSON.
import { subscribe } from 'node:diagnostics_channel';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

import { connect, type DiplomatOptions } from '@spock/client';
import { tlsTransport } from '@spock/client/tls';

import type { LookupAppEvent, LookupAppSettings, LookupTally, SharedSpock } from './lookup-app-messages.ts';

/** Between two lookups. */
const PAUSE_MS = 1;
const TALLY_MS = 100;
/** Calls over the wire that wait for their answers. */
const CALLS_MAX = 16;

const settings = JSON.parse(process.env['LOOKUP_APP'] ?? '') as LookupAppSettings;
const total = { lookups: 0, calls: 0, failed: 0, stale: 0, ageMsMin: Number.POSITIVE_INFINITY, ageMsMax: 0 };
let part: LookupTally = { ...total };
let hasTime = true;

say({ event: 'started' });
process.on('SIGTERM', () => {
	say({ event: 'SIGTERM' });
	if (settings.manner === 'leaves') leaveLater();
});
subscribe('spock:client:disconnect', (message) => {
	// Its own end, when it leaves, is no loss.
	if (hasTime && (message as { readonly wasReady: boolean }).wasReady) say({ event: 'lost' });
});
subscribe('spock:client:connect', (message) => {
	if ((message as { readonly again: boolean }).again) say({ event: 'back' });
});

// Without any setting at the path where an app in a pod finds its sidecar.
const { shared, registers } = settings;
const diplomat = await connect(shared && optionsOf(shared));
say({ event: 'connected' });
if (registers !== undefined) {
	await diplomat.register({ service: registers, port: 8765, host: process.env['POD_IP'] ?? '' });
	say({ event: 'registered' });
}
const { host, port } = await diplomat.getService(settings.service);
say({ event: 'first lookup', address: `${host}:${port}` });
if (settings.manner === 'ends') leaveLater();

const tallying = setInterval(() => {
	say({ event: 'tally', ...part });
	part = { lookups: 0, calls: 0, failed: 0, stale: 0, ageMsMin: Number.POSITIVE_INFINITY, ageMsMax: 0 };
}, TALLY_MS);
const calls = new Set<Promise<void>>();
while (hasTime) {
	await lookUp();
	// The sidecar of a pod is killed in some tests, and calls fail then.
	if (shared !== undefined && calls.size < CALLS_MAX) {
		const one = call().finally(() => calls.delete(one));
		calls.add(one);
	}
	await delay(PAUSE_MS);
}
await Promise.all(calls);
clearInterval(tallying);
await diplomat.drain();
say({ event: 'left', ...total });

function optionsOf(spock: SharedSpock): DiplomatOptions {
	if ('tokenFile' in spock) {
		const { tokenFile, ...limits } = spock;
		return { ...limits, token: async () => (await readFile(tokenFile, 'utf8')).trim() };
	}
	const { ca, ...access } = spock;
	return { ...access, transport: tlsTransport({ ca }) };
}

async function lookUp(): Promise<void> {
	try {
		const { stale = false, ageMs = 0 } = await diplomat.getService(settings.service);
		count((tally) => add(tally, 0, stale, ageMs));
	} catch (error) {
		count((tally) => add(tally, 1, false, 0));
		say({ event: 'failed', why: String(error) });
	}
}

/** Answered by the Spock itself. */
async function call(): Promise<void> {
	try {
		await diplomat.getService(settings.service, { fresh: true });
		count((tally) => ({ ...tally, calls: tally.calls + 1 }));
	} catch (error) {
		count((tally) => ({ ...tally, calls: tally.calls + 1, failed: tally.failed + 1 }));
		say({ event: 'failed', why: `a call over the wire: ${String(error)}` });
	}
}

function count(next: (tally: LookupTally) => LookupTally): void {
	part = next(part);
	Object.assign(total, next(total));
}

function add(tally: LookupTally, failed: number, isStale: boolean, ageMs: number): LookupTally {
	return {
		...tally,
		lookups: tally.lookups + 1,
		failed: tally.failed + failed,
		stale: tally.stale + (isStale ? 1 : 0),
		ageMsMin: isStale ? Math.min(tally.ageMsMin, ageMs) : tally.ageMsMin,
		ageMsMax: isStale ? Math.max(tally.ageMsMax, ageMs) : tally.ageMsMax,
	};
}

function leaveLater(): void {
	setTimeout(() => {
		hasTime = false;
	}, settings.leavesAfterMs);
}

function say(event: LookupAppEvent): void {
	process.stdout.write(`${JSON.stringify({ atMs: Date.now(), ...event })}\n`);
}
