import { setMaxListeners } from 'node:events';
import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

import { connect, type Diplomat } from '@spock/client';

import { followBare } from '../consul/bare-query.ts';
import { CatalogWriter } from '../consul/catalog-writer.ts';
import type { ChangeFigure, Delays } from '../consul/consul-results.ts';
import { Samples } from '../load/samples.ts';

/** Of 1,000 services 850 may be polled: the last of a round is reported then. */
const SETTLE_MS_MAX = 60_000;
const READY_MS_MAX = 60_000;
const FIRST_PORT = 1000;
/** Fewer changes than services reach some of all of them; it divides none of the numbers of services. */
const STRIDE = 7;

/** Changes that were made and when they were seen, told apart by service and port. */
class Sightings {
	readonly #putMs = new Map<string, number>();
	readonly #delays = new Samples();
	readonly #first = new Set<string>();

	/** A change is about to be sent. */
	put(service: string, port: number): void {
		this.#putMs.set(`${service}:${port}`, performance.now());
	}

	saw(service: string, port: number): void {
		const seenMs = performance.now();
		if (port === FIRST_PORT) this.#first.add(service);
		const change = `${service}:${port}`;
		const putMs = this.#putMs.get(change);
		// Seen again, or the first registration: nothing is measured.
		if (putMs === undefined) return;
		this.#putMs.delete(change);
		this.#delays.add(seenMs - putMs);
	}

	/** How many services have been seen as they were first. */
	get services(): number {
		return this.#first.size;
	}

	get unseen(): number {
		return this.#putMs.size;
	}

	delays(): Delays {
		this.#delays.sort();
		const { count } = this.#delays;
		return {
			changes: count + this.unseen,
			unseen: this.unseen,
			p50Ms: this.#delays.percentile(0.5),
			p99Ms: this.#delays.percentile(0.99),
			maxMs: this.#delays.percentile(1),
		};
	}
}

/**
 * Changes in a real Consul, in turn of services that a sidecar watches for a client and of as many that bare blocking queries
 * watch, all seen by this process. Arguments: Consul's address, the sidecar's socket, the number of services of each kind,
 * of changes of each kind, the time between two changes in ms, and where bare queries ask, if not there. Prints one line of JSON.
 */
export async function probeConsulChanges([
	url = '',
	path = '',
	watched = '1',
	changes = '1',
	gap = '20',
	bareUrl = url,
]: readonly string[]): Promise<void> {
	const count = Number(watched);
	const gapMs = Number(gap);
	const [spock, bare] = [new Sightings(), new Sightings()];
	const kinds = [
		{ sightings: spock, name: (number: number) => `spock-${watched}-${number}` },
		{ sightings: bare, name: (number: number) => `bare-${watched}-${number}` },
	] as const;
	const [bySpock, byBare] = kinds;
	using writer = new CatalogWriter(url);
	for (const { name } of kinds)
		for (let number = 0; number < count; number++) await writer.put(name(number), FIRST_PORT);

	const aborter = new AbortController();
	setMaxListeners(0, aborter.signal);
	const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
	const diplomat = await connect({ path });
	const following: Promise<void>[] = [];
	for (let number = 0; number < count; number++) {
		following.push(follow(diplomat, bySpock.name(number), spock));
		const seen = (service: string, port: number): void => bare.saw(service, port);
		following.push(followBare({ url: bareUrl, agent, signal: aborter.signal }, byBare.name(number), seen));
	}
	await until('the first snapshots', () => spock.services === count && bare.services === count, READY_MS_MAX);

	let dueMs = performance.now();
	for (let turn = 0; turn < Number(changes) * 2; turn++) {
		const { name, sightings } = kinds[turn % 2] as (typeof kinds)[number];
		const change = turn >> 1;
		const service = name((change * STRIDE) % count);
		const port = FIRST_PORT + 1 + Math.floor(change / count);
		dueMs += gapMs;
		await delay(Math.max(0, dueMs - performance.now()));
		sightings.put(service, port);
		await writer.put(service, port);
	}
	await until('all changes', () => spock.unseen + bare.unseen === 0, SETTLE_MS_MAX).catch(() => undefined);
	const figure: ChangeFigure = { watched: count, gapMs, spock: spock.delays(), bare: bare.delays() };
	aborter.abort();
	await diplomat.close();
	await Promise.all(following);
	agent.destroy();
	process.stdout.write(`${JSON.stringify(figure)}\n`);
}

async function follow(diplomat: Diplomat, service: string, sightings: Sightings): Promise<void> {
	for await (const { instances } of diplomat.watchService(service)) {
		for (const { port } of instances) sightings.saw(service, port);
	}
}

async function until(what: string, holds: () => boolean, timeoutMs: number): Promise<void> {
	const deadlineMs = performance.now() + timeoutMs;
	while (!holds()) {
		if (performance.now() > deadlineMs) throw new Error(`${what} were not seen within ${timeoutMs} ms`);
		await delay(5);
	}
}
