import { once } from 'node:events';
import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { PassThrough, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';
import { freePort, startSidecar, tempSocket } from '@spock/testkit';
import { expect, it } from 'vitest';

const LOG = ['--backend', 'local', '--log-format', 'json', '--drain-timeout-ms', '100'];
const EVENTS = 600;
const TEXT = 'x'.repeat(16_000);
const MEGABYTE = 1_000_000;

/** What a link is like until so many bytes have passed. */
const PHASES = [
	{ untilBytes: 3 * MEGABYTE, bitsPerSecond: 100 * MEGABYTE, latencyMs: 5 },
	{ untilBytes: 4.5 * MEGABYTE, bitsPerSecond: 5 * MEGABYTE, latencyMs: 150 },
	{ untilBytes: Number.POSITIVE_INFINITY, bitsPerSecond: 100 * MEGABYTE, latencyMs: 5 },
] as const;

/** A link to a port of this machine, of which the phases are by what has passed to that side. */
class VaryingLink {
	readonly #target: number;
	#passedBytes = 0;
	readonly phases = new Set<object>();

	constructor(target: number) {
		this.#target = target;
	}

	async listen(): Promise<{ readonly port: number; close(): void }> {
		const sockets = new Set<Socket>();
		const server = createServer((near) => {
			const far = connectTo(this.#target, '127.0.0.1');
			for (const socket of [near, far]) {
				sockets.add(socket);
				socket.on('error', () => undefined);
			}
			for (const way of [pipeline(near, this.#slow(), far), pipeline(far, new PassThrough(), near)]) {
				way.catch(() => undefined);
			}
		}).listen(0, '127.0.0.1');
		await once(server, 'listening');
		const close = (): void => {
			for (const socket of sockets) socket.destroy();
			server.close();
		};
		return { port: (server.address() as AddressInfo).port, close };
	}

	/** One chunk at a time, as long as its bytes take; the latency is that of the first one behind a pause. */
	#slow(): Transform {
		let freeMs = 0;
		return new Transform({
			transform: (chunk: Uint8Array, _encoding, done) => {
				this.#passedBytes += chunk.length;
				const phase = PHASES.find(({ untilBytes }) => this.#passedBytes < untilBytes) ?? PHASES[0];
				this.phases.add(phase);
				const nowMs = performance.now();
				const beginMs = freeMs < nowMs ? nowMs + phase.latencyMs : freeMs;
				freeMs = beginMs + (chunk.length * 8000) / phase.bitsPerSecond;
				setTimeout(() => done(null, chunk), freeMs - nowMs);
			},
		});
	}
}

it('over a link that goes from 100 to 5 Mbit/s and back, and from 5 to 150 ms, every event gets there once, in order', {
	timeout: 180_000,
}, async () => {
	await using edge = await tempSocket();
	await using centre = await tempSocket();
	const port = await freePort();
	const link = new VaryingLink(port);
	const near = await link.listen();
	await using next = await startSidecar(centre.path, [
		...LOG,
		...['--events', join(centre.directory, 'events'), '--listen', `127.0.0.1:${port}`],
	]);
	await using sidecar = await startSidecar(edge.path, [
		...[...LOG, '--events', join(edge.directory, 'events'), '--events-store', 'relay'],
		...['--events-relay-address', `127.0.0.1:${near.port}`, '--events-relay-compression', 'none'],
	]);
	await using diplomat = await connect({ path: edge.path });
	await using events = openEvents<{ orders: { readonly count: number; readonly text: string } }>({ diplomat });
	for (let count = 1; count <= EVENTS; count++) {
		if (!events.emit('orders', { count, text: TEXT })) await events.room({ timeoutMs: 60_000 });
	}
	await events.flush({ until: 'stored', timeoutMs: 120_000 });
	expect(link.phases.size).toBe(PHASES.length);
	await using consuming = await connect({ path: centre.path });
	await using consumers = openEvents<{ orders: { readonly count: number } }>({ diplomat: consuming });
	const counts: number[] = [];
	for await (const event of consumers.consume('orders', { from: 'first' })) {
		counts.push(event.data.count);
		event.ack();
		if (event.data.count === EVENTS) break;
	}
	expect(counts).toEqual(Array.from({ length: EVENTS }, (_, index) => index + 1));
	expect(sidecar.stdout() + sidecar.stderr()).not.toContain('event store failed');
	await sidecar.stop();
	await next.stop();
	near.close();
});
