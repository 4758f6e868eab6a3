import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { connect } from '@spock/client';

import { startServer } from '../processes.ts';
import { probe } from '../sections/probes.ts';
import { CatalogWriter } from './catalog-writer.ts';
import type { ChangeFigure, ScaleFigure } from './consul-results.ts';
import type { ConsulRun } from './consul-run.ts';
import { CountingProxy } from './counting-proxy.ts';

/** What the sidecar holds for services: by default, and where the agents' limit of connections was raised. */
const HELD_MAX = 150;
const HELD_MAX_RAISED = 1040;
const SIZES: readonly (readonly [watched: number, heldMax: number])[] = [
	[50, HELD_MAX],
	[150, HELD_MAX],
	[200, HELD_MAX],
	[1000, HELD_MAX],
	[1000, HELD_MAX_RAISED],
];
/** Edits of services that nobody here watches. */
const NOISE_MS = 500;
const NOISE_SERVICES = 20;
/** More than one wait of a blocking query, so that its end is counted as often as it comes. */
const COUNT_S = 60;
const COUNT_S_QUICK = 10;
const GAP_MS = 150;
const CHANGES = 100;
const CHANGES_QUICK = 30;
/** First answers are no part of what is counted. */
const SETTLE_MS = 5000;

/** Few and many services while others change all the time: how late a change is, and what that costs, each by a proxy of its own. */
export async function measureScale(run: ConsulRun): Promise<ScaleFigure[]> {
	const figures: ScaleFigure[] = [];
	for (const [watched, heldMax] of SIZES) figures.push(await measureSize(run, watched, heldMax));
	return figures;
}

async function measureSize(run: ConsulRun, watched: number, heldMax: number): Promise<ScaleFigure> {
	const { tools, quick, consul } = run;
	await using proxy = await CountingProxy.start(consul.url);
	await using bareProxy = await CountingProxy.start(consul.url);
	using writer = new CatalogWriter(consul.url);
	const path = join(tools.directory, `scale-${watched}-${heldMax}.sock`);
	const backend = ['--backend', 'consul', '--consul', proxy.url, '--consul-held-max', String(heldMax)];
	const server = startServer([tools.node, tools.sidecar, 'start', ...backend, '--socket', path], path);
	const aborter = new AbortController();
	const noise = makeNoise(writer, aborter.signal);
	try {
		const names = Array.from({ length: watched }, (_, number) => `spock-${watched}-${number}`);
		for (const name of names) await writer.put(name, 1);
		const diplomat = await connect({ path });
		for (const name of names) await diplomat.getService(name);
		const watching = names.map(async (name) => {
			for await (const _ of diplomat.watchService(name));
		});
		await delay(SETTLE_MS);
		proxy.reset();
		await delay((quick ? COUNT_S_QUICK : COUNT_S) * 1000);
		const traffic = proxy.traffic();
		await diplomat.close();
		await Promise.all(watching);
		const changes = quick ? CHANGES_QUICK : CHANGES;
		const args = [consul.url, path, String(watched), String(changes), String(GAP_MS), bareProxy.url];
		const { spock, bare } = await probe<ChangeFigure>(run, ['consul-changes', ...args]);
		run.say(`${watched} services, ${heldMax} held, beside foreign edits`);
		return { watched, heldMax, spock, bare, traffic };
	} finally {
		aborter.abort();
		await noise;
		await server.close();
	}
}

async function makeNoise(writer: CatalogWriter, signal: AbortSignal): Promise<void> {
	for (let edit = 0; !signal.aborted; edit++) {
		await writer.put(`foreign-${edit % NOISE_SERVICES}`, 1 + edit);
		await delay(NOISE_MS, undefined, { signal }).catch(() => undefined);
	}
}
