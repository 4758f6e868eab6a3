import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import type * as Client from '@spock/client';
import type * as Discovery from '@spock/discovery';
import { FRAME_BYTES_MAX } from '@spock/protocol';
import type * as Server from '@spock/sidecar';
import { tempSocket } from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { buildVariant, type Framing } from './build-variant.ts';
import { FrameDecoder } from './frame-decoder.ts';
import { LENGTH_BYTES, otherFrame, REQUEST, replyFrame, requestFrame } from './frame-format.ts';

const FRAMINGS: readonly Framing[] = ['newline', 'binary'];
const INSTANCE = { host: '10.0.0.12', port: 8765, id: 'node-1/barista-1' };
const FAR_INSTANCE = { host: '10.0.0.13', port: 80, id: 'düsseldorf/größe-😀', meta: { note: '\u2028 € 😀' } };

interface Built {
	readonly client: typeof Client;
	readonly server: typeof Server;
	readonly discovery: typeof Discovery;
}

/** A sidecar of the build, on a socket of its own. */
async function startSidecar({ server, discovery }: Built) {
	const place = await tempSocket();
	const file = join(place.directory, 'services.json');
	const write = (barista: readonly unknown[]): void =>
		writeFileSync(file, JSON.stringify({ services: { barista, größe: [FAR_INSTANCE] } }));
	write([INSTANCE]);
	const backend = await discovery.createLocalBackend({ file });
	const sidecar = server.createSidecar({
		source: new discovery.BackendSource({ backend }),
		listen: [{ address: { path: place.path } }],
		observer: new server.SidecarMetrics(),
	});
	await sidecar.start();
	return {
		path: place.path,
		/** Gives barista other instances. */
		publish(barista: readonly unknown[]): Promise<void> {
			write(barista);
			return backend.reload();
		},
		async [Symbol.asyncDispose](): Promise<void> {
			sidecar.terminate();
			sidecar.terminate();
			await sidecar.ended;
			await place[Symbol.asyncDispose]();
		},
	};
}

/** Listens beside a sidecar and passes the bytes on in pieces, both ways. */
async function startCutter(target: string, pieceBytes: number) {
	const place = await tempSocket();
	const sent: Buffer[] = [];
	const server = createServer((near) => {
		const far = dial(target);
		const pass = (from: typeof near, to: typeof near): void => {
			from.on('data', async (chunk: Buffer) => {
				if (from === near) sent.push(chunk);
				from.pause();
				for (let start = 0; start < chunk.length; start += pieceBytes) {
					to.write(chunk.subarray(start, start + pieceBytes));
					await new Promise((resolve) => setImmediate(resolve));
				}
				from.resume();
			});
			from.on('error', () => to.destroy());
			from.on('close', () => to.destroy());
		};
		pass(near, far);
		pass(far, near);
	});
	await new Promise<void>((resolve) => server.listen(place.path, resolve));
	return {
		path: place.path,
		/** What clients have sent. */
		sent: () => Buffer.concat(sent),
		async [Symbol.asyncDispose](): Promise<void> {
			await new Promise((resolve) => server.close(resolve));
			await place[Symbol.asyncDispose]();
		},
	};
}

describe.each(FRAMINGS)('the product over %s frames', (framing) => {
	let directory: string;
	let built: Built;
	beforeAll(async () => {
		directory = mkdtempSync(join(tmpdir(), 'spock-framing-'));
		const entry = await buildVariant(framing, directory);
		const load = (name: keyof Built): Promise<unknown> => import(/* @vite-ignore */ pathToFileURL(entry(name)).href);
		built = {
			client: (await load('client')) as typeof Client,
			server: (await load('server')) as typeof Server,
			discovery: (await load('discovery')) as typeof Discovery,
		};
	});
	afterAll(() => rmSync(directory, { recursive: true, force: true }));

	it('answers calls, many at once, with parsed and with remembered replies', async () => {
		await using sidecar = await startSidecar(built);
		await using diplomat = await built.client.connect({ path: sidecar.path, lookups: 'remote' });
		const address = { host: INSTANCE.host, port: INSTANCE.port, instance: INSTANCE.id };
		const lookups = Array.from({ length: 2000 }, () => diplomat.getService('barista'));
		const echoes = Array.from({ length: 500 }, (_, index) => diplomat.request('ping', { index }));
		for (const reply of await Promise.all(lookups)) expect(reply).toMatchObject(address);
		expect(await Promise.all(echoes)).toEqual(Array.from({ length: 500 }, (_, index) => ({ index })));
		expect(await diplomat.getService('barista', { key: 'customer-1' })).toMatchObject(address);
		expect(await diplomat.request('listServices', {})).toMatchObject({ services: expect.anything() });
		expect(diplomat.status()).toMatchObject({ protocolFaults: 0, lateReplies: 0, inFlight: 0 });
	});

	it('rejects a call that fails, and goes on', async () => {
		await using sidecar = await startSidecar(built);
		await using diplomat = await built.client.connect({ path: sidecar.path, lookups: 'remote' });
		await expect(diplomat.getService('nobody')).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
		await expect(diplomat.request('getInstances', { service: 1 } as never)).rejects.toMatchObject({
			code: 'BAD_REQUEST',
		});
		await expect(diplomat.request('nothing' as never, null as never)).rejects.toMatchObject({ code: 'UNKNOWN_FUNC' });
		await expect(diplomat.request('ping', 'x'.repeat(2 * FRAME_BYTES_MAX))).rejects.toMatchObject({
			code: 'FRAME_TOO_LARGE',
		});
		expect(await diplomat.request('ping', 1)).toBe(1);
		expect(diplomat.status()).toMatchObject({ protocolFaults: 0, lateReplies: 0 });
	});

	it('tells the sidecar of a call that its caller gave up', async () => {
		await using sidecar = await startSidecar(built);
		await using diplomat = await built.client.connect({ path: sidecar.path, lookups: 'remote' });
		const controller = new AbortController();
		const call = diplomat.request('ping', 1, { signal: controller.signal });
		controller.abort();
		await expect(call).rejects.toMatchObject({ code: 'ABORTED' });
		expect(await diplomat.request('ping', 2)).toBe(2);
		expect(diplomat.status()).toMatchObject({ protocolFaults: 0, lateReplies: 1 });
	});

	it('pushes changes to those who watch', async () => {
		await using sidecar = await startSidecar(built);
		await using diplomat = await built.client.connect({ path: sidecar.path });
		const hosts: string[][] = [];
		const changes = [[{ ...INSTANCE, host: '10.0.0.14' }], [FAR_INSTANCE, INSTANCE], []];
		for await (const { instances } of diplomat.watchService('barista')) {
			hosts.push(instances.map(({ instance, host }) => `${instance} ${host}`).sort());
			const next = changes.shift();
			if (next === undefined) break;
			await sidecar.publish(next);
		}
		const first = `${INSTANCE.id} ${INSTANCE.host}`;
		expect(hosts).toEqual([[first], [`${INSTANCE.id} 10.0.0.14`], [`${FAR_INSTANCE.id} 10.0.0.13`, first], []]);
		expect(diplomat.status()).toMatchObject({ protocolFaults: 0, lateReplies: 0 });
	});

	it('carries what is not ASCII, among frames that are', async () => {
		await using sidecar = await startSidecar(built);
		await using diplomat = await built.client.connect({ path: sidecar.path, lookups: 'remote' });
		const values = ['plain', 'größe', 'a\u2028b\u2029c \\r\n € 😀', { ключ: ['値', 'é'.repeat(5000)] }, 'plain'];
		expect(await Promise.all(values.map((value) => diplomat.request('ping', value)))).toEqual(values);
		for (let again = 0; again < 3; again++) {
			expect(await diplomat.getService('größe')).toMatchObject({ instance: FAR_INSTANCE.id });
		}
		expect(diplomat.status()).toMatchObject({ protocolFaults: 0, lateReplies: 0 });
	});

	it.each([1, 3, 7, 64])('reads frames that arrive %i bytes at a time', async (pieceBytes) => {
		await using sidecar = await startSidecar(built);
		await using cutter = await startCutter(sidecar.path, pieceBytes);
		await using diplomat = await built.client.connect({ path: cutter.path, lookups: 'remote' });
		const values = Array.from({ length: 20 }, (_, index) => (index % 3 === 0 ? `größe ${index} 😀` : { index }));
		expect(await Promise.all(values.map((value) => diplomat.request('ping', value)))).toEqual(values);
		expect(await diplomat.getService('größe')).toMatchObject({ instance: FAR_INSTANCE.id });
		const isBinary = cutter.sent()[LENGTH_BYTES] === REQUEST;
		expect(isBinary).toBe(framing === 'binary');
		expect(diplomat.status()).toMatchObject({ protocolFaults: 0, lateReplies: 0 });
	});
});

describe('the decoder of binary frames', () => {
	const good = Buffer.from(
		requestFrame(300_000_000, '}') + replyFrame(2 ** 28 - 1, '[1]') + otherFrame('{}'),
		'latin1',
	);
	const large = Buffer.from(replyFrame(7, 'x'.repeat(2000)), 'latin1');
	const unknown = Buffer.from([0, 0, 0, 2, 9, 0x7b]);

	it.each([1, 2, 5, 1000, 10_000])('passes over a frame that is too large, %i bytes at a time', (pieceBytes) => {
		const told: unknown[] = [];
		const decoder = new FrameDecoder(
			{
				frame: (text) => told.push(text),
				numbered: (id, payload) => told.push([id, payload]),
				fault: (code) => told.push(code),
			},
			{ frameBytesMax: 1024 },
		);
		const stream = Buffer.concat([good, large, unknown, good]);
		for (let start = 0; start < stream.length; start += pieceBytes) {
			decoder.push(stream.subarray(start, start + pieceBytes));
		}
		const frames = ['{"id":300000000}', [2 ** 28 - 1, '[1]'], '{}'];
		expect(told).toEqual([...frames, 'FRAME_TOO_LARGE', 'BAD_FRAME', ...frames]);
		expect(decoder.partialBytes).toBe(0);
	});
});
