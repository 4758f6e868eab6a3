import { createDiplomat, type Diplomat } from '@spock/client';
import type { ExplainReply, ServiceSnapshot, StatusReply } from '@spock/protocol';
import { createSidecar, type Sidecar } from '@spock/sidecar';
import { FakeClock, fakeInstance, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { FakeSource } from './fake-source.ts';
import { RawClient } from './raw-client.ts';

const FRAME_BYTES_MAX = 2048;
const FEW = ['10.0.0.1'];
/** Not even in parts does this one fit. */
const TOO_LONG = { instances: [fakeInstance('10.0.0.9', { tags: ['x'.repeat(FRAME_BYTES_MAX)] })] };
const MANY: readonly string[] = Array.from({ length: 40 }, (_, index) => `10.0.0.${index}`);

interface Running extends AsyncDisposable {
	readonly source: FakeSource;
	readonly sidecar: Sidecar;
	readonly path: string;
	/** What the observer was told: connection, name, code. */
	readonly oversize: unknown[][];
}

async function run(frameBytesMax: number | undefined, clock?: FakeClock): Promise<Running> {
	const place = await tempSocket();
	const source = new FakeSource();
	const oversize: unknown[][] = [];
	const sidecar = createSidecar({
		source,
		listen: [{ address: { path: place.path } }],
		limits: { graceMs: 0, ...(frameBytesMax && { frameBytesMax }) },
		observer: { oversize: (connection, name, { code }) => oversize.push([connection, name, code]) },
		...(clock && { clock }),
	});
	await sidecar.start();
	return {
		source,
		sidecar,
		path: place.path,
		oversize,
		[Symbol.asyncDispose]: async () => {
			sidecar.terminate();
			sidecar.terminate();
			await sidecar.ended;
			await place[Symbol.asyncDispose]();
		},
	};
}

function follow(
	diplomat: Diplomat,
	service: string,
): { readonly snapshots: ServiceSnapshot[]; readonly end: Promise<unknown> } {
	const snapshots: ServiceSnapshot[] = [];
	const end = (async () => {
		for await (const snapshot of diplomat.watchService(service)) snapshots.push(snapshot);
	})().catch((error: unknown) => error);
	return { snapshots, end };
}

describe('what is too long for a frame of a client that does not know parts', () => {
	it('a subscriber keeps what it was told before, marked and aging, and gets what fits again', async () => {
		const clock = new FakeClock();
		await using running = await run(FRAME_BYTES_MAX, clock);
		await using client = await RawClient.open(running.path);
		const { verifiedAt } = running.source.publish('barista', FEW);
		await client.ask(1, 'watchService', { service: 'barista' });
		const { revision } = running.source.publish('barista', MANY);
		const told = { service: 'barista', revision, source: 'last-known-good', ageMs: 0, verifiedAt, oversize: true };
		expect(await client.next()).toMatchObject({
			event: 'service',
			data: { ...told, instances: [{ host: '10.0.0.1' }] },
		});
		// It knows: it is not told the same for every further change.
		running.source.publish('barista', MANY.slice(1));
		running.source.publish('barista', ['10.0.0.2']);
		const again = await client.next();
		expect(again).toMatchObject({ data: { source: 'live', instances: [{ host: '10.0.0.2' }] } });
		expect(again?.['data']).not.toHaveProperty('oversize');
		running.source.publish('barista', MANY);
		expect(await client.next()).toMatchObject({ data: { oversize: true, instances: [{ host: '10.0.0.2' }] } });
		expect(running.oversize).toEqual(Array.from({ length: 2 }, () => [1, 'barista', 'FRAME_TOO_LARGE']));
	});

	it('what was stale when it was told does not grow younger', async () => {
		const clock = new FakeClock();
		await using running = await run(FRAME_BYTES_MAX, clock);
		await using client = await RawClient.open(running.path);
		running.source.publish('barista', FEW, { source: 'last-known-good', ageMs: 500 });
		await client.ask(1, 'watchService', { service: 'barista' });
		await clock.advance(250);
		running.source.publish('barista', MANY);
		expect(await client.next()).toMatchObject({ data: { source: 'last-known-good', ageMs: 750, oversize: true } });
	});

	it('a snapshot that is too long at first is a failure with the sizes, and there is no subscription then', async () => {
		await using running = await run(FRAME_BYTES_MAX);
		await using client = await RawClient.open(running.path);
		running.source.publish('barista', MANY);
		const failure = await client.ask(1, 'watchService', { service: 'barista' });
		expect(failure).toMatchObject({
			id: 1,
			error: { code: 'FRAME_TOO_LARGE', retryable: false, details: { frameBytesMax: FRAME_BYTES_MAX } },
		});
		expect(failure?.error?.['details']).toMatchObject({
			frameBytes: expect.toSatisfy((bytes: number) => bytes > FRAME_BYTES_MAX),
		});
		expect(failure?.error?.['message']).toMatch(/raise frameBytesMax/);
		running.source.publish('barista', FEW);
		expect(await client.ask(2, 'ping', 1)).toEqual({ id: 2, data: 1 });
		expect(running.source.watchers).toBe(0);
		// A lookup needs no snapshot.
		running.source.publish('barista', MANY);
		expect(await client.ask(3, 'getService', { service: 'barista' })).toMatchObject({ data: { port: 80 } });
	});

	it('no frame is longer than the client says in hello that it reads', async () => {
		await using running = await run(undefined);
		await using client = await RawClient.open(running.path);
		running.source.publish('barista', FEW);
		await client.ask(1, 'hello', { versions: [1], frameBytesMax: FRAME_BYTES_MAX });
		await client.ask(2, 'watchService', { service: 'barista' });
		running.source.publish('barista', MANY);
		expect(await client.next()).toMatchObject({ data: { oversize: true } });
		expect(await client.ask(3, 'getInstances', { service: 'barista' })).toMatchObject({
			error: { code: 'FRAME_TOO_LARGE', details: { frameBytesMax: FRAME_BYTES_MAX } },
		});
	});

	it('a failure is never too long: its words are cut and its details left out', async () => {
		await using running = await run(FRAME_BYTES_MAX);
		await using client = await RawClient.open(running.path);
		const service = '"'.repeat(500);
		running.source.publish(service, []);
		const failure = await client.ask(1, 'getService', { service });
		expect(failure).toMatchObject({ id: 1, error: { code: 'NO_SUCH_SERVICE', details: {} } });
		expect(JSON.stringify(failure).length).toBeLessThanOrEqual(FRAME_BYTES_MAX);
	});

	it('status counts it, and explain says who has an older snapshot, with as many instances as fit', async () => {
		await using running = await run(FRAME_BYTES_MAX);
		await using client = await RawClient.open(running.path);
		running.source.publish('barista', FEW);
		await client.ask(1, 'watchService', { service: 'barista' });
		expect(running.sidecar.gauges().oversizeSubscriptions).toBe(0);
		running.source.publish('barista', MANY);
		await client.next();
		const status = (await client.ask(2, 'status'))?.['data'] as StatusReply;
		expect(status.oversizeSubscriptions).toBe(1);
		const explained = (await client.ask(3, 'explain', { service: 'barista' }))?.['data'] as ExplainReply;
		expect(explained).toMatchObject({ instanceCount: MANY.length, watchers: [{ connection: 1, oversize: true }] });
		expect(explained.frameBytes).toBeGreaterThan(FRAME_BYTES_MAX);
		expect(explained.instances.length).toBeGreaterThan(2);
		expect(explained.instances.length).toBeLessThan(MANY.length);
		await client.ask(4, 'unwatchService', { service: 'barista' });
		expect(running.sidecar.gauges().oversizeSubscriptions).toBe(0);
	});
});

describe('Diplomat and an instance that is too long for its frames', () => {
	it('keeps its connection and its lookups, and knows that its snapshot is an older one', async () => {
		await using running = await run(undefined);
		running.source.publish('barista', FEW);
		await using diplomat = createDiplomat({ path: running.path, frameBytesMax: FRAME_BYTES_MAX });
		const { snapshots } = follow(diplomat, 'barista');
		await waitFor('the first snapshot', () => snapshots.length === 1);
		running.source.publish('barista', [], TOO_LONG);
		await waitFor('the mark', () => snapshots.length === 2);
		expect(snapshots[1]).toMatchObject({
			oversize: true,
			source: 'last-known-good',
			instances: [{ host: '10.0.0.1' }],
		});
		expect(await diplomat.getService('barista')).toMatchObject({ host: '10.0.0.1', stale: true });
		running.source.publish('barista', ['10.0.0.2']);
		await waitFor('what fits', () => snapshots.length === 3);
		expect(snapshots[2]).toMatchObject({ source: 'live', instances: [{ host: '10.0.0.2' }] });
		expect(diplomat.status()).toMatchObject({ state: 'ready', reconnects: 0, protocolFaults: 0 });
	});

	it('is told FRAME_TOO_LARGE where it never had one, and a lookup over the wire is served', async () => {
		await using running = await run(undefined);
		running.source.publish('barista', [], TOO_LONG);
		await using diplomat = createDiplomat({ path: running.path, frameBytesMax: FRAME_BYTES_MAX });
		const refusal = { code: 'FRAME_TOO_LARGE', details: { frameBytesMax: FRAME_BYTES_MAX } };
		await expect(diplomat.getInstances('barista')).rejects.toMatchObject(refusal);
		await expect(diplomat.getService('barista')).rejects.toMatchObject(refusal);
		expect(await follow(diplomat, 'barista').end).toMatchObject(refusal);
		expect(await diplomat.getService('barista', { fresh: true })).toMatchObject({ port: 80 });
	});
});
