import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { connect as connectSocket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { connect, type Diplomat } from '@spock/client';
import { type Events, openEvents } from '@spock/client/events';

import { processorTimeUs } from '../load/processor-time.ts';
import { median } from '../load/samples.ts';
import type { EventsFigure } from '../results.ts';
import { SERVICE } from '../servers/catalogue.ts';

/** Where the probe works. */
export interface EventsPlace {
	/** Of a sidecar that takes events. */
	readonly path: string;
	readonly pid: number;
	/** Host and port of its metrics. */
	readonly admin: string;
	/** Of a raw echo. */
	readonly echo: string;
	/** A directory on the file system of the log. */
	readonly directory: string;
	readonly quick: boolean;
}

/** 200 bytes of JSON, as an app's event. */
const SMALL = { page: '/menu', session: '0f8fad5b-d9cb-469f-a165-70867728950e', text: 'x'.repeat(125) };
/** Fits into the first window, so that no round waits for a commit. */
const ROUND = 250;
const MIB = 1_048_576;
/** A slow disk makes figures, and no failure. */
const PATIENCE = { timeoutMs: 120_000 };
/** An event that has not come by then is a failure of the bench, which must not hang. */
const DELIVERY_MS_MAX = 10_000;

/** Figures of events that one app sees. Argument: an {@link EventsPlace} as JSON. Prints one line of JSON. */
export async function probeEvents([text = '']: readonly string[]): Promise<void> {
	const place = JSON.parse(text) as EventsPlace;
	const diplomat = await connect({ path: place.path });
	const events = openEvents({ diplomat });
	await events.publish('bench', SMALL);
	const figures = [
		...(await measureEmit(events, place)),
		await measurePublish(events, place),
		...(await measureThroughput(events, place)),
		...(await measureDelivery(diplomat, events, place)),
		await measureLookups(diplomat, events, place),
	];
	process.stdout.write(`${JSON.stringify(figures)}\n`);
	await diplomat.close();
}

/** Emits so many small events a second. */
async function emitSteadily(events: Events, perSecond: number, until: () => boolean): Promise<void> {
	const startedMs = performance.now();
	for (let sent = 0; !until(); ) {
		const due = ((performance.now() - startedMs) / 1000) * perSecond;
		while (sent < due) {
			sent++;
			if (!events.emit('steady', SMALL)) await events.room(PATIENCE);
		}
		await delay(1);
	}
}

/**
 * What `emit` costs beside what cannot be left out: the JSON, and one string. A round fits into the first window and into one tick, so
 * that neither a wait nor the write of the tick is in it.
 */
async function measureEmit(events: Events, { quick }: EventsPlace): Promise<EventsFigure[]> {
	const emitted: Cost[] = [];
	const floors: Cost[] = [];
	for (let round = 0; round < (quick ? 40 : 200); round++) {
		emitted.push(costOf(() => events.emit('bench', SMALL)));
		await events.flush({ until: 'persisted' });
		floors.push(costOf((index) => line(index)));
	}
	const [ns, floorNs] = [median(emitted.map(({ ns }) => ns)), median(floors.map(({ ns }) => ns))];
	const [bytes, floorBytes] = [median(emitted.map(({ bytes }) => bytes)), median(floors.map(({ bytes }) => bytes))];
	return [
		{
			what: 'emit() of 200 B, beyond JSON.stringify and concatenation',
			unit: 'ns',
			value: ns - floorNs,
			floor: floorNs,
		},
		{
			what: 'emit() of 200 B, bytes allocated beyond those of its line',
			unit: 'B',
			value: bytes - floorBytes,
			floor: floorBytes,
		},
	];
}

/** Of one event. */
interface Cost {
	readonly ns: number;
	readonly bytes: number;
}

let kept = '';

function line(seq: number): void {
	kept = `{"seq":${seq},"func":"event","data":{"stream":"bench","payload":${JSON.stringify(SMALL)}}}\n`;
}

/** Of a round; a collection of the young generation during it is left to the median. */
function costOf(operation: (index: number) => unknown): Cost {
	const { heapUsed } = process.memoryUsage();
	const startedMs = performance.now();
	for (let index = 0; index < ROUND; index++) operation(index);
	const ns = ((performance.now() - startedMs) * 1e6) / ROUND + 0 * kept.length;
	return { ns, bytes: (process.memoryUsage().heapUsed - heapUsed) / ROUND };
}

/** One awaited event at a time, beside an echo and a write with fdatasync. */
async function measurePublish(events: Events, { echo, directory, quick }: EventsPlace): Promise<EventsFigure> {
	const count = quick ? 200 : 1000;
	const file = await open(join(directory, 'floor'), 'w');
	const socket = connectSocket(echo);
	await once(socket, 'connect');
	const bytes = Buffer.from('x'.repeat(200));
	const publishUs: number[] = [];
	const floorUs: number[] = [];
	for (let index = 0; index < count; index++) {
		publishUs.push(await timeUs(() => events.publish('bench', SMALL)));
		floorUs.push(
			await timeUs(async () => {
				socket.write(bytes);
				await once(socket, 'data');
				await file.write(bytes, 0, bytes.length, index * bytes.length);
				await file.datasync();
			}),
		);
	}
	socket.destroy();
	await file.close();
	return { what: 'publish() one at a time, p50', unit: 'µs', value: median(publishUs), floor: median(floorUs) };
}

/**
 * As many as go through, beside a loop that writes and syncs the same bytes in as many batches as the log took in that round; and the
 * processor time of both processes. Rounds alternate.
 */
async function measureThroughput(events: Events, place: EventsPlace): Promise<EventsFigure[]> {
	const figures: EventsFigure[] = [];
	for (const [size, bytesTotal] of [
		[300, place.quick ? 16 * MIB : 64 * MIB],
		[16_384, place.quick ? 32 * MIB : 128 * MIB],
	] as const) {
		const payload = { text: 'x'.repeat(size - 60) };
		const count = Math.floor(bytesTotal / size);
		const seconds: number[] = [];
		const cpuSeconds: number[] = [];
		const floorSeconds: number[] = [];
		for (let round = 0; round < 3; round++) {
			const syncsBefore = await syncsOf(place.admin);
			const cpuBefore = processorTimeUs(process.pid) + processorTimeUs(place.pid);
			const startedMs = performance.now();
			for (let index = 0; index < count; index++) if (!events.emit('bench', payload)) await events.room(PATIENCE);
			await events.flush({ until: 'persisted', ...PATIENCE });
			seconds.push((performance.now() - startedMs) / 1000);
			cpuSeconds.push((processorTimeUs(process.pid) + processorTimeUs(place.pid) - cpuBefore) / 1e6);
			const syncs = (await syncsOf(place.admin)) - syncsBefore;
			floorSeconds.push(await bareLoopSeconds(place.directory, bytesTotal, syncs));
		}
		const name = size === 300 ? '300 B' : '16 kB';
		figures.push({
			what: `persisted events of ${name}`,
			unit: '/s',
			value: count / median(seconds),
			floor: count / median(floorSeconds),
		});
		if (size !== 300) continue;
		const what = 'persisted events of 300 B for a CPU second';
		figures.push({ what, unit: '/s', value: count / median(cpuSeconds), floor: null });
	}
	return figures;
}

/** Batches that the log has written and synced. */
async function syncsOf(admin: string): Promise<number> {
	const metrics = await (await fetch(`http://${admin}/metrics`)).text();
	const count = Number(/^spock_events_sync_seconds_count (\d+)$/m.exec(metrics)?.[1]);
	if (Number.isNaN(count)) throw new Error('the sidecar does not say how often it has synced');
	return count;
}

async function bareLoopSeconds(directory: string, bytesTotal: number, batches: number): Promise<number> {
	const file = await open(join(directory, 'bare'), 'w');
	const batch = Buffer.alloc(Math.ceil(bytesTotal / batches), 'x');
	const startedMs = performance.now();
	for (let offset = 0; offset < bytesTotal; offset += batch.length) {
		await file.writev([batch], offset);
		await file.datasync();
	}
	const seconds = (performance.now() - startedMs) / 1000;
	await file.close();
	return seconds;
}

/** From the moment in which the app knows that it is persisted to its handler, which may be earlier. */
async function measureDelivery(
	diplomat: Diplomat,
	events: Events,
	{ echo, quick }: EventsPlace,
): Promise<EventsFigure[]> {
	const consuming = events.consume('delivery', { from: 'new' });
	const handled = new Map<number, number>();
	const reading = (async () => {
		for await (const event of consuming) {
			handled.set(event.data as number, performance.now());
			event.ack();
		}
	})();
	await diplomat.ping();
	await delay(200);
	const socket = connectSocket(echo);
	await once(socket, 'connect');
	const count = quick ? 100 : 500;
	const deliveryUs: number[] = [];
	const echoUs: number[] = [];
	for (let index = 0; index < count; index++) {
		await events.publish('delivery', index);
		const persistedMs = performance.now();
		while (!handled.has(index)) {
			if (performance.now() - persistedMs > DELIVERY_MS_MAX) throw new Error(`event ${index} was not delivered`);
			await new Promise((resolve) => setImmediate(resolve));
		}
		deliveryUs.push(Math.max(0, ((handled.get(index) ?? 0) - persistedMs) * 1000));
		echoUs.push(
			await timeUs(async () => {
				socket.write('x'.repeat(64));
				await once(socket, 'data');
			}),
		);
	}
	socket.destroy();
	await consuming.return?.();
	await reading;
	return [
		{ what: 'delivery, persisted to handler, p50', unit: 'µs', value: median(deliveryUs), floor: median(echoUs) },
	];
}

/** Lookups over the wire, beside 20,000 events a second of the same app and without. */
async function measureLookups(diplomat: Diplomat, events: Events, { quick }: EventsPlace): Promise<EventsFigure> {
	const alone: number[] = [];
	const beside: number[] = [];
	const take = async (into: number[]): Promise<void> => {
		const latencies: number[] = [];
		const endMs = performance.now() + (quick ? 400 : 1500);
		while (performance.now() < endMs) {
			latencies.push(await timeUs(() => diplomat.getService(SERVICE, { fresh: true })));
			await delay(1);
		}
		latencies.sort((one, other) => one - other);
		into.push(latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN);
	};
	for (let round = 0; round < 3; round++) {
		await take(alone);
		let isDone = false;
		const load = emitSteadily(events, 20_000, () => isDone);
		await take(beside);
		isDone = true;
		await load;
		await events.flush({ until: 'persisted', ...PATIENCE });
	}
	return {
		what: 'a lookup over the wire beside 20,000 events/s, p99',
		unit: 'µs',
		value: median(beside),
		floor: median(alone),
	};
}

async function timeUs(operation: () => Promise<unknown>): Promise<number> {
	const startedMs = performance.now();
	await operation();
	return (performance.now() - startedMs) * 1000;
}
