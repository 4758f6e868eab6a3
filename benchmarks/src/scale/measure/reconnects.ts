import { setTimeout as delay } from 'node:timers/promises';

import { processorTimeUs } from '../../load/processor-time.ts';
import { Samples } from '../../load/samples.ts';
import { type LoadClient, type ServerProcess, startServer } from '../../processes.ts';
import type { BackReport, ScaleAppsCommand } from '../processes/scale-apps.ts';
import type { TimedCall } from '../processes/scale-caller.ts';
import type { ReconnectsFigure, RestartFigure } from '../scale-results.ts';
import { type ConsulScaleRun, startHelper } from '../scale-run.ts';
import { registerServices, serviceNames } from './registered-services.ts';

const SIZE = { connections: 1000, restarts: 5 };
const SIZE_QUICK = { connections: 10, restarts: 1 };
const SERVICES = 10;
const INSTANCES_EACH = 10;
const CONNECT_MS_MAX = 300_000;
const BACK_MS_MAX = 30_000;
/** How often the processor time of the new process is noted. */
const SAMPLE_MS = 5;
/** Between restarts, so that clients' back-offs begin anew. */
const CALM_MS = 6000;
const CALM_MS_QUICK = 500;

/** A node Spock over a real Consul is killed and started again at once, under many connections and one client that calls. */
export async function measureReconnects(run: ConsulScaleRun): Promise<ReconnectsFigure> {
	const { connections, restarts } = run.quick ? SIZE_QUICK : SIZE;
	const services = serviceNames('storm', SERVICES);
	await registerServices(run.consul.url, services, INSTANCES_EACH);
	const path = run.place('storm.sock');
	let node = startNode(run, path);
	let apps: LoadClient | undefined;
	let caller: LoadClient | undefined;
	const figures: RestartFigure[] = [];
	try {
		apps = await startHelper(run, 'scale-apps', { at: [path], services });
		await apps.ask({ kind: 'connect', count: connections } satisfies ScaleAppsCommand, CONNECT_MS_MAX);
		caller = await startHelper(run, 'scale-caller', { path, service: services[0] });
		for (let restart = 0; restart < restarts; restart++) {
			await delay(run.quick ? CALM_MS_QUICK : CALM_MS);
			await apps.ask({ kind: 'watch' });
			await caller.ask({ kind: 'start' });
			const killedAtMs = performance.timeOrigin + performance.now();
			process.kill(node.pid, 'SIGKILL');
			await node.close();
			node = startNode(run, path);
			const figure = await restarted(node, apps, caller, killedAtMs);
			figures.push(figure);
			run.say(`restart ${restart + 1}: all back ${Math.round(figure.backMs)} ms after the first`);
		}
		return { connections, services: services.length, restarts: figures };
	} finally {
		await caller?.close();
		await apps?.close();
		await node.close();
	}
}

function startNode({ tools, consul }: ConsulScaleRun, path: string): ServerProcess {
	const backend = ['--backend', 'consul', '--consul', consul.url];
	return startServer([tools.node, tools.sidecar, 'start', '--socket', path, ...backend], path);
}

async function restarted(
	node: ServerProcess,
	apps: LoadClient,
	caller: LoadClient,
	killedAtMs: number,
): Promise<RestartFigure> {
	const times: { readonly atMs: number; readonly us: number }[] = [];
	const note = (): void => {
		times.push({ atMs: performance.timeOrigin + performance.now(), us: processorTimeUs(node.pid) });
	};
	const noting = setInterval(note, SAMPLE_MS);
	const command: ScaleAppsCommand = { kind: 'back', timeoutMs: BACK_MS_MAX };
	const back = (await apps.ask(command, BACK_MS_MAX * 2)) as BackReport;
	clearInterval(noting);
	note();
	const calls = (await caller.ask({ kind: 'stop' })) as readonly TimedCall[];
	if (back.missing > 0) throw new Error(`${back.missing} clients were not back within ${BACK_MS_MAX} ms`);
	const { firstAtMs, lastAtMs } = back;
	const usAt = (momentMs: number): number => (times.findLast(({ atMs }) => atMs <= momentMs) ?? times[0])?.us ?? 0;
	const samples = new Samples();
	for (const [atMs, tookMs] of calls) if (atMs >= firstAtMs && atMs <= lastAtMs) samples.add(tookMs);
	samples.sort();
	return {
		awayMs: firstAtMs - killedAtMs,
		backMs: lastAtMs - firstAtMs,
		cpuMs: (usAt(lastAtMs) - usAt(firstAtMs)) / 1000,
		calls: samples.count,
		callP50Ms: samples.percentile(0.5),
		callP99Ms: samples.percentile(0.99),
		failedLookups: back.failedLookups,
	};
}
