import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

import { residentMb } from '../../load/processor-time.ts';
import { Samples } from '../../load/samples.ts';
import type { LoadClient, ServerProcess } from '../../processes.ts';
import type { ScaleAppsSettings } from '../processes/scale-apps.ts';
import type { TimedCall } from '../processes/scale-caller.ts';
import type { CallTimes, ProcessMemory, WaysFigure } from '../scale-results.ts';
import { type ConsulScaleRun, startHelper, startSpock } from '../scale-run.ts';
import { registerServices, serviceNames } from './registered-services.ts';

const SERVICES = 10;
const INSTANCES_EACH = 10;
/** How long an app makes calls. */
const CALL_MS = 5000;
const CALL_MS_QUICK = 300;

/** Memory of a sidecar that asks Consul, of a node Spock, of a sidecar that asks that one, and of apps with and without one. */
export async function measureWays(run: ConsulScaleRun): Promise<WaysFigure> {
	const services = serviceNames('way', SERVICES);
	const { url } = run.consul;
	await registerServices(run.consul.url, services, INSTANCES_EACH);
	const backend = ['--backend', 'consul', '--consul', url];
	const own = startSpock(run, 'way-own', backend);
	const node = startSpock(run, 'way-node', backend);
	const behind = startSpock(run, 'way-behind', ['--backend', 'spock', '--upstream', `unix:${node.address}`]);
	const servers: readonly ServerProcess[] = [behind, own, node];
	try {
		const appHeapMb = await withApp(run, own.address, services);
		const directAppHeapMb = await withApp(run, { consul: url }, services);
		const calls = {
			alone: await callTimes(run, node.address, services),
			beside: await besideFlood(run, node.address, services, node.address),
			apart: await besideFlood(run, own.address, services, node.address),
		};
		// One app at each, as long as it is looked at.
		return await whileConnected(run, [own.address, behind.address], services, () => ({
			services: SERVICES,
			instancesEach: INSTANCES_EACH,
			ownSidecar: memoryOf(own),
			nodeSpock: memoryOf(node),
			sidecarBehindNode: memoryOf(behind),
			appHeapMb,
			directAppHeapMb,
			...calls,
		}));
	} finally {
		for (const server of servers) await server.close();
	}
}

/** Memory of an app's heap before and after it has looked up all services, in MB. */
async function withApp(
	run: ConsulScaleRun,
	at: ScaleAppsSettings['at'][number],
	services: readonly string[],
): Promise<number> {
	const app = await startHelper(run, 'scale-apps', { at: [at], services }, { flags: ['--expose-gc'] });
	try {
		const before = (await app.ask({ kind: 'memory' })) as { heap: number };
		await app.ask({ kind: 'connect', count: 1 });
		const after = (await app.ask({ kind: 'memory' })) as { heap: number };
		return (after.heap - before.heap) / 2 ** 20;
	} finally {
		await app.close();
	}
}

async function whileConnected<T>(
	run: ConsulScaleRun,
	at: readonly string[],
	services: readonly string[],
	look: () => T,
): Promise<T> {
	const apps: LoadClient = await startHelper(run, 'scale-apps', { at, services });
	try {
		await apps.ask({ kind: 'connect', count: at.length });
		return look();
	} finally {
		await apps.close();
	}
}

/** One app calls while another one floods the Spock at `flooded`. */
async function besideFlood(
	run: ConsulScaleRun,
	path: string,
	services: readonly string[],
	flooded: string,
): Promise<CallTimes> {
	const flood = await startHelper(run, 'scale-flood', { path: flooded, service: services[0] });
	try {
		return await callTimes(run, path, services);
	} finally {
		await flood.close();
	}
}

async function callTimes(run: ConsulScaleRun, path: string, services: readonly string[]): Promise<CallTimes> {
	const caller = await startHelper(run, 'scale-caller', { path, service: services[0] });
	try {
		await caller.ask({ kind: 'start' });
		await delay(run.quick ? CALL_MS_QUICK : CALL_MS);
		const calls = (await caller.ask({ kind: 'stop' })) as readonly TimedCall[];
		const samples = new Samples();
		for (const [, tookMs] of calls) samples.add(tookMs);
		samples.sort();
		return { p50Ms: samples.percentile(0.5), p99Ms: samples.percentile(0.99) };
	} finally {
		await caller.close();
	}
}

/** From /proc: https://man7.org/linux/man-pages/man5/proc_pid_smaps.5.html */
function memoryOf({ pid }: ServerProcess): ProcessMemory {
	const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
	const [, pssKb = '0'] = /^Pss:\s+(\d+) kB$/m.exec(rollup) ?? [];
	return { rssMb: residentMb(pid), pssMb: Number(pssKb) / 1024 };
}
