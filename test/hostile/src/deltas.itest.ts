import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { isDeepStrictEqual } from 'node:util';

import { createDiplomat } from '@spock/client';
import {
	FrameDecoder,
	type ServiceInstance,
	type ServiceSnapshot,
	type SnapshotObserver,
	type SourceWatch,
} from '@spock/protocol';
import { createSidecar, type SidecarSource } from '@spock/sidecar';
import { fakeInstance, tempSocket, waitFor } from '@spock/testkit';
import { hostileMeta, hostileTags, ODD_NAMES, oddName } from '@spock/testkit/hostile';
import { describe, expect, it } from 'vitest';

import { SeededRandom } from './random.ts';
import { type JsonSnapshot, SnapshotReading } from './reference/read-snapshots.ts';

// A real sidecar tells one service to clients of every kind: one that reads whole snapshots, the reference, which knows deltas and
// parts, and Diplomat. After every change all of them must have the same.

const SERVICE = 'barista';
/** So short that most snapshots come in parts to who has such frames. */
const SHORT_FRAME_BYTES = 4096;
const LONG_FRAME_BYTES = 16 * 1024 * 1024;
const CHANGES = 300;

/** A source with one service. */
class OneService {
	snapshot: ServiceSnapshot;
	readonly #observers = new Set<SnapshotObserver>();

	constructor(snapshot: ServiceSnapshot) {
		this.snapshot = snapshot;
	}

	publish(snapshot: ServiceSnapshot): void {
		this.snapshot = Object.freeze(snapshot);
		for (const observer of this.#observers) observer.next(snapshot);
	}

	asSource(): SidecarSource {
		const source = {
			name: 'one service',
			peek: () => this.snapshot,
			get: async () => this.snapshot,
			watch: (_query: unknown, observer: SnapshotObserver): SourceWatch => {
				this.#observers.add(observer);
				observer.next(this.snapshot);
				return { stop: () => void this.#observers.delete(observer) };
			},
			list: async () => ({ services: [], source: 'live' as const, ageMs: 0, verifiedAt: 0 }),
			watches: () => [],
			status: () => ({ name: 'one', state: 'up' as const, addresses: [], error: null, lastSuccessAgeMs: 0 }),
			close: async () => undefined,
		};
		return source as unknown as SidecarSource;
	}
}

/** A connection that reads by the reference. */
class ReferenceClient {
	readonly reading = new SnapshotReading();
	readonly forms = { whole: 0, delta: 0, parts: 0 };
	readonly #socket: Socket;

	static async open(path: string, features: readonly string[], frameBytesMax: number): Promise<ReferenceClient> {
		const socket = connect({ path });
		await once(socket, 'connect');
		return new ReferenceClient(socket, features, frameBytesMax);
	}

	private constructor(socket: Socket, features: readonly string[], frameBytesMax: number) {
		this.#socket = socket;
		const decoder = new FrameDecoder(
			{ frame: (text) => this.#read(JSON.parse(text)), fault: (code) => expect.fail(code) },
			{ frameBytesMax },
		);
		socket.on('data', (chunk: Buffer) => decoder.push(chunk));
		this.#ask(1, 'hello', { versions: [1], features, frameBytesMax });
		this.#ask(2, 'watchService', { service: SERVICE });
	}

	close(): void {
		this.#socket.destroy();
	}

	#ask(id: number, func: string, data: unknown): void {
		this.#socket.write(`${JSON.stringify({ id, func, data })}\n`);
	}

	#read({ id, event, data }: { id?: number; event?: string; data: Record<string, unknown> }): void {
		if (id === 2) this.reading.reply(data);
		if (event === undefined) return;
		if (event === 'service') this.forms['base' in data ? 'delta' : 'parts' in data ? 'parts' : 'whole']++;
		this.reading.push(event, data);
	}
}

function drawInstance(random: SeededRandom): ServiceInstance {
	const name = random.oneIn(2) ? `node-${random.below(40)}/${SERVICE}` : oddName(random.unit);
	return vary(fakeInstance(name === '' && random.oneIn(2) ? 'x' : name, { host: '10.0.0.1' }), random);
}

/** The same instance with another weight, health, tags, metadata, zone or port; the objects are new. */
function vary(instance: ServiceInstance, random: SeededRandom): ServiceInstance {
	// An instance must fit into the short frames.
	const isStrings = (value: unknown): boolean =>
		typeof value === 'object' &&
		value !== null &&
		Object.values(value).every((one) => typeof one === 'string') &&
		JSON.stringify(value).length < SHORT_FRAME_BYTES / 4;
	const tags = hostileTags(random.unit);
	const meta = hostileMeta(random.unit);
	const kind = random.below(7);
	return {
		...instance,
		...(kind === 0 && { weight: random.below(5) }),
		...(kind === 1 && { status: random.pick(['passing', 'warning', 'critical', 'maintenance'] as const) }),
		...(kind === 2 && Array.isArray(tags) && isStrings(tags) && { tags: tags as string[] }),
		...(kind === 3 && !Array.isArray(meta) && isStrings(meta) && { meta: meta as Record<string, string> }),
		...(kind === 4 && { zone: random.pick([null, 'eu-1a', ...ODD_NAMES.slice(0, 4)]) }),
		...(kind === 5 && { port: random.below(65_536) }),
		...(kind === 6 && { tags: [...instance.tags], meta: { ...instance.meta } }),
	};
}

/** What a source may publish next: mostly a few changes, sometimes everything, sometimes a list that is not as it should be. */
function drawNext(before: ServiceSnapshot, random: SeededRandom): ServiceSnapshot {
	const kind = random.below(20);
	let instances = before.instances.map((one) => (random.oneIn(30) ? vary(one, random) : one));
	if (kind === 0) instances = [];
	else if (kind === 1) instances = instances.map((one) => vary(one, random));
	else if (kind < 5 && instances.length > 0) instances.splice(random.below(instances.length), 1 + random.below(5));
	else if (kind < 14) for (let count = random.below(8); count >= 0; count--) instances.push(drawInstance(random));
	const byName = new Map(instances.map((one) => [one.instance, one]));
	instances = [...byName.values()].sort((one, other) => (one.instance < other.instance ? -1 : 1));
	if (kind === 14) instances.reverse();
	const [first] = instances;
	if (kind === 15 && first !== undefined) instances.push(first);
	const isStale = random.oneIn(5);
	const { held: _held, panic: _panic, ...state } = before;
	return {
		...state,
		revision: before.revision + 1 + random.below(3),
		instances: random.oneIn(15) ? before.instances : instances,
		source: isStale ? 'last-known-good' : random.pick(['live', 'live', 'live', 'static'] as const),
		ageMs: isStale ? random.below(1000) : 0,
		verifiedAt: 1_767_225_600_000 + random.below(1_000_000),
		...(random.oneIn(8) && { held: true as const }),
		...(random.oneIn(8) && { panic: true as const }),
	};
}

/** Ages grow while they are read. */
function withoutAge(snapshot: JsonSnapshot | ServiceSnapshot | undefined): unknown {
	return snapshot && { ...snapshot, ageMs: 0 };
}

describe('whatever a source publishes', () => {
	it.each([1, 2, 3])('whole snapshots, deltas and parts come to the same (seed %i)', async (seed) => {
		const random = new SeededRandom(seed);
		const state = { service: SERVICE, source: 'live' as const, ageMs: 0, verifiedAt: 1_767_225_600_000 };
		const service = new OneService({ ...state, revision: 1, instances: [] });
		const place = await tempSocket();
		const sidecar = createSidecar({
			source: service.asSource(),
			listen: [{ address: { path: place.path } }],
			limits: { graceMs: 0, frameBytesMax: LONG_FRAME_BYTES },
		});
		await sidecar.start();
		const open = (features: string[], frameBytesMax: number) =>
			ReferenceClient.open(place.path, features, frameBytesMax);
		const plain = await open(['push'], LONG_FRAME_BYTES);
		// These are told of what does not fit, both the same.
		const short = await open(['push'], SHORT_FRAME_BYTES);
		const shortWithDeltas = await open(['push', 'deltas'], SHORT_FRAME_BYTES);
		const clients = [
			await open(['push', 'deltas'], LONG_FRAME_BYTES),
			await open(['push', 'parts'], SHORT_FRAME_BYTES),
			await open(['push', 'deltas', 'parts'], SHORT_FRAME_BYTES),
		];
		const diplomats = [LONG_FRAME_BYTES, SHORT_FRAME_BYTES].map((frameBytesMax) =>
			createDiplomat({ path: place.path, frameBytesMax }),
		);
		for (const diplomat of diplomats) await diplomat.getInstances(SERVICE);
		let oversizeCount = 0;
		for (let change = 0; change < CHANGES; change++) {
			service.publish(drawNext(service.snapshot, random));
			const { revision } = service.snapshot;
			// Now and then several come at once.
			if (random.oneIn(4)) continue;
			const all = [plain, ...clients];
			await waitFor('the change', () => all.every(({ reading }) => reading.has?.revision === revision));
			await waitFor('the same for those with short frames', () =>
				isDeepStrictEqual(withoutAge(short.reading.has), withoutAge(shortWithDeltas.reading.has)),
			);
			oversizeCount += short.reading.has?.['oversize'] === true ? 1 : 0;
			for (const { reading } of clients) {
				expect(reading.has).toEqual(plain.reading.has);
				expect(JSON.stringify(reading.has?.instances)).toBe(JSON.stringify(plain.reading.has?.instances));
			}
			for (const diplomat of diplomats) {
				await waitFor('the change in Diplomat', async () => {
					return (await diplomat.getInstances(SERVICE)).revision === revision;
				});
				const has = await diplomat.getInstances(SERVICE);
				expect(withoutAge(JSON.parse(JSON.stringify(has)))).toEqual(withoutAge(plain.reading.has));
			}
		}
		expect(oversizeCount).toBeGreaterThan(0);
		expect([shortWithDeltas, ...clients].map(({ reading }) => reading.asks)).toEqual([0, 0, 0, 0]);
		expect(plain.forms).toMatchObject({ delta: 0, parts: 0 });
		const [deltas, parts, both] = clients.map(({ forms }) => forms);
		expect(deltas).toMatchObject({
			whole: expect.toSatisfy((n) => n > 0),
			delta: expect.toSatisfy((n) => n > 50),
			parts: 0,
		});
		expect(parts).toMatchObject({ delta: 0, parts: expect.toSatisfy((n) => n > 0) });
		expect(both).toMatchObject({ delta: expect.toSatisfy((n) => n > 50), parts: expect.toSatisfy((n) => n > 0) });
		for (const client of [plain, short, shortWithDeltas, ...clients]) client.close();
		for (const diplomat of diplomats) {
			expect(diplomat.status()).toMatchObject({ protocolFaults: 0, reconnects: 0 });
			await diplomat.close();
		}
		sidecar.terminate();
		await sidecar.ended;
		await place[Symbol.asyncDispose]();
	});
});
