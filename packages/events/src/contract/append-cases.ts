import assert from 'node:assert/strict';

import type { LogEvent } from '../foundation/log-record.ts';
import { appendNew, type Bench, type Cases, hasCode, positionsOf, readToEnd } from './bench.ts';

/** What a store promises of what it is given. */
export const appendCases: Cases = {
	'events are given in the order of their positions, as they came': async (bench) => {
		const made = [...(await appendNew(bench, 'orders', 3)), ...(await appendNew(bench, 'orders', 2))];
		const given = await readAll(bench, 'orders');
		assert.deepEqual(
			given.map(({ position, text, key, id }) => ({ position, text, key, id })),
			made.map(({ position, text, key, id }) => ({ position, text, key, id })),
		);
	},

	'streams are apart': async (bench) => {
		const orders = await appendNew(bench, 'orders', 2);
		const clicks = await appendNew(bench, 'clicks', 3);
		assert.deepEqual(positionsOf(await readAll(bench, 'orders')), positionsOf(orders));
		assert.deepEqual(positionsOf(await readAll(bench, 'clicks')), positionsOf(clicks));
	},

	'what it holds already, by position, is not stored again': async (bench) => {
		const made = await appendNew(bench, 'orders', 3);
		const more = await bench.events('orders', 2);
		await bench.store.append('orders', [...made.slice(1), ...more], () => undefined);
		await bench.store.append('orders', made, () => undefined);
		assert.deepEqual(positionsOf(await readAll(bench, 'orders')), positionsOf([...made, ...more]));
	},

	'progress ascends, and ends with the last event before append resolves': async (bench) => {
		const made = await bench.events('orders', 50);
		const told: number[] = [];
		await bench.store.append('orders', made, (position) => told.push(position));
		assert.equal(told.at(-1), made.at(-1)?.position);
		assert.deepEqual(
			told,
			[...new Set(told)].sort((left, right) => left - right),
		);
	},

	'append of no events resolves': async ({ store }) => {
		await store.append('orders', [], () => assert.fail('nothing was stored'));
	},

	'append rejects with the first event that it never takes, and stores none behind it': async (bench) => {
		if (bench.eventsWithBad === undefined) return;
		const made = await bench.eventsWithBad('orders');
		const told: number[] = [];
		const append = bench.store.append('orders', made, (position) => told.push(position));
		await assert.rejects(append, hasCode('BAD_REQUEST', 'FRAME_TOO_LARGE'));
		const [good] = made as [LogEvent];
		assert.deepEqual(told, [good.position]);
		assert.equal((await bench.store.lastOf('orders')) ?? good.position, good.position);
	},

	'calls under way at once are one after the other': async (bench) => {
		const made = await bench.events('orders', 6);
		const told: number[] = [];
		const calls = [0, 2, 4].map((from) =>
			bench.store.append('orders', made.slice(from, from + 2), (position) => told.push(position)),
		);
		await Promise.all(calls);
		assert.deepEqual(
			told,
			[...told].sort((left, right) => left - right),
		);
		assert.deepEqual(positionsOf(await readAll(bench, 'orders')), positionsOf(made));
	},

	'a call behind one that is rejected is rejected with it, and stores nothing': async (bench) => {
		if (bench.eventsWithBad === undefined) return;
		const [good, bad, more] = (await bench.eventsWithBad('orders')) as [LogEvent, LogEvent, LogEvent];
		const calls = [bench.store.append('orders', [good, bad], () => undefined)];
		calls.push(bench.store.append('orders', [more], () => assert.fail('it is behind one that is rejected')));
		const outcomes = await Promise.allSettled(calls);
		assert.deepEqual(
			outcomes.map(({ status }) => status),
			['rejected', 'rejected'],
		);
		assert.equal((await bench.store.lastOf('orders')) ?? good.position, good.position);
	},

	'lastOf is the newest position, 0 where there is none, and the same after it was opened again': async (bench) => {
		const none = await bench.store.lastOf('orders');
		// It cannot know.
		if (none === undefined) return;
		assert.equal(none, 0);
		const last = (await appendNew(bench, 'orders', 3)).at(-1)?.position;
		await appendNew(bench, 'clicks', 1);
		assert.equal(await bench.store.lastOf('orders'), last);
		assert.equal(await (await bench.reopen()).lastOf('orders'), last);
	},

	'what was stored is there after it was opened again': async (bench) => {
		const made = await appendNew(bench, 'orders', 3);
		const again = { ...bench, store: await bench.reopen() };
		assert.deepEqual(positionsOf(await readAll(again, 'orders')), positionsOf(made));
	},

	'holds is true for what was stored': async (bench) => {
		const made = await appendNew(bench, 'orders', 3);
		for (const { position } of made) assert.equal(await bench.store.holds('orders', position), true);
	},

	'a store that has lost events says so, and what is fed again from lastOf makes it whole': async (bench) => {
		if (bench.lose === undefined) return;
		const made = await appendNew(bench, 'orders', 5);
		const [, , third, , last] = positionsOf(made) as [number, number, number, number, number];
		await bench.lose('orders', third);
		assert.equal(await bench.store.holds('orders', last), false);
		const lastHeld = (await bench.store.lastOf('orders')) ?? 0;
		assert.ok(lastHeld < third);
		const missing = made.filter(({ position }) => position > lastHeld);
		await bench.store.append('orders', missing, () => undefined);
		assert.equal(await bench.store.holds('orders', last), true);
		assert.deepEqual(positionsOf(await readAll(bench, 'orders')), positionsOf(made));
	},

	'close is idempotent': async ({ store }) => {
		await store.close();
		await store.close();
	},
};

/** Everything in a stream, by a reader of its own. */
async function readAll(bench: Bench, stream: string): Promise<LogEvent[]> {
	const reader = await bench.store.reader(stream, { from: 'first' });
	const events = await readToEnd(bench, reader, stream);
	await reader.close();
	return events;
}
