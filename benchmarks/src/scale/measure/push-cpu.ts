import { setTimeout as delay } from 'node:timers/promises';

import { makeAuthority } from '@spock/testkit/certificates';

import { CatalogWriter } from '../../consul/catalog-writer.ts';
import { freePort } from '../../free-port.ts';
import { processorTimeUs, residentMb } from '../../load/processor-time.ts';
import type { ScaleNodeCommand, ScaleNodeSettings } from '../processes/scale-node.ts';
import type { ScaleWatchersSettings, WatchedBytes } from '../processes/scale-watchers.ts';
import type { PushCpuFigure, PushLoad } from '../scale-results.ts';
import { type ConsulScaleRun, startHelper, startSpock } from '../scale-run.ts';
import { registerServices } from './registered-services.ts';

const SIZE = { instances: 1500, watchers: 1000, seconds: 60 };
const SIZE_QUICK = { instances: 50, watchers: 10, seconds: 2 };
const CHANGES_A_SECOND = 5;
const SERVICE = 'pushed';
const SEEN_MS_MAX = 10_000;
const FIRST_PORT = 20_000;
/** A Spock that cannot keep up with its pushes takes a change late. */
const CHANGE_MS_MAX = 120_000;

type Size = typeof SIZE;

/** A registry that changes: resolves with the port that the last changed instance has. */
type Change = (change: number) => Promise<number>;

/** Pushes of a large service to many watchers: from a real Consul, and from a list in the sidecar's process. */
export async function measurePushCpu(run: ConsulScaleRun): Promise<PushCpuFigure> {
	const size = run.quick ? SIZE_QUICK : SIZE;
	const memory = await measureMemory(run, size);
	run.say(`pushes from a list: ${memory.cpuPercent.toFixed(0)} % of a core`);
	const tls = await measureTls(run, size);
	run.say(`pushes with TLS: ${tls.cpuPercent.toFixed(0)} % of a core`);
	const consul = await measureConsul(run, size);
	run.say(`pushes from Consul: ${consul.cpuPercent.toFixed(0)} % of a core`);
	const { instances, watchers } = size;
	return { instances, watchers, changesASecond: CHANGES_A_SECOND, consul, memory, tls };
}

async function measureMemory(run: ConsulScaleRun, size: Size): Promise<PushLoad> {
	const path = run.place('pushes.sock');
	return await measureList(run, size, { path, instances: size.instances }, { path });
}

async function measureTls(run: ConsulScaleRun, size: Size): Promise<PushLoad> {
	const path = run.place('pushes.sock');
	const port = await freePort();
	const { ca, issue } = makeAuthority();
	const settings: ScaleNodeSettings = { path, tls: { port, ...issue() }, instances: size.instances };
	return await measureList(run, size, settings, { path, tls: { port, ca } });
}

async function measureList(
	run: ConsulScaleRun,
	size: Size,
	settings: ScaleNodeSettings,
	place: Pick<ScaleWatchersSettings, 'path' | 'tls'>,
): Promise<PushLoad> {
	const node = await startHelper(run, 'scale-node', settings);
	try {
		const change: Change = async () =>
			(await node.ask({ kind: 'change' } satisfies ScaleNodeCommand, CHANGE_MS_MAX)) as number;
		return await measureLoad(run, size, { place, pid: node.pid, change });
	} finally {
		await node.close();
	}
}

async function measureConsul(run: ConsulScaleRun, size: Size): Promise<PushLoad> {
	const { url } = run.consul;
	await registerServices(url, [SERVICE], size.instances);
	using writer = new CatalogWriter(url);
	const server = startSpock(run, 'pushes', ['--backend', 'consul', '--consul', url]);
	const change: Change = async (number) => {
		const port = FIRST_PORT + number;
		await writer.putInstance(SERVICE, `${SERVICE}-${number % size.instances}`, port);
		return port;
	};
	try {
		return await measureLoad(run, size, { place: { path: server.address }, pid: server.pid, change });
	} finally {
		await server.close();
	}
}

async function measureLoad(
	run: ConsulScaleRun,
	{ watchers, seconds }: Size,
	{
		place,
		pid,
		change,
	}: { readonly place: Pick<ScaleWatchersSettings, 'path' | 'tls'>; readonly pid: number; readonly change: Change },
): Promise<PushLoad> {
	const settings: ScaleWatchersSettings = { ...place, service: SERVICE, watchers, relay: run.place('relay.sock') };
	const crowd = await startHelper(run, 'scale-watchers', settings, { readyMsMax: 300_000 });
	try {
		const before = (await crowd.ask({ kind: 'count' })) as WatchedBytes;
		const startedMs = performance.now();
		const startedUs = processorTimeUs(pid);
		let port = 0;
		let changes = 0;
		// One that is late is late for all that follow: then there are fewer.
		for (; performance.now() < startedMs + seconds * 1000; changes++) {
			port = await change(changes);
			await delay(Math.max(0, startedMs + ((changes + 1) * 1000) / CHANGES_A_SECOND - performance.now()));
		}
		const after = (await crowd.ask({ kind: 'seen', port, timeoutMs: SEEN_MS_MAX })) as WatchedBytes;
		const elapsedMs = performance.now() - startedMs;
		const bytes = after.copyBytes - before.copyBytes + after.clientBytes - before.clientBytes;
		return {
			seconds: elapsedMs / 1000,
			changes,
			cpuPercent: ((processorTimeUs(pid) - startedUs) / 1000 / elapsedMs) * 100,
			megabytesASecond: bytes / 1e6 / (elapsedMs / 1000),
			isSeen: after.isSeen,
			closed: after.closed,
			rssMb: residentMb(pid),
		};
	} finally {
		await crowd.close();
	}
}
