// The app of the pods under test: it looks a service up without pause and prints what befalls it, as lines of JSON.
import { subscribe } from 'node:diagnostics_channel';
import { setTimeout as delay } from 'node:timers/promises';

import { connect } from '@spock/client';
import { tlsTransport } from '@spock/client/tls';

import type { LookupAppEvent, LookupAppSettings, LookupTally } from './lookup-app-messages.ts';

/** Between two lookups. */
const PAUSE_MS = 1;
const TALLY_MS = 100;

const settings = JSON.parse(process.env['LOOKUP_APP'] ?? '') as LookupAppSettings;
const total = { lookups: 0, failed: 0, stale: 0, ageMsMin: Number.POSITIVE_INFINITY, ageMsMax: 0 };
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
const { shared } = settings;
const diplomat = await connect(
	shared && { host: shared.host, port: shared.port, token: shared.token, transport: tlsTransport({ ca: shared.ca }) },
);
say({ event: 'connected' });
const { host, port } = await diplomat.getService(settings.service);
say({ event: 'first lookup', address: `${host}:${port}` });
if (settings.manner === 'ends') leaveLater();

const tallying = setInterval(() => {
	say({ event: 'tally', ...part });
	part = { lookups: 0, failed: 0, stale: 0, ageMsMin: Number.POSITIVE_INFINITY, ageMsMax: 0 };
}, TALLY_MS);
while (hasTime) {
	await lookUp();
	await delay(PAUSE_MS);
}
clearInterval(tallying);
await diplomat.drain();
say({ event: 'left', ...total });

async function lookUp(): Promise<void> {
	try {
		const { stale = false, ageMs = 0 } = await diplomat.getService(settings.service);
		part = add(part, 0, stale, ageMs);
		Object.assign(total, add(total, 0, stale, ageMs));
	} catch (error) {
		part = add(part, 1, false, 0);
		Object.assign(total, add(total, 1, false, 0));
		say({ event: 'failed', why: String(error) });
	}
}

function add(tally: LookupTally, failed: number, isStale: boolean, ageMs: number): LookupTally {
	return {
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
