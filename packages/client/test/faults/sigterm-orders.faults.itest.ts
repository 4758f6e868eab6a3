import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

import { expect, it } from 'vitest';
import { countFromEnv } from '../count-from-env.ts';
import { askWorker, bundleWorker, killWorker, startWorker, workerReply } from '../worker-process.ts';
import { reportFigures } from './fault-figures.ts';
import type { LeavingReply, LeavingSettings } from './leaving-messages.ts';
import { SERVICES, SidecarPlace } from './sidecar-place.ts';

/** Each round starts two processes and waits for both to leave. */
const TIMES = Math.max(2, Math.ceil(countFromEnv('SPOCK_FAULTS_TIMES', 40) / 20));
const ANSWER_MS_MAX = 60_000;
const TEST_MS_MAX = 60_000 + TIMES * 20_000;
/** Work that an app has still to do when SIGTERM comes. */
const LAST_WORK_MS = 50;
const DRAIN_TIMEOUT_MS = 200;

/** What the signals did. `app` is null for one that has not left. */
interface Round {
	readonly app: number | null;
	readonly sidecar: number | null;
	readonly socketLeft: boolean;
	readonly report: Extract<LeavingReply, { readonly kind: 'report' }>;
}

interface Signals {
	readonly app: () => void;
	readonly sidecar: () => void;
	readonly appLeft: Promise<unknown>;
}

async function round(leaves: boolean, signal: (signals: Signals) => Promise<void>): Promise<Round> {
	await using place = await SidecarPlace.make();
	await using sidecar = await place.startSidecar(['--drain-timeout-ms', String(leaves ? 30_000 : DRAIN_TIMEOUT_MS)]);
	const worker = await bundleWorker(new URL('leaving-app.ts', import.meta.url), place.directory);
	const leavesAfterMs = leaves ? LAST_WORK_MS : null;
	const settings: LeavingSettings = { path: place.path, services: SERVICES, leavesAfterMs };
	const app = startWorker(worker, { settings });
	try {
		await workerReply<LeavingReply, 'ready'>(app, 'ready', ANSWER_MS_MAX);
		const left = new Promise<number | null>((resolve) => app.once('exit', resolve));
		const leaving = leaves ? workerReply<LeavingReply, 'report'>(app, 'report', ANSWER_MS_MAX) : undefined;
		await signal({ app: () => app.kill('SIGTERM'), sidecar: () => sidecar.child.kill('SIGTERM'), appLeft: left });
		const { exitCode } = await sidecar.finished;
		const report = await (leaving ?? askWorker<LeavingReply, 'report'>(app, { kind: 'report' }, ANSWER_MS_MAX));
		return { app: leaves ? await left : app.exitCode, sidecar: exitCode, socketLeft: existsSync(place.path), report };
	} finally {
		await killWorker(app);
	}
}

async function rounds(fault: string, leaves: boolean, signal: (signals: Signals) => Promise<void>): Promise<Round[]> {
	const results: Round[] = [];
	for (let time = 0; time < TIMES; time++) results.push(await round(leaves, signal));
	const sum = (count: (report: Round['report']) => number): number =>
		results.reduce((total, { report }) => total + count(report), 0);
	const lookups = sum((report) => report.lookups);
	const lookupsFailed = sum((report) => report.lookupsFailed);
	const calls = sum(({ wire, wireFailed }) => wire + wireFailed);
	reportFigures({ fault, times: TIMES, lookups, lookupsFailed, calls, rejected: sum(({ wireFailed }) => wireFailed) });
	return results;
}

/** Both have left in good order, and no call or lookup has felt it. */
const IN_GOOD_ORDER = {
	app: 0,
	sidecar: 0,
	socketLeft: false,
	report: { lookupsFailed: 0, wireFailed: 0, example: null },
};

it(
	'SIGTERM to the app first, then to the sidecar',
	async () => {
		const results = await rounds('SIGTERM, app first', true, async ({ app, sidecar, appLeft }) => {
			app();
			await appLeft;
			sidecar();
		});
		for (const result of results) expect(result).toMatchObject(IN_GOOD_ORDER);
	},
	TEST_MS_MAX,
);

it(
	'SIGTERM to the sidecar first: it serves until the app has left',
	async () => {
		const results = await rounds('SIGTERM, sidecar first', true, async ({ app, sidecar }) => {
			sidecar();
			await delay(Math.random() * LAST_WORK_MS);
			app();
		});
		for (const result of results) expect(result).toMatchObject(IN_GOOD_ORDER);
	},
	TEST_MS_MAX,
);

it(
	'SIGTERM to both at once',
	async () => {
		const results = await rounds('SIGTERM, both at once', true, async ({ app, sidecar }) => {
			sidecar();
			app();
		});
		for (const result of results) expect(result).toMatchObject(IN_GOOD_ORDER);
	},
	TEST_MS_MAX,
);

it(
	'SIGTERM to both, and the app never leaves: the sidecar does at its deadline, and known services are still found',
	async () => {
		const results = await rounds('SIGTERM, an app that never leaves', false, async ({ app, sidecar }) => {
			sidecar();
			app();
		});
		for (const result of results) {
			expect(result).toMatchObject({ app: null, sidecar: 0, socketLeft: false, report: { lookupsFailed: 0 } });
			// The one call that was under way when it was cut off.
			expect(result.report.wireFailed).toBeLessThanOrEqual(1);
		}
	},
	TEST_MS_MAX,
);
