import { connect, type Diplomat } from '@spock/client';
import { type Events, openEvents, type ReceivedEvent } from '@spock/client/events';
import type { GroupStatus } from '@spock/protocol';
import { type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { sidecarOnDisk } from './sidecar-on-disk.ts';

let place: TempSocket;
let sidecar: Awaited<ReturnType<typeof sidecarOnDisk>>;
const apps: Diplomat[] = [];

beforeEach(async () => {
	place = await tempSocket();
	sidecar = await sidecarOnDisk(place.path, `${place.directory}/e`);
});

afterEach(async () => {
	await Promise.all(apps.splice(0).map((diplomat) => diplomat.close()));
	await sidecar.end();
	await place[Symbol.asyncDispose]();
});

/** An app with a connection of its own. */
async function openApp(): Promise<{ diplomat: Diplomat; events: Events }> {
	const diplomat = await connect({ path: place.path, retryDelayMsMin: 5, retryDelayMsMax: 20 });
	apps.push(diplomat);
	return { diplomat, events: openEvents({ diplomat }) };
}

async function restart(between: () => void = () => undefined): Promise<void> {
	await sidecar.end();
	between();
	sidecar = await sidecarOnDisk(place.path, `${place.directory}/e`);
}

async function groupOf(diplomat: Diplomat, stream = 'orders'): Promise<GroupStatus | undefined> {
	const { events } = await diplomat.request('status', null);
	return events?.groups.find((group) => group.stream === stream);
}

async function publish(
	events: Events,
	payloads: readonly unknown[],
	key?: (payload: unknown) => string,
): Promise<void> {
	const options = (payload: unknown) => (key === undefined ? {} : { key: key(payload) });
	await Promise.all(payloads.map((payload) => events.publish('orders', payload, options(payload))));
}

async function next<T>(iterator: AsyncIterator<ReceivedEvent<T>>): Promise<ReceivedEvent<T>> {
	const { value, done } = await iterator.next();
	if (done === true) throw new Error('the iteration has ended');
	return value;
}

const BILLING = { group: 'billing', from: 'first' } as const;
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe('consumers of a client over a sidecar with a log', () => {
	it('two members of a group share its events, and each event is done once', async () => {
		const [app, one, other] = [await openApp(), await openApp(), await openApp()];
		await publish(app.events, numbers(200));
		const seen: [unknown[], unknown[]] = [[], []];
		for (const [index, { events }] of [one, other].entries()) {
			void events.handle('orders', { ...BILLING, inFlightMax: 8 }, async ({ data }) => {
				await new Promise(setImmediate);
				seen[index as 0 | 1].push(data);
			});
		}
		await waitFor('the end', async () => (await groupOf(app.diplomat))?.lag === 0);
		expect(seen.flat().sort((left, right) => Number(left) - Number(right))).toEqual(numbers(200));
		expect(seen.map(({ length }) => length > 0)).toEqual([true, true]);
		expect(await groupOf(app.diplomat)).toMatchObject({ consumers: 2, out: 0, backingOff: 0 });
	});

	it('order by key: a key is handled in order and one at a time, by whichever member', async () => {
		const [app, other] = [await openApp(), await openApp()];
		const keyOf = (payload: unknown): string => `k-${Number(payload) % 3}`;
		await publish(app.events, numbers(60), keyOf);
		const running = new Set<string>();
		const seen = new Map<string, number[]>();
		const faults: string[] = [];
		for (const { events } of [app, other]) {
			void events.handle(
				'orders',
				{ ...BILLING, order: 'key', concurrency: 4, retryDelayMs: () => 1 },
				async ({ key = '', data, delivery }) => {
					if (running.has(key)) faults.push(`two of ${key}`);
					running.add(key);
					await new Promise(setImmediate);
					running.delete(key);
					// Each fourth fails once: what follows in its key must wait.
					if (Number(data) % 4 === 0 && delivery === 1) throw new Error('scripted');
					seen.set(key, [...(seen.get(key) ?? []), Number(data)]);
				},
			);
		}
		await waitFor('the end', async () => (await groupOf(app.diplomat))?.lag === 0, 30_000);
		expect(faults).toEqual([]);
		for (const [key, list] of seen) expect([key, list]).toEqual([key, [...list].sort((a, b) => a - b)]);
		expect([...seen.values()].flat()).toHaveLength(60);
	});

	it('what is nacked comes again, one delivery higher; what is given up is a dead letter that says why', async () => {
		const { diplomat, events } = await openApp();
		await publish(events, ['bad', 'hopeless', 'good']);
		const consuming = events.consume('orders', { ...BILLING, attempts: 2 })[Symbol.asyncIterator]();
		const [bad, hopeless, good] = [await next(consuming), await next(consuming), await next(consuming)];
		good.ack();
		hopeless.term('no such customer');
		bad.nack({ delayMs: 1 });
		const again = await next(consuming);
		expect(again).toMatchObject({ data: 'bad', delivery: 2, position: bad.position });
		again.nack({ delayMs: 1 });
		const dead = events.consume('orders.dead', { from: 'first' })[Symbol.asyncIterator]();
		expect([await next(dead), await next(dead)]).toMatchObject([
			{ data: 'hopeless', headers: { 'spock-dead-reason': 'no such customer', 'spock-dead-group': 'billing' } },
			{
				data: 'bad',
				headers: {
					'spock-dead-stream': 'orders',
					'spock-dead-position': `${bad.position}`,
					'spock-dead-deliveries': '2',
				},
			},
		]);
		await waitFor('the end', async () => (await groupOf(diplomat))?.lag === 0);
	});

	it('attempts 0: an event that fails comes again without end, and is no dead letter', async () => {
		const { diplomat, events } = await openApp();
		await publish(events, ['stubborn']);
		let deliveries = 0;
		const options = { ...BILLING, attempts: 0, retryDelayMs: () => 1 };
		void events.handle('orders', options, ({ delivery }) => {
			deliveries = delivery;
			if (delivery < 12) throw new Error('scripted');
		});
		await waitFor('the end', async () => (await groupOf(diplomat))?.lag === 0);
		expect(deliveries).toBe(12);
		const { events: status } = await diplomat.request('status', null);
		expect(status?.streams.map(({ stream }) => stream)).toEqual(['orders']);
	});

	it('after a restart what was acked never comes again, also to another app, and what was not comes again', async () => {
		const { diplomat, events } = await openApp();
		await publish(events, numbers(5));
		const consuming = events.consume('orders', BILLING)[Symbol.asyncIterator]();
		const first: ReceivedEvent[] = [];
		for (const _ of numbers(5)) first.push(await next(consuming));
		for (const index of [0, 1, 3]) first[index]?.ack();
		await waitFor('the place', async () => (await groupOf(diplomat))?.lag === 2);
		await diplomat.close();
		await restart();
		const second = await openApp();
		const again = second.events.consume('orders', BILLING)[Symbol.asyncIterator]();
		expect([(await next(again)).data, (await next(again)).data]).toEqual([2, 4]);
		expect(await groupOf(second.diplomat)).toMatchObject({ lag: 2, out: 2 });
	});

	it('a pool goes on over a restart in the middle, and handles nothing twice that it has done', async () => {
		const { diplomat, events } = await openApp();
		const seen: unknown[] = [];
		void events.handle('orders', { ...BILLING, concurrency: 4 }, async ({ data }) => {
			await new Promise(setImmediate);
			seen.push(data);
		});
		await publish(events, numbers(300));
		await restart();
		await publish(
			events,
			numbers(300).map((number) => number + 300),
		);
		await waitFor('the end', async () => (await groupOf(diplomat))?.lag === 0);
		expect(seen.sort((left, right) => Number(left) - Number(right))).toEqual(numbers(600));
	});

	it('a connection that is lost gives back what is out: it comes again to another member, one delivery higher', async () => {
		const [one, other] = [await openApp(), await openApp()];
		await publish(one.events, ['a']);
		const held = await next(one.events.consume('orders', BILLING)[Symbol.asyncIterator]());
		expect(held).toMatchObject({ data: 'a', delivery: 1 });
		const waiting = next(other.events.consume('orders', BILLING)[Symbol.asyncIterator]());
		await one.diplomat.close();
		expect(await waiting).toMatchObject({ data: 'a', delivery: 2 });
	});

	it('a loop that is left gives back what it has not acked', async () => {
		const [one, other] = [await openApp(), await openApp()];
		await publish(one.events, ['a', 'b']);
		for await (const event of one.events.consume('orders', BILLING)) {
			event.ack();
			break;
		}
		expect(one.diplomat.status().state).toBe('ready');
		expect(await next(other.events.consume('orders', BILLING)[Symbol.asyncIterator]())).toMatchObject({ data: 'b' });
	});

	it('rewind: all comes again as a first delivery, to the app that has acked it, also when the sidecar restarts then', async () => {
		const { diplomat, events } = await openApp();
		await publish(events, ['a', 'b']);
		const consuming = events.consume('orders', BILLING)[Symbol.asyncIterator]();
		for (const data of ['a', 'b']) {
			const event = await next(consuming);
			expect(event).toMatchObject({ data, delivery: 1 });
			event.ack();
		}
		await waitFor('the place', async () => (await groupOf(diplomat))?.lag === 0);
		await diplomat.request('rewindGroup', { stream: 'orders', group: 'billing', to: 'first' });
		const again = await next(consuming);
		expect(again).toMatchObject({ data: 'a', delivery: 1 });
		again.ack();
		await waitFor('the place', async () => (await groupOf(diplomat))?.lag === 1);
		await diplomat.request('rewindGroup', { stream: 'orders', group: 'billing', to: 'first' });
		await restart();
		const first = await next(consuming);
		expect(first).toMatchObject({ data: 'a' });
		first.ack();
	});
});
