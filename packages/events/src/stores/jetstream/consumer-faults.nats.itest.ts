import { systemClock } from '@spock/protocol/internal';
import { tempSocket, waitFor } from '@spock/testkit';
import { findNats, findOldNats, type RealNatsServer, startNats } from '@spock/testkit/real-nats';
import { describe, expect, it } from 'vitest';

import { feed } from '../../../test/jetstream-feeder.ts';
import { openStore } from '../../../test/jetstream-fixture.ts';
import { LogEvents } from '../../../test/log-events.ts';
import { NodeFiles } from '../../disk/node-files.ts';
import { NodeOwner } from '../../disk/node-owner.ts';
import { EventService } from '../../event-service.ts';
import { forwardTo } from '../../forward/index.ts';
import type { Delivery } from '../../foundation/event-sessions.ts';

describe('a sidecar that only consumes from JetStream', () => {
	it.each([
		['with a group', 'billing', findNats],
		['without a group', undefined, findNats],
		['with a group, on an old server', 'billing', findOldNats],
	] as const)(
		'says once that the servers are away, shows it, and says when they are back, %s',
		async (_, group, find) => {
			await using temp = await tempSocket();
			await using nats = await startNats({ binary: find(process.env) });
			const [server] = nats.servers as readonly [RealNatsServer];
			const [store, feeder] = [openStore(nats, { timeoutMs: 500 }), openStore(nats, { owner: 'feeder' })];
			const events = new LogEvents();
			await feed(feeder, events.many('orders', 1));
			const told: string[] = [];
			const directory = `${temp.directory}/log`;
			const service = new EventService({
				...{
					directory,
					files: new NodeFiles(),
					owner: new NodeOwner(directory),
					clock: systemClock,
					random: Math.random,
				},
				stores: forwardTo({ storeOf: () => store }),
				observer: {
					storeUnreadable: (stream, { message }) => told.push(`${stream}: ${message}`),
					storeWorks: (stream) => told.push(`${stream} works`),
				},
			});
			await service.open(false);
			const got: Delivery[] = [];
			const sink = { deliver: (all: readonly Delivery[]) => void got.push(...all), closed: () => undefined };
			const consumer = await service.openConsumer({ stream: 'orders', from: 'first', ...(group && { group }) }, sink);
			await waitFor('the first event', () => got.length === 1);
			consumer.ack([got[0]?.n ?? 0]);
			if (group !== undefined) {
				expect(service.status().groups).toMatchObject([{ stream: 'orders', group, consumers: 1, lag: null }]);
			}
			await server.stop();
			await waitFor('the fault', () => told.length > 0);
			await waitFor('that it lasts', () => (service.status().storeFaults?.[0]?.forMs ?? 0) > 2000);
			expect(told).toEqual([expect.stringMatching(/^orders: .*NATS/)]);
			expect(service.status().storeFaults).toMatchObject([{ stream: 'orders', store: 'jetstream', doing: 'reading' }]);
			await server.start();
			await waitFor('its end', () => told.length > 1);
			expect(told.slice(1)).toEqual(['orders works']);
			expect(service.status().storeFaults).toEqual([]);
			await feed(feeder, events.many('orders', 1));
			await waitFor('the next event', () => got.length > 1);
			await service.close(1000);
			for (const each of [store, feeder]) await each.close();
		},
	);
});
