import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { SpockError } from '@spock/protocol';
import { waitFor } from '@spock/testkit';
import { findNats, findOldNats, type RealNats, type RealNatsServer, startNats } from '@spock/testkit/real-nats';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { feed } from '../../../test/jetstream-feeder.ts';
import { openStore } from '../../../test/jetstream-fixture.ts';
import { LogEvents } from '../../../test/log-events.ts';
import type { StoreReader } from '../../foundation/event-store.ts';
import type { LogEvent } from '../../foundation/log-record.ts';

const READ = { eventsMax: 100, bytesMax: 1024 * 1024 };

describe.each([
	['with fast ingest', findNats],
	['on an old server', findOldNats],
] as const)('the store at JetStream, %s,', (_, find) => {
	let nats: RealNats;
	let connection: NatsConnection;
	let manager: JetStreamManager;
	let streams = 0;

	beforeAll(async () => {
		nats = await startNats({ binary: find(process.env) });
		connection = await connect({ servers: [...nats.addresses] });
		manager = await jetstreamManager(connection);
	});

	afterAll(async () => {
		await connection?.close();
		await nats?.[Symbol.asyncDispose]();
	});

	/** A prefix of its own for each test. */
	const newPrefix = (): string => `t${++streams}`;

	it('refuses a stream that would lose or hide events, and says why', async () => {
		const prefix = newPrefix();
		await manager.streams.add({ name: `${prefix}-orders`, subjects: [`other${streams}.>`], max_msgs_per_subject: 1 });
		const store = openStore(nats, { prefix });
		const lastOf = store.lastOf('orders');
		await expect(lastOf).rejects.toThrow(/subjects must include t\d+\.orders\.\*\.\*.*max_msgs_per_subject must be -1/);
		await expect(lastOf).rejects.toSatisfy((error) => SpockError.is(error, 'UNAVAILABLE'));
		await store.close();
	});

	it('keeps an id that another log has stored as stored, also over a restart', async () => {
		const prefix = newPrefix();
		const [first, second] = [openStore(nats, { prefix }), openStore(nats, { prefix, owner: 'other' })];
		await first.append('orders', [new LogEvents().make('orders', 1, 'k', 'o-1')], () => undefined);
		const events = new LogEvents();
		const same = [events.make('orders', 0, 'k', 'o-0'), events.make('orders', 1, 'k', 'o-1')];
		const told: number[] = [];
		await second.append('orders', same, (position) => told.push(position));
		expect(told.at(-1)).toBe(2);
		const again = openStore(nats, { prefix, owner: 'other' });
		expect(await again.lastOf('orders')).toBe(2);
		expect(await again.holds('orders', 2)).toBe(true);
		expect((await manager.streams.info(`${prefix}-orders`)).state.messages).toBe(2);
		for (const store of [first, second, again]) await store.close();
	});

	it('goes on behind events that come again all at once', async () => {
		const prefix = newPrefix();
		const [store, late] = [openStore(nats, { prefix }), openStore(nats, { prefix, owner: 'late' })];
		const events = new LogEvents().many('orders', 40);
		await store.append('orders', events.slice(0, 30), () => undefined);
		// The same ids, as what was on its way twice has them.
		await late.append('orders', events, () => undefined);
		expect(await late.lastOf('orders')).toBe(40);
		expect((await manager.streams.info(`${prefix}-orders`)).state.messages).toBe(40);
		for (const each of [store, late]) await each.close();
	});

	it('knows how far it was fed when the stream has deleted its oldest events, and when somebody has emptied it', async () => {
		const prefix = newPrefix();
		const store = openStore(nats, { prefix });
		const events = new LogEvents();
		await store.append('orders', events.many('orders', 10), () => undefined);
		await store.close();
		await manager.streams.purge(`${prefix}-orders`);
		const again = openStore(nats, { prefix });
		expect(await again.lastOf('orders')).toBe(10);
		await again.append('orders', events.many('orders', 3), () => undefined);
		expect(await again.lastOf('orders')).toBe(13);
		await again.close();
	});

	it('refuses what the stream finds too large, and nothing behind it is stored', async () => {
		const prefix = newPrefix();
		const store = openStore(nats, { prefix });
		await store.lastOf('orders');
		await manager.streams.update(`${prefix}-orders`, { max_msg_size: 2000 });
		const events = new LogEvents();
		const made = [events.make('orders', 1), events.make('orders', 'x'.repeat(3000)), events.make('orders', 3)];
		const append = store.append('orders', made, () => undefined);
		await expect(append).rejects.toSatisfy((error) => SpockError.is(error, 'FRAME_TOO_LARGE'));
		expect(await store.lastOf('orders')).toBe(1);
		await store.close();
	});

	it('takes events of several logs, and gives them in one order, each once', async () => {
		const prefix = newPrefix();
		const stores = ['a', 'b', 'c'].map((owner) => openStore(nats, { prefix, owner }));
		const made = stores.map((_each, index) =>
			new LogEvents().many('orders', 200).map((event): LogEvent => ({ ...event, producer: `p${index}` })),
		);
		await Promise.all(stores.map((store, index) => store.append('orders', made[index] ?? [], () => undefined)));
		const [store] = stores as [(typeof stores)[number]];
		const reader = await store.reader('orders', { from: 'first' });
		const events = await readAll(reader, 600);
		expect(events.map(({ position }) => position)).toEqual(Array.from({ length: 600 }, (_each, index) => index + 1));
		for (const producer of ['p0', 'p1', 'p2']) {
			for (const key of Array.from({ length: 7 }, (_each, index) => `k${index}`)) {
				const seqs = events.filter((event) => event.producer === producer && event.key === key).map(({ seq }) => seq);
				expect(seqs).toEqual([...seqs].sort((left, right) => left - right));
			}
		}
		for (const each of stores) await each.close();
	});

	it('gives the events of a group to one process at a time, and to another one when that lets go', async () => {
		const prefix = newPrefix();
		const [first, second] = [openStore(nats, { prefix }), openStore(nats, { prefix })];
		await first.append('orders', new LogEvents().many('orders', 10), () => undefined);
		const billing = { group: 'billing', from: 'first' } as const;
		const giving = await first.reader('orders', billing);
		const waiting = await second.reader('orders', billing);
		const given = await readAll(giving, 10);
		await giving.done(given.slice(0, 4).map(({ position }) => position));
		expect(await waiting.read(READ)).toEqual([]);
		const more = new Promise<void>((resolve) => waiting.onMore(resolve));
		await giving.close();
		await more;
		expect((await readAll(waiting, 6)).map(({ position }) => position)).toEqual([5, 6, 7, 8, 9, 10]);
		for (const each of [first, second]) await each.close();
	});

	it('lets nothing count as done that a reader does after it was rewound or replaced elsewhere', async () => {
		const prefix = newPrefix();
		const [first, second] = [openStore(nats, { prefix }), openStore(nats, { prefix })];
		await first.append('orders', new LogEvents().many('orders', 3), () => undefined);
		const reader = await first.reader('orders', { group: 'billing', from: 'first' });
		const given = await readAll(reader, 3);
		const other = await second.reader('orders', { group: 'billing' });
		expect(await other.rewind('first')).toBe(1);
		const done = reader.done(given.map(({ position }) => position));
		await expect(done).rejects.toSatisfy((error) => SpockError.is(error, 'UNAVAILABLE'));
		await expect(reader.read(READ)).rejects.toSatisfy((error) => SpockError.is(error, 'UNAVAILABLE'));
		await reader.close();
		expect((await readAll(other, 3)).length).toBe(3);
		for (const each of [first, second]) await each.close();
	});

	it('deletes a group whose reader gives no sign of life, and none whose reader does', async () => {
		const prefix = newPrefix();
		let addresses = nats.addresses;
		const [dead, second] = [openStore(nats, { prefix, servers: async () => addresses }), openStore(nats, { prefix })];
		await dead.reader('orders', { group: 'billing', from: 'first' });
		await expect(second.deleteGroup('orders', 'billing')).rejects.toThrow('has a reader');
		// Nothing listens there.
		addresses = ['127.0.0.1:1'];
		dead.serversChanged(addresses);
		// A sign of life may have been on its way.
		await waitFor('the group to be deleted', () =>
			second.deleteGroup('orders', 'billing').then(
				() => true,
				() => undefined,
			),
		);
		await expect(second.reader('orders', { group: 'billing' })).rejects.toThrow('unknown group');
		for (const each of [dead, second]) await each.close();
	});

	it('goes on where its server has lost everything', async () => {
		const prefix = newPrefix();
		const store = openStore(nats, { prefix });
		const events = new LogEvents().many('orders', 20);
		await feed(store, events);
		for (const name of [`${prefix}-orders`, `${prefix}~places`]) await manager.streams.delete(name);
		await expect(
			store.append('orders', [{ ...(events[0] as LogEvent), position: 21 }], () => undefined),
		).rejects.toThrow();
		await feed(store, events);
		expect((await manager.streams.info(`${prefix}-orders`)).state.messages).toBe(20);
		await store.close();
	});

	it('reads on with one consumer of the server, however much there is', async () => {
		const prefix = newPrefix();
		const store = openStore(nats, { prefix });
		await store.append('orders', new LogEvents().many('orders', 2000), () => undefined);
		const reader = await store.reader('orders', { from: 'first' });
		const consumers = async (): Promise<readonly string[]> => {
			return (await manager.consumers.list(`${prefix}-orders`).next()).map(({ name }) => name);
		};
		await readAll(reader, 1);
		const before = await consumers();
		await readAll(reader, 1900);
		expect(await consumers()).toEqual(before);
		await store.close();
	});

	it('is asked whether it still has what it has acknowledged by few requests', async () => {
		const store = openStore(nats, { prefix: newPrefix() });
		await store.append('orders', new LogEvents().many('orders', 40), () => undefined);
		const requests: string[] = [];
		const listening = connection.subscribe('$JS.API.>', {
			callback: (_, { subject }) => void requests.push(subject.split('.').slice(2, 5).join(' ')),
		});
		await connection.flush();
		expect(await store.holds('orders', 40)).toBe(true);
		await connection.flush();
		const newest = 'STREAM MSG GET';
		const all = [newest, 'STREAM INFO ', newest, newest];
		// An old server takes events of several partitions at once: its newest one says nothing of those in front.
		expect(requests.map((text) => text.replace(/INFO .*/, 'INFO ')).sort()).toEqual(
			find === findNats ? [newest] : all.sort(),
		);
		requests.length = 0;
		expect(await store.holds('orders', 41)).toBe(false);
		await connection.flush();
		expect(requests.map((text) => text.replace(/INFO .*/, 'INFO ')).sort()).toEqual(all.sort());
		listening.unsubscribe();
		await store.close();
	});

	it('asks for its credentials at each connect', async () => {
		let asked = 0;
		let addresses: readonly string[] = nats.addresses;
		const credentials = async () => ({ user: `user-${++asked}`, pass: 'any' });
		const store = openStore(nats, { prefix: newPrefix(), servers: async () => addresses, credentials });
		await store.lastOf('orders');
		await store.lastOf('orders');
		expect(asked).toBe(1);
		addresses = ['127.0.0.1:1'];
		store.serversChanged(addresses);
		addresses = nats.addresses;
		store.serversChanged(addresses);
		await store.lastOf('orders');
		expect(asked).toBe(2);
		await store.close();
	});

	it('finds a server by an address of IPv6 with and without brackets, and stays with it while it is listed', async () => {
		const [, port = ''] = /:(\d+)$/.exec(nats.addresses[0] ?? '') ?? [];
		for (const server of [
			`::ffff:127.0.0.1:${port}`,
			`[::ffff:127.0.0.1]:${port}`,
			`nats://::ffff:127.0.0.1:${port}`,
		]) {
			const store = openStore(nats, { prefix: newPrefix(), servers: async () => [server] });
			await store.lastOf('orders');
			store.serversChanged([server]);
			await store.lastOf('orders');
			await store.close();
		}
	});

	it('says why no server can be reached', async () => {
		const store = openStore(nats, { prefix: newPrefix(), servers: async () => ['127.0.0.1:1'] });
		await expect(store.lastOf('orders')).rejects.toThrow(/no NATS server of 1 can be reached: .*refused/i);
		await store.close();
	});

	it('refuses everything after its end', async () => {
		const store = openStore(nats, { prefix: newPrefix() });
		await store.close();
		await expect(store.lastOf('orders')).rejects.toThrow('the store was closed');
	});
});

it.each([new SpockError('BAD_REQUEST', 'no such name can be'), new Error('no such name can be')])(
	'a failure to find the servers is one of the store, and not of an event: %s',
	async (error) => {
		const store = openStore({} as unknown as RealNats, { servers: () => Promise.reject(error) });
		await expect(store.append('orders', new LogEvents().many('orders', 1), () => undefined)).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			message: expect.stringContaining('no such name can be'),
		});
		await store.close();
	},
);

it('without a server everything is refused as UNAVAILABLE', async () => {
	for (const servers of [[], ['127.0.0.1:1']]) {
		const store = openStore({ addresses: servers } as unknown as RealNats);
		await expect(store.lastOf('orders')).rejects.toSatisfy((error) => SpockError.is(error, 'UNAVAILABLE'));
		await store.close();
	}
});

async function readAll(reader: StoreReader, count: number): Promise<LogEvent[]> {
	const events: LogEvent[] = [];
	await waitFor(`${count} events`, async () => {
		events.push(...(await reader.read(READ)));
		return events.length >= count;
	});
	return events;
}

describe('a server that comes back without what it had', () => {
	it.each([
		['with fast ingest', findNats],
		['on an old server', findOldNats],
	] as const)('takes nothing behind the gap before it was asked what it has, %s', async (_, find) => {
		await using nats = await startNats({ binary: find(process.env) });
		const [server] = nats.servers as readonly [RealNatsServer];
		const store = openStore(nats);
		const events = new LogEvents();
		await feed(store, events.many('orders', 5));
		await server.stop();
		await server.copy();
		await server.start();
		const lost = events.many('orders', 5);
		await feed(store, lost);
		await server.kill();
		await server.setBack();
		await server.start();
		const next = events.many('orders', 5);
		await waitFor('a connection', () => store.holds('orders', 5).catch(() => false));
		const append = store.append('orders', next, () => undefined);
		await expect(append).rejects.toSatisfy((error) => SpockError.is(error, 'UNAVAILABLE'));
		expect(await store.lastOf('orders')).toBe(5);
		await feed(store, [...lost, ...next]);
		expect(await store.lastOf('orders')).toBe(15);
		const reader = await store.reader('orders', { from: 'first' });
		expect((await readAll(reader, 15)).length).toBe(15);
		await reader.close();
		await store.close();
	});
});
