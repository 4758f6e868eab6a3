import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { connect } from '@spock/client';
import { type Events, openEvents } from '@spock/client/events';
import { freePort, type RunningProcess, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { countFromEnv } from '../count-from-env.ts';

/** `npm run suite outage` asks for 600. */
const SECONDS = countFromEnv('SPOCK_OUTAGE_SECONDS', 10);
const RATE = countFromEnv('SPOCK_OUTAGE_RATE', 5000);
const COUNT = SECONDS * RATE;
/** What an event may need of a log: about 300 bytes, with as much again for what a log adds, and what it keeps for a while. */
const LOG_BYTES_MAX = 64 * 1024 * 1024 + COUNT * 700;
const TEXT = 'x'.repeat(200);
const LOG = ['--log-format', 'json', '--drain-timeout-ms', '100', '--backend', 'local'];
/** Generous, because other work may share the machine. */
const STORED_MS_MAX = 120_000 + COUNT;

interface Payload {
	readonly count: number;
	readonly text: string;
}

type Emitting = Events<{ orders: Payload }>;

/** What a consumer of the next sidecar was given. */
class Book {
	events = 0;
	lost = 0;
	/** Events that are not behind all that came before them: twice, or out of order. */
	notNew = 0;
	last = 0;

	note({ count }: Payload): void {
		this.events++;
		if (count <= this.last) this.notNew++;
		else this.lost += count - this.last - 1;
		this.last = Math.max(this.last, count);
	}
}

/** Resident memory of a process, in MiB. */
async function memoryOf({ pid }: RunningProcess): Promise<number> {
	const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
	return Math.round(Number(kilobytes) / 1024);
}

/** Emits at the rate; what it could not emit while there was no room it makes up for. Gives the last number. */
async function emitFor(events: Emitting, seconds: number, from: number): Promise<number> {
	const last = from + seconds * RATE;
	const startedMs = performance.now();
	for (let count = from; count < last; ) {
		const due = Math.min(last, from + Math.floor(((performance.now() - startedMs) / 1000) * RATE));
		let hasRoom = true;
		while (count < due && hasRoom) hasRoom = events.emit('orders', { count: ++count, text: TEXT });
		if (!hasRoom) await events.room({ timeoutMs: 60_000 });
		await delay(10);
	}
	return last;
}

it(
	`${COUNT} events while the next sidecar is away, and the first one is killed: each is stored once, in order`,
	async () => {
		await using edge = await tempSocket();
		await using centre = await tempSocket();
		const port = await freePort();
		const bytes = ['--events-bytes-max', String(LOG_BYTES_MAX), '--events-free-bytes-min', '1048576'];
		const start = (path: string, directory: string, more: readonly string[]): Promise<RunningProcess> =>
			startSidecar(path, [...LOG, '--events', join(directory, 'events'), ...bytes, ...more]);
		const startEdge = (): Promise<RunningProcess> =>
			start(edge.path, edge.directory, ['--events-store', 'relay', '--events-relay-address', `127.0.0.1:${port}`]);
		const startNext = (): Promise<RunningProcess> =>
			start(centre.path, centre.directory, [
				'--listen',
				`127.0.0.1:${port}`,
				'--events-retention-bytes',
				String(LOG_BYTES_MAX),
			]);
		let sidecar = await startEdge();
		await using diplomat = await connect({ path: edge.path });
		await using events = openEvents<{ orders: Payload }>({ diplomat });
		let next = await startNext();
		events.emit('orders', { count: 1, text: TEXT });
		await events.flush({ until: 'stored', timeoutMs: 60_000 });
		await next.stop('SIGKILL');

		const memory: Record<string, number> = { start: await memoryOf(sidecar) };
		const startedMs = performance.now();
		let last = await emitFor(events, Math.floor(SECONDS / 2), 1);
		memory['before the kill'] = await memoryOf(sidecar);
		await sidecar.stop('SIGKILL');
		sidecar = await startEdge();
		last = await emitFor(events, SECONDS - Math.floor(SECONDS / 2), last);
		await events.flush({ until: 'persisted', timeoutMs: 60_000 });
		memory['end of the outage'] = await memoryOf(sidecar);
		const awayMs = performance.now() - startedMs;

		next = await startNext();
		const backMs = performance.now();
		await using consuming = await connect({ path: centre.path });
		await using consumers = openEvents<{ orders: Payload }>({ diplomat: consuming });
		const book = new Book();
		const reading = (async () => {
			for await (const event of consumers.consume('orders', { from: 'first', inFlightMax: 4096 })) {
				book.note(event.data);
				event.ack();
				if (event.data.count >= last) break;
			}
		})();
		let most = 0;
		const isStored = events.flush({ until: 'stored', timeoutMs: STORED_MS_MAX }).then(() => true);
		while (!(await Promise.race([isStored, delay(500, false)]))) most = Math.max(most, await memoryOf(sidecar));
		const storedMs = performance.now() - backMs;
		memory['most while it is sent'] = most;
		memory['end'] = await memoryOf(sidecar);
		await waitFor('all of it at the consumer', () => book.last >= last, STORED_MS_MAX);
		await reading;
		const { events: seen, lost, notNew } = book;
		const figures = {
			...{ seen, lost, notNew, awaySeconds: Math.round(awayMs / 1000), sentSeconds: Math.round(storedMs / 1000) },
			...{ memoryInMiB: memory, memoryOfNextInMiB: await memoryOf(next) },
		};
		process.stdout.write(`${JSON.stringify(figures)}\n`);
		expect(figures).toMatchObject({ seen: last, lost: 0, notNew: 0 });
		await sidecar.stop();
		await next.stop();
	},
	300_000 + SECONDS * 1000 + 2 * STORED_MS_MAX,
);
