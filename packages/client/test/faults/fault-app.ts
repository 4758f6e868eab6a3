import { subscribe } from 'node:diagnostics_channel';
import { setTimeout as delay } from 'node:timers/promises';

import { type ConnectMessage, connect, type DisconnectMessage } from '@spock/client';

import { BareControl } from './bare-control.ts';
import { CallLoad } from './call-load.ts';
import type { AppCommand, AppReply, AppSettings, RoundResult } from './fault-messages.ts';
import { KnownLookups } from './known-lookups.ts';

// An app beside a sidecar that is killed and stopped. It ends with its channel: none is left behind when the test is gone.
const settings = JSON.parse(process.argv[2] ?? '') as AppSettings;
process.once('disconnect', () => process.exit());
// Of `multipleResolves`, which is deprecated, and nowhere else to be had.
process.removeAllListeners('warning');

let settledTwice = 0;
process.on('multipleResolves', () => {
	settledTwice++;
});
let lostAtMs: number | undefined;
let readyAtMs: number | undefined;
let inFlightAtLoss = 0;
let noteLoss: () => void = () => undefined;
subscribe('spock:client:disconnect', (message) => {
	if (!(message as DisconnectMessage).wasReady) return;
	lostAtMs = performance.now();
	inFlightAtLoss = load?.open ?? 0;
	readyAtMs = undefined;
	noteLoss();
});
subscribe('spock:client:connect', (message) => {
	if ((message as ConnectMessage).again) readyAtMs = performance.now();
});

const { path, heartbeatMs, stableMs, services } = settings;
const diplomat = await connect({ path, heartbeatMs, stableMs, timeoutMs: 30_000 });
const control = new BareControl(path);
while (control.answeredAtMs === undefined) await delay(1);
const lookups = await KnownLookups.start(diplomat, services);
let load: CallLoad | undefined;
let lateBefore = 0;

async function obey(command: AppCommand): Promise<AppReply> {
	switch (command.kind) {
		case 'load':
			return startLoad(command.timeoutMs);
		case 'lost':
			if (lostAtMs === undefined)
				await new Promise<void>((resolve) => {
					noteLoss = resolve;
				});
			control.ping();
			return { kind: 'lost' };
		case 'result':
			return { kind: 'result', ...(await result()) };
	}
}

async function startLoad(timeoutMs: number): Promise<AppReply> {
	await diplomat.ready({ timeoutMs: 30_000 });
	settledTwice = 0;
	inFlightAtLoss = 0;
	lostAtMs = undefined;
	lateBefore = diplomat.status().lateReplies;
	lookups.reset();
	load = new CallLoad(diplomat, services, timeoutMs);
	load.start(settings.inFlight);
	// One round trip later all of them are under way, and the control's own connection is known to be alive.
	await diplomat.ping();
	control.reset();
	return { kind: 'load' };
}

async function result(): Promise<RoundResult> {
	if (load === undefined) throw new Error('result without load');
	const isLost = lostAtMs !== undefined;
	while (isLost && (readyAtMs === undefined || control.answeredAtMs === undefined)) await delay(1);
	await load.stop();
	await lookups.turn();
	const { closedAtMs, answeredAtMs = Number.NaN } = control;
	const { lastRejectionMs } = load;
	return {
		...load.counts,
		settledTwice,
		lateReplies: diplomat.status().lateReplies - lateBefore,
		...lookups.counts,
		inFlightAtLoss,
		rejectionMs: lastRejectionMs === undefined || lostAtMs === undefined ? null : lastRejectionMs - lostAtMs,
		rejectionAfterBareMs:
			lastRejectionMs === undefined || closedAtMs === undefined ? null : Math.max(0, lastRejectionMs - closedAtMs),
		// The client may even be the first of the two.
		backMs: isLost ? Math.max(0, (readyAtMs ?? Number.NaN) - answeredAtMs) : null,
		examples: [...load.examples, ...lookups.examples],
	};
}

function answer(reply: AppReply | { readonly kind: 'failed'; readonly why: string }): void {
	process.send?.(reply);
}

process.on('message', (command: AppCommand) => {
	obey(command).then(answer, (error: unknown) =>
		answer({ kind: 'failed', why: String((error as Error).stack ?? error) }),
	);
});
answer({ kind: 'ready' });
