import { setMaxListeners } from 'node:events';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { connect } from '@spock/client';

import { startServer } from '../processes.ts';
import { bareGet } from './bare-query.ts';
import { CatalogWriter } from './catalog-writer.ts';
import type { CostContender, CostFigure, Traffic } from './consul-results.ts';
import type { ConsulRun } from './consul-run.ts';
import { CountingProxy } from './counting-proxy.ts';

const SIZES = [1, 10, 100];
const POLL_MS = 5000;
const CHANGE_MS = 1000;
/** More than one wait of a blocking query, so that its end is counted as often as it comes. */
const REST_S = 100;
const CHANGE_S = 60;
const QUICK_S = 10;
/** First answers, and the pause after them, are no part of what is counted. */
const SETTLE_MS = 5000;

/** A pod that watches some services, and the proxy that counts its traffic. */
interface Pod extends AsyncDisposable {
	readonly contender: CostContender;
	readonly services: readonly string[];
	readonly proxy: CountingProxy;
}

/** Connections, queries and bytes between a pod and Consul. All pods at once: they share nothing but Consul. */
export async function measureCost(run: ConsulRun): Promise<CostFigure[]> {
	using writer = new CatalogWriter(run.consul.url);
	const pods: Pod[] = [];
	const aborter = new AbortController();
	setMaxListeners(0, aborter.signal);
	try {
		for (const size of SIZES) {
			pods.push(await startSpock(run, await register(writer, 'spock', size)));
			pods.push(await startPolling(run, await register(writer, 'polling', size)));
		}
		await delay(SETTLE_MS);
		const atRest = await count(pods, run.quick ? QUICK_S : REST_S);
		run.say('what a pod costs Consul at rest');
		const changing = Promise.all(pods.map(({ services }) => changeInTurn(writer, services, aborter.signal)));
		const underChange = await count(pods, run.quick ? QUICK_S : CHANGE_S);
		run.say('what a pod costs Consul under change');
		aborter.abort();
		await changing;
		return pods.map(({ contender, services }, index) => ({
			contender,
			watched: services.length,
			atRest: atRest[index] as Traffic,
			underChange: underChange[index] as Traffic,
		}));
	} finally {
		aborter.abort();
		for (const pod of pods) await pod[Symbol.asyncDispose]();
	}
}

async function register(writer: CatalogWriter, contender: CostContender, size: number): Promise<string[]> {
	const services = Array.from({ length: size }, (_, number) => `cost-${contender}-${size}-${number}`);
	for (const service of services) await writer.put(service, 1);
	return services;
}

async function count(pods: readonly Pod[], seconds: number): Promise<Traffic[]> {
	for (const { proxy } of pods) proxy.reset();
	await delay(seconds * 1000);
	return pods.map(({ proxy }) => proxy.traffic());
}

async function changeInTurn(writer: CatalogWriter, services: readonly string[], signal: AbortSignal): Promise<void> {
	for (let change = 0; !signal.aborted; change++) {
		const due = delay(CHANGE_MS, undefined, { signal }).catch(() => undefined);
		await writer.put(services[change % services.length] as string, 2 + change);
		await due;
	}
}

/** A sidecar, and one client that watches everything. */
async function startSpock({ tools, consul }: ConsulRun, services: readonly string[]): Promise<Pod> {
	const proxy = await CountingProxy.start(consul.url);
	const path = join(tools.directory, `cost-${services.length}.sock`);
	const command = [tools.node, tools.sidecar, 'start', '--backend', 'consul', '--consul', proxy.url, '--socket', path];
	const server = startServer(command, path);
	const diplomat = await connect({ path });
	await Promise.all(services.map((service) => diplomat.getService(service)));
	// Watched, so that nothing is given up as idle however long is counted.
	const watching = services.map(async (service) => {
		for await (const _ of diplomat.watchService(service));
	});
	return {
		contender: 'spock',
		services,
		proxy,
		[Symbol.asyncDispose]: async () => {
			await diplomat.close();
			await Promise.all(watching);
			await server.close();
			await proxy[Symbol.asyncDispose]();
		},
	};
}

/** What is done without a sidecar: every service is asked for every five seconds, each from a moment of its own. */
async function startPolling({ consul }: ConsulRun, services: readonly string[]): Promise<Pod> {
	const proxy = await CountingProxy.start(consul.url);
	const agent = new Agent({ keepAlive: true });
	const aborter = new AbortController();
	const { signal } = aborter;
	setMaxListeners(0, signal);
	const polling = services.map(async (service, number) => {
		await delay((POLL_MS * number) / services.length, undefined, { signal }).catch(() => undefined);
		while (!signal.aborted) {
			const due = delay(POLL_MS, undefined, { signal }).catch(() => undefined);
			await bareGet(`${proxy.url}/v1/health/service/${service}?stale`, agent, signal).catch((error: unknown) => {
				if (!signal.aborted) throw error;
			});
			await due;
		}
	});
	return {
		contender: 'polling',
		services,
		proxy,
		[Symbol.asyncDispose]: async () => {
			aborter.abort();
			await Promise.all(polling);
			agent.destroy();
			await proxy[Symbol.asyncDispose]();
		},
	};
}
