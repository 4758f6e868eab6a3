import { connect } from '@spock/client';
import { KnownLookups } from './known-lookups.ts';
import type { LeavingReply, LeavingSettings } from './leaving-messages.ts';

// An app that is asked to leave by SIGTERM, as in a pod, or pays no heed to it. It ends with its channel in any case.
const settings = JSON.parse(process.argv[2] ?? '') as LeavingSettings;
process.once('disconnect', () => process.exit());

const { path, services, leavesAfterMs } = settings;
const diplomat = await connect({ path, timeoutMs: 30_000 });
const here = await KnownLookups.start(diplomat, services);
const wire = { answered: 0, failed: 0, example: null as string | null };
let isLeaving = false;

/** Over the wire without pause, until it has said that it leaves. */
async function askTheSidecar(): Promise<void> {
	while (!isLeaving) {
		try {
			await diplomat.request('ping', wire.answered);
			wire.answered++;
		} catch (error) {
			wire.failed++;
			wire.example ??= String(error);
		}
	}
}
const asking = askTheSidecar();

async function report(): Promise<void> {
	await here.turn();
	const { lookups, lookupsFailed } = here.counts;
	const example = here.examples[0] ?? wire.example;
	const reply: LeavingReply = {
		kind: 'report',
		lookups,
		lookupsFailed,
		wire: wire.answered,
		wireFailed: wire.failed,
		example,
	};
	await new Promise<void>((resolve) => process.send?.(reply, () => resolve()));
}

process.on('SIGTERM', () => {
	if (leavesAfterMs === null) return;
	setTimeout(async () => {
		isLeaving = true;
		await asking;
		await report();
		await diplomat.drain();
		process.disconnect();
	}, leavesAfterMs);
});
process.on('message', () => void report());
process.send?.({ kind: 'ready' } satisfies LeavingReply);
