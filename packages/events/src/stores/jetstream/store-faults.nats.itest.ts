import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

import { SpockError } from '@spock/protocol';
import { tempSocket, waitFor } from '@spock/testkit';
import { findNats, findOldNats, type RealNats, type RealNatsServer, startNats } from '@spock/testkit/real-nats';
import { requireBanner, sourceBundle } from '@spock/testkit/source-bundle';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';

import { feed, type LeaderView, leaderOf, type StoredPayload, storedPayloads } from '../../../test/jetstream-feeder.ts';
import { openStore } from '../../../test/jetstream-fixture.ts';
import { LogEvents } from '../../../test/log-events.ts';

/** How often the leader is killed: `SPOCK_NATS_TURNS=100` for the whole measure. */
const TURNS = Number(process.env['SPOCK_NATS_TURNS'] ?? 3);
/** How often a server's directory is set back: `SPOCK_NATS_SET_BACKS=20` for the whole measure. */
const SET_BACKS = Number(process.env['SPOCK_NATS_SET_BACKS'] ?? 2);
const KILLS = 4;
/** On a busy machine it was more than a minute once. */
const CATCH_UP_MS = 240_000;
const program = new URL('../../../test/feed-jetstream.ts', import.meta.url).pathname;

/** 1, 2, 3 and so on: nothing lost, nothing twice, in order. */
function countTo(count: number): number[] {
	return Array.from({ length: count }, (_, index) => index + 1);
}

function ordered(stored: readonly StoredPayload[]): number[] {
	return stored.map(({ payload }) => payload);
}

/** Each partition, and so each key, ascends. */
function expectPartitionsInOrder(stored: readonly StoredPayload[]): void {
	const lasts = new Map<string, number>();
	for (const { payload, subject } of stored) {
		expect(payload).toBeGreaterThan(lasts.get(subject) ?? 0);
		lasts.set(subject, payload);
	}
}

describe('a process that is killed while it feeds JetStream', () => {
	it.each([
		['with fast ingest', findNats, true],
		['on an old server', findOldNats, false],
	] as const)('has lost nothing and stored nothing twice, %s', async (_, find, isOrdered) => {
		await using temp = await tempSocket();
		await using nats = await startNats({ binary: find(process.env) });
		const [address = ''] = nats.addresses;
		const outfile = join(temp.directory, 'feed.mjs');
		await build({ ...sourceBundle, banner: requireBanner, entryPoints: [program], outfile });
		let told = 0;
		for (let kill = 0; kill < KILLS; kill++) {
			const child = spawn(process.execPath, [outfile, address], { stdio: ['ignore', 'pipe', 'inherit'] });
			const before = told;
			let lines = 0;
			child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
				for (const line of chunk.split('\n')) if (line !== '') told = Math.max(told, Number(line));
				lines += chunk.split('\n').length - 1;
				if (lines > 2 + 3 * kill) child.kill('SIGKILL');
			});
			await once(child, 'close');
			expect(told, 'it has fed').toBeGreaterThan(before);
		}
		const store = openStore(nats);
		const last = await store.lastOf('orders');
		expect(last).toBeGreaterThanOrEqual(told);
		expect(await store.holds('orders', told)).toBe(true);
		const events = new LogEvents();
		events.startAt('orders', last);
		const more = events.many('orders', 400);
		await feed(store, more);
		await store.close();
		const stored = await storedPayloads(address, last + more.length);
		if (isOrdered) expect(ordered(stored)).toEqual(countTo(last + more.length));
		expect(ordered(stored).sort((left, right) => left - right)).toEqual(countTo(last + more.length));
		expectPartitionsInOrder(stored);
	});
});

describe('a cluster of JetStream that loses its leader under load', () => {
	it(`loses nothing, stores nothing twice and keeps the order, ${TURNS} times`, {
		timeout: 60_000 * (TURNS + 2),
	}, async () => {
		await using nats = await startNats({ binary: findNats(process.env), servers: 3 });
		const store = openStore(nats, { replicas: 3, timeoutMs: 2000 });
		const events = new LogEvents();
		let count = 0;
		let told = 0;
		const feedMore = async (size: number): Promise<void> => {
			count += size;
			await feed(store, events.many('orders', size), (position) => {
				told = Math.max(told, position);
			});
		};
		await feedMore(1000);
		for (let turn = 0; turn < TURNS; turn++) {
			const leader = await theLeader(nats, turn);
			const before = told;
			const fed = feedMore(6000);
			await waitFor('events under way', () => told > before + 500 + 300 * (turn % 10), 60_000);
			await leader.kill();
			await fed;
			await leader.start();
		}
		expect(told).toBe(count);
		expect(await store.holds('orders', count)).toBe(true);
		await theLeader(nats, TURNS);
		await store.close();
		expect(ordered(await storedPayloads(nats.addresses[0] ?? '', count))).toEqual(countTo(count));
	});
});

/** With all that it leads; says how the cluster was when that does not come. */
async function theLeader(nats: RealNats, kills: number): Promise<RealNatsServer> {
	let seen: LeaderView | undefined;
	try {
		await waitFor(
			'a leader',
			async () => {
				seen = await leaderOf(nats.addresses);
				return seen?.isCurrent === true;
			},
			CATCH_UP_MS,
		);
	} catch (cause) {
		throw new Error(`after ${kills} kills there is no leader of which the others have everything: ${seen?.said}`, {
			cause,
		});
	}
	return nats.servers.find(({ name }) => name === seen?.leader) as RealNatsServer;
}

describe('a server whose directory is set back', () => {
	it.each([
		['with fast ingest', findNats, true],
		['on an old server', findOldNats, false],
	] as const)(
		`is told by holds, and is fed again what it has lost, %s, ${SET_BACKS} times`,
		{
			timeout: 60_000 * (SET_BACKS + 2),
		},
		async (_, find, isOrdered) => {
			await using nats = await startNats({ binary: find(process.env) });
			const [server] = nats.servers as readonly [RealNatsServer];
			const store = openStore(nats);
			const events = new LogEvents();
			const all = [...events.many('orders', 500)];
			await feed(store, all);
			for (let turn = 0; turn < SET_BACKS; turn++) {
				const kept = all.length;
				await server.stop();
				await server.copy();
				await server.start();
				all.push(...events.many('orders', 700));
				await feed(store, all);
				expect(await store.holds('orders', all.length)).toBe(true);
				await server.kill();
				await server.setBack();
				await server.start();
				let holds: boolean | undefined;
				await waitFor('an answer', async () => {
					holds = await store.holds('orders', all.length).catch(() => undefined);
					return holds !== undefined;
				});
				expect(holds).toBe(false);
				expect(await store.lastOf('orders')).toBe(kept);
				await feed(store, all);
				expect(await store.holds('orders', all.length)).toBe(true);
			}
			await store.close();
			const stored = await storedPayloads(server.address, all.length);
			if (isOrdered) expect(ordered(stored)).toEqual(countTo(all.length));
			expect(ordered(stored).sort((left, right) => left - right)).toEqual(countTo(all.length));
			expectPartitionsInOrder(stored);
		},
	);
});

describe('servers that are found by name', () => {
	it('are left when they leave: what is in flight is settled, and another one is used', async () => {
		await using nats = await startNats({ binary: findNats(process.env), servers: 3 });
		const [first, second] = nats.servers as readonly [RealNatsServer, RealNatsServer];
		let addresses = [first.address];
		const store = openStore(nats, { servers: async () => addresses, replicas: 3 });
		const events = new LogEvents();
		const count = 10_000;
		await feed(store, events.many('orders', 10));
		const append = store.append('orders', events.many('orders', count), () => {
			// With its first progress, so that the rest is on its way.
			addresses = [second.address];
			store.serversChanged(addresses);
		});
		await expect(append).rejects.toSatisfy((error) => SpockError.is(error, 'UNAVAILABLE'));
		const again = new LogEvents();
		await feed(store, again.many('orders', 10 + count));
		await store.close();
		expect(ordered(await storedPayloads(second.address, 10 + count))).toEqual(countTo(10 + count));
	});
});
