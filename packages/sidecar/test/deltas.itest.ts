import { createDiplomat } from '@spock/client';
import type { ExplainReply, ServiceSnapshot, StatusReply } from '@spock/protocol';
import { createSidecar } from '@spock/sidecar';
import { tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { FakeSource } from './fake-source.ts';
import { type Frame, RawClient } from './raw-client.ts';

const SHORT_FRAME_BYTES = 2048;
const MANY: readonly string[] = Array.from({ length: 40 }, (_, index) => `10.0.0.${100 + index}`);
const KNOWS = ['push', 'deltas', 'parts'];

async function run() {
	const place = await tempSocket();
	const source = new FakeSource();
	const forms: unknown[] = [];
	const sidecar = createSidecar({
		source,
		listen: [{ address: { path: place.path } }],
		limits: { graceMs: 0 },
		observer: { pushed: (outcome, form, bytes) => forms.push([outcome, form, bytes]) },
	});
	await sidecar.start();
	return {
		...{ source, sidecar, forms, path: place.path },
		/** A client that has said hello and watches. */
		watcher: async (features: readonly string[], frameBytesMax = 1_048_576): Promise<RawClient> => {
			const client = await RawClient.open(place.path);
			await client.ask(1, 'hello', { versions: [1], features, frameBytesMax });
			client.request(2, 'watchService', { service: 'barista' });
			return client;
		},
		[Symbol.asyncDispose]: async () => {
			sidecar.terminate();
			sidecar.terminate();
			await sidecar.ended;
			await place[Symbol.asyncDispose]();
		},
	};
}

const dataOf = (frame: Frame | undefined) => frame?.['data'] as Record<string, unknown>;

describe('a watcher', () => {
	it('gets what its hello says that it reads: the whole, or what has changed', async () => {
		await using running = await run();
		running.source.publish('barista', MANY);
		await using plain = await running.watcher(['push']);
		await using knowing = await running.watcher(['push', 'deltas']);
		await plain.next();
		const first = dataOf(await knowing.next());
		const { revision } = running.source.publish('barista', MANY.slice(1));
		expect(dataOf(await plain.next())['instances']).toHaveLength(MANY.length - 1);
		const delta = dataOf(await knowing.next());
		expect(delta).toMatchObject({ revision, base: first['revision'], changed: [], gone: [MANY[0]] });
		expect(delta).not.toHaveProperty('instances');
	});

	it('that has read nothing for a while gets a delta on what it has', async () => {
		await using running = await run();
		running.source.publish('barista', MANY);
		await using client = await running.watcher(KNOWS);
		const base = dataOf(await client.next())['revision'];
		// One after the other: each builds on the one before.
		const revisions = [1, 2, 3].map((count) => running.source.publish('barista', MANY.slice(count)).revision);
		const bases = [];
		for (const revision of revisions) {
			const data = dataOf(await client.next());
			expect(data['revision']).toBe(revision);
			bases.push(data['base']);
		}
		expect(bases).toEqual([base, ...revisions.slice(0, -1)]);
	});

	it('that asks again gets the whole, and the next delta builds on that', async () => {
		await using running = await run();
		running.source.publish('barista', MANY);
		await using client = await running.watcher(KNOWS);
		await client.next();
		running.source.publish('barista', MANY.slice(1));
		await client.next();
		const again = dataOf(await client.ask(3, 'watchService', { service: 'barista' }));
		expect(again['instances']).toHaveLength(MANY.length - 1);
		running.source.publish('barista', MANY.slice(2));
		expect(dataOf(await client.next())['base']).toBe(again['revision']);
	});

	it('that does not know parts is notified of what is too long, and its next delta builds on the mark', async () => {
		await using running = await run();
		running.source.publish('barista', MANY.slice(0, 10));
		await using client = await running.watcher(['push', 'deltas'], SHORT_FRAME_BYTES);
		await client.next();
		const { revision } = running.source.publish('barista', MANY);
		const marked = dataOf(await client.next());
		expect(marked).toMatchObject({ revision, oversize: true, source: 'last-known-good', changed: [], gone: [] });
		running.source.publish('barista', MANY.slice(0, 9));
		const fits = dataOf(await client.next());
		expect(fits).toMatchObject({ base: revision, source: 'live', gone: [MANY[9]] });
		expect(fits).not.toHaveProperty('oversize');
	});

	it('counts in status and for the observer by the form of what it was pushed', async () => {
		await using running = await run();
		running.source.publish('barista', MANY.slice(0, 10));
		await using client = await running.watcher(KNOWS, SHORT_FRAME_BYTES);
		await client.next();
		running.source.publish('barista', MANY.slice(0, 9));
		await client.next();
		running.source.publish('barista', MANY.slice(9));
		while (dataOf(await client.next())['parts'] === undefined);
		running.source.publish('barista', []);
		await client.next();
		expect(running.forms).toEqual(['delta', 'parts', 'whole'].map((form) => ['sent', form, expect.any(Number)]));
		const { counters } = dataOf(await client.ask(3, 'status')) as unknown as StatusReply;
		const bytes = running.forms.reduce<number>((sum, form) => sum + ((form as unknown[])[2] as number), 0);
		expect(counters).toMatchObject({ 'pushed-delta': 1, 'pushed-parts': 1, 'pushed-whole': 1, 'pushed-bytes': bytes });
	});

	it('is shown by explain with the forms of what it was pushed, and the length of the last', async () => {
		await using running = await run();
		running.source.publish('barista', MANY);
		await using plain = await running.watcher(['push']);
		await using knowing = await running.watcher(KNOWS);
		await using asking = await RawClient.open(running.path);
		const pushed = async () => {
			const { watchers } = dataOf(await asking.ask(1, 'explain', { service: 'barista' })) as unknown as ExplainReply;
			return watchers.map((watcher) => watcher.pushed);
		};
		for (const client of [plain, knowing]) await client.next();
		// The answer to the subscription is no push.
		expect(await pushed()).toEqual([undefined, undefined]);
		const lengths = [];
		for (const count of [1, 2]) {
			running.source.publish('barista', MANY.slice(count));
			lengths.push([JSON.stringify(await plain.next()).length + 1, JSON.stringify(await knowing.next()).length + 1]);
		}
		const [whole, delta] = lengths[1] as [number, number];
		expect(await pushed()).toEqual([
			{ whole: 2, delta: 0, parts: 0, lastBytes: whole },
			{ whole: 0, delta: 2, parts: 0, lastBytes: delta },
		]);
		// A subscription that is made anew counts anew.
		await plain.ask(3, 'unwatchService', { service: 'barista' });
		await plain.ask(4, 'watchService', { service: 'barista' });
		expect((await pushed())[0]).toBeUndefined();
	});
});

describe('a service that is longer than a frame', () => {
	const names = Array.from({ length: 10_000 }, (_, index) => `10.1.${index >> 8}.${index & 255}`).sort();

	it('of 10,000 instances is live for Diplomat, from the first answer on and through changes, with no oversize', async () => {
		await using running = await run();
		running.source.publish('barista', names);
		await using diplomat = createDiplomat({ path: running.path });
		const snapshots: ServiceSnapshot[] = [];
		void (async () => {
			for await (const snapshot of diplomat.watchService('barista')) snapshots.push(snapshot);
		})();
		await waitFor('the first snapshot', () => snapshots.length === 1);
		for (const count of [1, 2, 3]) {
			const sent = running.source.publish('barista', names.slice(count));
			await waitFor('the change', () => snapshots.length === count + 1);
			expect(snapshots.at(-1)).toEqual(sent);
		}
		expect(snapshots.map(({ source, oversize }) => [source, oversize])).toEqual(
			snapshots.map(() => ['live', undefined]),
		);
		expect(running.forms).toEqual(Array.from({ length: 3 }, () => ['sent', 'delta', expect.toSatisfy((n) => n < 600)]));
		expect(await diplomat.getInstances('barista', { fresh: true })).toEqual(snapshots.at(-1));
		expect(diplomat.status()).toMatchObject({ reconnects: 0, protocolFaults: 0 });
		expect(running.sidecar.gauges().oversizeSubscriptions).toBe(0);
	});

	it('does not mix with what else is asked for at the same time', async () => {
		await using running = await run();
		for (const name of ['a', 'b', 'c']) running.source.publish(name, MANY);
		await using diplomat = createDiplomat({ path: running.path, frameBytesMax: SHORT_FRAME_BYTES });
		const asked = ['a', 'b', 'c'].flatMap((name) => [
			diplomat.getInstances(name),
			diplomat.getInstances(name, { fresh: true }),
			diplomat.ping(),
		]);
		await Promise.all(asked);
		for (const name of ['a', 'b', 'c']) {
			const { service, instances } = await diplomat.getInstances(name);
			expect([service, instances.length]).toEqual([name, MANY.length]);
		}
		expect(diplomat.status()).toMatchObject({ protocolFaults: 0 });
	});

	it('that was not known yet is answered in parts when it is', async () => {
		await using running = await run();
		await using diplomat = createDiplomat({ path: running.path, frameBytesMax: SHORT_FRAME_BYTES });
		const asked = [diplomat.getInstances('a'), diplomat.getInstances('b')];
		await waitFor('both subscriptions', () => running.source.watchers === 2);
		running.source.publish('a', MANY);
		running.source.publish('b', MANY.slice(1));
		expect((await Promise.all(asked)).map(({ instances }) => instances.length)).toEqual([MANY.length, MANY.length - 1]);
	});
});
