import assert from 'node:assert/strict';

import type { LogEvent } from '../foundation/log-record.ts';
import { appendNew, type Bench, type Cases, hasCode, positionsOf, readMany, readToEnd } from './bench.ts';

const BILLING = { group: 'billing', from: 'first' } as const;

/** What a store promises of its readers. */
export const readerCases: Cases = {
	'a reader begins with the first event, the next one, that of a position, or the first of a time': async (bench) => {
		const [first, second] = (await appendNew(bench, 'orders', 2)) as [LogEvent, LogEvent];
		const fromNew = await bench.store.reader('orders', { from: 'new' });
		const byDefault = await bench.store.reader('orders', {});
		const [third] = (await appendNew(bench, 'orders', 1)) as [LogEvent];
		const froms = [
			['first', [first, second, third]],
			[{ position: second.position }, [second, third]],
			[{ position: 0 }, [first, second, third]],
			[{ time: first.time }, [first, second, third]],
			[{ time: third.time + 1 }, []],
		] as const;
		for (const [from, expected] of froms) {
			const reader = await bench.store.reader('orders', { from });
			const given = await readMany(bench, reader, expected.length);
			assert.deepEqual(positionsOf(given), positionsOf(expected), `from ${JSON.stringify(from)}`);
			await reader.close();
		}
		for (const reader of [fromNew, byDefault]) {
			assert.deepEqual(positionsOf(await readMany(bench, reader, 1)), [third.position]);
		}
	},

	'read gives at most eventsMax, and one event whatever its size': async (bench) => {
		await appendNew(bench, 'orders', 5);
		const reader = await bench.store.reader('orders', { from: 'first' });
		assert.equal((await reader.read({ eventsMax: 2, bytesMax: 1_000_000 })).length, 2);
		assert.equal((await reader.read({ eventsMax: 2, bytesMax: 1 })).length, 1);
	},

	'read resolves at once with none, and onMore tells of what comes': async (bench) => {
		const reader = await bench.store.reader('orders', { from: 'new' });
		const more = new Promise<void>((resolve, reject) => {
			reader.onMore(resolve);
			setTimeout(() => reject(new Error('onMore was not called')), bench.patienceMs).unref();
		});
		assert.deepEqual(await reader.read({ eventsMax: 10, bytesMax: 1000 }), []);
		const made = await appendNew(bench, 'orders', 1);
		await more;
		assert.deepEqual(positionsOf(await readMany(bench, reader, 1)), positionsOf(made));
	},

	'what a group has done is never given again, nor after the reader or the store was opened again': async (bench) => {
		const made = positionsOf(await appendNew(bench, 'orders', 6));
		const [one, two, three, four, five, six] = made as [number, number, number, number, number, number];
		const reader = await bench.store.reader('orders', BILLING);
		assert.ok(reader.position <= one, 'everything below its position is done');
		await readMany(bench, reader, 6);
		await reader.done([one, two]);
		await reader.done([four]);
		await reader.close();
		const second = await bench.store.reader('orders', BILLING);
		assert.ok(second.position > two && second.position <= three, 'everything below its position is done');
		assert.deepEqual(positionsOf(await readMany(bench, second, 3)), [three, five, six]);
		await second.done([five]);
		const third = await (await bench.reopen()).reader('orders', BILLING);
		assert.deepEqual(positionsOf(await readMany(bench, third, 2)), [three, six]);
		await third.done([three, six]);
		const fourth = await (await bench.reopen()).reader('orders', BILLING);
		assert.deepEqual(await fourth.read({ eventsMax: 10, bytesMax: 1000 }), []);
	},

	'positions that were not given, or are done already, are ignored': async (bench) => {
		const [one, two] = positionsOf(await appendNew(bench, 'orders', 2)) as [number, number];
		const reader = await bench.store.reader('orders', BILLING);
		await reader.read({ eventsMax: 1, bytesMax: 1000 });
		await reader.done([two, two + 1000]);
		await reader.done([one]);
		await reader.done([one]);
		assert.deepEqual(positionsOf(await readMany(bench, reader, 1)), [two]);
	},

	'a group from `new` stays where it began': async (bench) => {
		await appendNew(bench, 'orders', 1);
		const reader = await bench.store.reader('orders', { group: 'billing', from: 'new' });
		await reader.close();
		const [second] = positionsOf(await appendNew(bench, 'orders', 1));
		const again = await (await bench.reopen()).reader('orders', { group: 'billing', from: 'new' });
		assert.deepEqual(positionsOf(await readMany(bench, again, 1)), [second]);
	},

	'groups know nothing of each other, nor of the same name in another stream': async (bench) => {
		const orders = await appendNew(bench, 'orders', 2);
		const clicks = await appendNew(bench, 'clicks', 2);
		const billing = await bench.store.reader('orders', BILLING);
		await billing.done(positionsOf(await readMany(bench, billing, 2)));
		const audit = await bench.store.reader('orders', { group: 'audit', from: 'first' });
		assert.deepEqual(positionsOf(await readMany(bench, audit, 2)), positionsOf(orders));
		const other = await bench.store.reader('clicks', BILLING);
		assert.deepEqual(positionsOf(await readMany(bench, other, 2)), positionsOf(clicks));
	},

	'without a group nothing is remembered': async (bench) => {
		const made = await appendNew(bench, 'orders', 2);
		const reader = await bench.store.reader('orders', { from: 'first' });
		await reader.done(positionsOf(await readMany(bench, reader, 2)));
		assert.deepEqual(await reader.read({ eventsMax: 10, bytesMax: 1000 }), []);
		await reader.close();
		const again = await bench.store.reader('orders', { from: 'first' });
		assert.deepEqual(positionsOf(await readMany(bench, again, 2)), positionsOf(made));
	},

	'rewind begins anywhere, and what was done there counts no more': async (bench) => {
		const made = await appendNew(bench, 'orders', 4);
		const reader = await bench.store.reader('orders', BILLING);
		const given = positionsOf(await readMany(bench, reader, 4));
		await reader.done(given.slice(1));
		assert.equal(await reader.rewind({ position: given[1] as number }), given[1]);
		assert.equal(reader.position, given[1]);
		assert.deepEqual(positionsOf(await readMany(bench, reader, 3)), given.slice(1));
		const again = await (await bench.reopen()).reader('orders', BILLING);
		assert.deepEqual(positionsOf(await readMany(bench, again, 3)), positionsOf(made).slice(1));
		await again.rewind('new');
		assert.deepEqual(await again.read({ eventsMax: 10, bytesMax: 1000 }), []);
		await again.rewind('first');
		assert.equal((await readMany(bench, again, 4)).length, 4);
	},

	'what was given before a rewind cannot be done after it': async (bench) => {
		await appendNew(bench, 'orders', 2);
		const reader = await bench.store.reader('orders', BILLING);
		const given = positionsOf(await readMany(bench, reader, 2));
		await reader.rewind('first');
		await reader.done(given);
		assert.deepEqual(positionsOf(await readMany(bench, reader, 2)), given);
	},

	'rewinds of a group are counted, over a restart and beyond its deletion': async (bench) => {
		const reader = await bench.store.reader('orders', BILLING);
		const { rewinds } = reader;
		await reader.rewind('first');
		assert.equal(reader.rewinds, rewinds + 1);
		const store = await bench.reopen();
		const again = await store.reader('orders', BILLING);
		assert.equal(again.rewinds, rewinds + 1);
		await again.rewind('new');
		assert.equal(again.rewinds, rewinds + 2);
		await again.close();
		await store.deleteGroup('orders', 'billing');
		const anew = await (await bench.reopen()).reader('orders', BILLING);
		assert.ok(![0, 1, 2].includes(anew.rewinds - rewinds), 'a group that begins anew has a number of the one before');
	},

	'a group has one reader at a time': async (bench) => {
		const reader = await bench.store.reader('orders', BILLING);
		await assert.rejects(bench.store.reader('orders', BILLING), hasCode('BAD_REQUEST'));
		await reader.close();
		await reader.close();
		await (await bench.store.reader('orders', BILLING)).close();
	},

	'an unknown group is refused where no place to begin is given': async (bench) => {
		await assert.rejects(bench.store.reader('orders', { group: 'billing' }), hasCode('BAD_REQUEST'));
		await (await bench.store.reader('orders', BILLING)).close();
		await (await bench.store.reader('orders', { group: 'billing' })).close();
	},

	'a deleted group is unknown, also after the store was opened again': async (bench) => {
		await appendNew(bench, 'orders', 2);
		const reader = await bench.store.reader('orders', BILLING);
		await reader.done(positionsOf(await readMany(bench, reader, 2)));
		await assert.rejects(bench.store.deleteGroup('orders', 'billing'), hasCode('BAD_REQUEST'));
		await reader.close();
		await bench.store.deleteGroup('orders', 'billing');
		await assert.rejects(bench.store.deleteGroup('orders', 'billing'), hasCode('BAD_REQUEST'));
		const again = await bench.reopen();
		await assert.rejects(again.reader('orders', { group: 'billing' }), hasCode('BAD_REQUEST'));
		const anew = await again.reader('orders', BILLING);
		assert.equal((await readMany({ ...bench, store: again }, anew, 2)).length, 2);
	},

	'a thousand events with holes are all done in the end': async (bench) => {
		const made = await appendNew(bench, 'orders', 1000);
		const reader = await bench.store.reader('orders', BILLING);
		const given = positionsOf(await readMany(bench, reader, 1000));
		assert.deepEqual(given, positionsOf(made));
		await Promise.all([0, 1, 2].map((third) => reader.done(given.filter((_, index) => index % 3 === third))));
		await reader.close();
		assert.deepEqual(await endOf(bench), []);
	},
};

async function endOf(bench: Bench): Promise<LogEvent[]> {
	const again = { ...bench, store: await bench.reopen() };
	return readToEnd(again, await again.store.reader('orders', BILLING), 'orders');
}
