import { freemem } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

import { CountingProxy } from '../../consul/counting-proxy.ts';
import type { LoadClient, ServerProcess } from '../../processes.ts';
import type { ScaleSidecarsCommand, ScaleSidecarsSettings } from '../processes/scale-sidecars.ts';
import type { ConsulLoad, HeldFigure } from '../scale-results.ts';
import { type ConsulScaleRun, startHelper, startSpock } from '../scale-run.ts';
import { registerServices, serviceNames } from './registered-services.ts';

const SIZE = { sidecars: 1000, nodes: 10, services: 10, countS: 90 };
const SIZE_QUICK = { sidecars: 20, nodes: 2, services: 3, countS: 3 };
const INSTANCES_EACH = 5;
/** Sidecars that share a process. */
const SHARED_BY = 100;
/** A process of its own takes so much; others need memory too. */
const OWN_PROCESS_MB = 110;
const OWN_PROCESSES_MAX = 100;
const FREE_PART = 4;
/** Processes that start at once: more of them are late for each other on two cores. */
const STARTED_AT_ONCE = 5;
const START_MS_MAX = 600_000;
/** First answers, and the pause behind them, are no part of what is counted. */
const SETTLE_MS = 10_000;
const SETTLE_MS_QUICK = 1000;

type Size = typeof SIZE;

/** What sidecars that all watch the same services cost Consul: through node Spocks, and each by itself. */
export async function measureHeldQueries(run: ConsulScaleRun): Promise<HeldFigure> {
	const size = run.quick ? SIZE_QUICK : SIZE;
	const services = serviceNames('held', size.services);
	await registerServices(run.consul.url, services, INSTANCES_EACH);
	const room = Math.floor(freemem() / 2 ** 20 / FREE_PART / OWN_PROCESS_MB);
	const ownProcesses = Math.min(run.quick ? 2 : OWN_PROCESSES_MAX, room, size.sidecars);
	const through = await measureThrough(run, size, services, ownProcesses);
	run.say(`held queries: ${through.held} through ${size.nodes} node Spocks`);
	const without = await measureWithout(run, size, services);
	run.say(`held queries: ${without.held} without`);
	const { sidecars, nodes } = size;
	return { sidecars, ownProcesses, nodes, services: services.length, through, without };
}

async function measureThrough(
	run: ConsulScaleRun,
	size: Size,
	services: readonly string[],
	ownProcesses: number,
): Promise<ConsulLoad> {
	await using proxy = await CountingProxy.start(run.consul.url);
	await using running = new Running();
	const backend = ['--backend', 'consul', '--consul', proxy.url];
	const nodes = Array.from({ length: size.nodes }, (_, number) => startSpock(run, `node-${number}`, backend));
	running.servers.push(...nodes);
	const own: ServerProcess[] = [];
	while (own.length < ownProcesses) {
		const some = Array.from({ length: Math.min(STARTED_AT_ONCE, ownProcesses - own.length) }, (_, index) => {
			const node = nodes[(own.length + index) % nodes.length]?.address ?? '';
			return startSpock(run, `own-${own.length + index}`, ['--backend', 'spock', '--upstream', `unix:${node}`]);
		});
		own.push(...some);
		running.servers.push(...some);
		// Their apps: connected, these sidecars have started.
		const apps = await startHelper(run, 'scale-apps', { at: some.map(({ address }) => address), services });
		running.helpers.push(apps);
		await apps.ask({ kind: 'connect', count: some.length }, START_MS_MAX);
	}
	const shared = await startShared(run, running, size.sidecars - ownProcesses, {
		services,
		nodes: nodes.map(({ address }) => address),
		consul: run.consul.url,
	});
	await delay(run.quick ? SETTLE_MS_QUICK : SETTLE_MS);
	proxy.reset();
	await tellAll(shared, 'reset');
	await delay(size.countS * 1000);
	// Nothing, if they ask node Spocks alone.
	const others = await tellAll(shared, 'count');
	return sum([{ ...proxy.traffic(), held: proxy.held, failed: proxy.failed }, ...others]);
}

async function measureWithout(run: ConsulScaleRun, size: Size, services: readonly string[]): Promise<ConsulLoad> {
	await using running = new Running();
	const settings = { services, nodes: [], consul: run.consul.url };
	const shared = await startShared(run, running, size.sidecars, settings);
	await delay(run.quick ? SETTLE_MS_QUICK : SETTLE_MS);
	await tellAll(shared, 'reset');
	await delay(size.countS * 1000);
	return sum(await tellAll(shared, 'count'));
}

/** Sidecars in processes that they share, started one process after the other. */
async function startShared(
	run: ConsulScaleRun,
	running: Running,
	count: number,
	settings: Omit<ScaleSidecarsSettings, 'paths'>,
): Promise<LoadClient[]> {
	const helpers: LoadClient[] = [];
	for (let left = count; left > 0; left -= SHARED_BY) {
		const paths = Array.from({ length: Math.min(left, SHARED_BY) }, () => run.place('pod.sock'));
		const helper = await startHelper(run, 'scale-sidecars', { ...settings, paths });
		running.helpers.push(helper);
		helpers.push(helper);
		await helper.ask({ kind: 'start' } satisfies ScaleSidecarsCommand, START_MS_MAX);
	}
	return helpers;
}

async function tellAll(helpers: readonly LoadClient[], kind: ScaleSidecarsCommand['kind']): Promise<ConsulLoad[]> {
	return (await Promise.all(helpers.map((helper) => helper.ask({ kind })))) as ConsulLoad[];
}

function sum(parts: readonly ConsulLoad[]): ConsulLoad {
	const total = (of: (part: ConsulLoad) => number): number => parts.reduce((all, part) => all + of(part), 0);
	return {
		held: total(({ held }) => held),
		failed: total(({ failed }) => failed),
		connections: total(({ connections }) => connections),
		queriesAMinute: total(({ queriesAMinute }) => queriesAMinute),
		seconds: Math.min(...parts.map(({ seconds }) => seconds)),
	};
}

/** Processes of one measurement: helpers end before the servers that they are connected to. */
class Running implements AsyncDisposable {
	readonly servers: ServerProcess[] = [];
	readonly helpers: LoadClient[] = [];

	async [Symbol.asyncDispose](): Promise<void> {
		await Promise.all(this.helpers.map((helper) => helper.close()));
		await Promise.all(this.servers.map((server) => server.close()));
	}
}
