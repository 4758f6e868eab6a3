import { setTimeout as delay } from 'node:timers/promises';

import { connect, type Diplomat } from '@spock/client';
import { Pool } from 'undici';

import { median, Samples } from '../load/samples.ts';
import type { WatchersFigure } from '../results.ts';
import { SERVICE } from '../servers/catalogue.ts';

/** Between two changes: a watch asks Consul at most once a second, and a faster writer would measure only that. */
const CHANGE_MS = 1100;
const SETTLE_MS_MAX = 10_000;

/** When each change, told by the port that it sets, was seen. */
class Sightings {
	readonly #atMs = new Map<number, number>();
	readonly #counts = new Map<number, number>();
	readonly #needed: number;

	constructor(needed: number) {
		this.#needed = needed;
	}

	saw(port: number): void {
		const count = (this.#counts.get(port) ?? 0) + 1;
		this.#counts.set(port, count);
		if (count === this.#needed) this.#atMs.set(port, performance.now());
	}

	atMs(port: number): number | undefined {
		return this.#atMs.get(port);
	}
}

/**
 * Changes in a real Consul, seen by a bare blocking query and by a number of clients at the same time. Arguments: Consul's
 * address, the sidecar's socket, the number of clients, the number of changes. Prints one line of JSON.
 */
export async function probeWatchers([
	url = '',
	path = '',
	watchers = '1',
	changes = '1',
]: readonly string[]): Promise<void> {
	const pool = new Pool(url, { connections: 4 });
	const bare = new Sightings(1);
	const last = new Sightings(Number(watchers));
	const aborter = new AbortController();
	const diplomats: Diplomat[] = [];
	await register(pool, 1);
	for (let index = 0; index < Number(watchers); index++) {
		const diplomat = await connect({ path });
		diplomats.push(diplomat);
		void follow(diplomat, last);
	}
	const querying = followBare(pool, bare, aborter.signal);
	await until(() => last.atMs(1) !== undefined && bare.atMs(1) !== undefined);
	const putMs: number[] = [];
	for (let port = 2; port <= Number(changes) + 1; port++) {
		await delay(CHANGE_MS);
		putMs[port] = performance.now();
		await register(pool, port);
		await until(() => last.atMs(port) !== undefined && bare.atMs(port) !== undefined);
	}
	aborter.abort();
	await querying;
	await Promise.all(diplomats.map((diplomat) => diplomat.close()));
	await pool.close();
	process.stdout.write(`${JSON.stringify(figure(Number(watchers), putMs, bare, last))}\n`);
}

function figure(watchers: number, putMs: readonly number[], bare: Sightings, last: Sightings): WatchersFigure {
	const ports = Object.keys(putMs).map(Number);
	const since = (sightings: Sightings): number[] =>
		ports.map((port) => (sightings.atMs(port) as number) - (putMs[port] as number));
	const [bareMs, lastMs] = [since(bare), since(last)];
	const addedMs = lastMs.map((ms, index) => ms - (bareMs[index] as number));
	return {
		watchers,
		changes: ports.length,
		bareP50Ms: median(bareMs),
		bareP99Ms: p99(bareMs),
		lastP50Ms: median(lastMs),
		lastP99Ms: p99(lastMs),
		addedP50Ms: median(addedMs),
		addedP99Ms: p99(addedMs),
	};
}

function p99(values: readonly number[]): number {
	const samples = new Samples();
	for (const value of values) samples.add(value);
	samples.sort();
	return samples.percentile(0.99);
}

async function register(pool: Pool, port: number): Promise<void> {
	const body = JSON.stringify({ ID: SERVICE, Name: SERVICE, Address: '10.0.0.12', Port: port });
	const response = await pool.request({ method: 'PUT', path: '/v1/agent/service/register', body });
	await response.body.dump();
	if (response.statusCode !== 200) throw new Error(`registering was answered ${response.statusCode}`);
}

async function follow(diplomat: Diplomat, sightings: Sightings): Promise<void> {
	for await (const { instances } of diplomat.watchService(SERVICE)) {
		for (const { port } of instances) sightings.saw(port);
	}
}

/** What a client does that has nothing but Consul's HTTP API: the next query as soon as one is answered. */
async function followBare(pool: Pool, sightings: Sightings, signal: AbortSignal): Promise<void> {
	let index = '0';
	while (!signal.aborted) {
		try {
			const path = `/v1/health/service/${SERVICE}?index=${index}&wait=60s&stale`;
			const { headers, body } = await pool.request({ method: 'GET', path, signal, headersTimeout: 90_000 });
			const entries = (await body.json()) as { Service: { Port: number } }[];
			index = String(headers['x-consul-index'] ?? '0');
			for (const { Service } of entries) sightings.saw(Service.Port);
		} catch (error) {
			if (!signal.aborted) throw error;
		}
	}
}

async function until(holds: () => boolean): Promise<void> {
	const deadlineMs = performance.now() + SETTLE_MS_MAX;
	while (!holds()) {
		if (performance.now() > deadlineMs) throw new Error('a change was not seen by everybody');
		await delay(5);
	}
}
