import { describe, expect, it } from 'vitest';

import { event, ProducerHouse, TestLine } from '../../test/producer-house.ts';
import { OPENINGS_MAX } from './openings.ts';
import { PRODUCER_STREAMS_MAX, REFUSED_TOLD_MAX, REFUSED_UNTOLD_MAX } from './producer.ts';
import { WINDOW_BYTES_FIRST } from './windows.ts';

describe('a producer', () => {
	it('is answered once its epoch is on disk', async () => {
		const house = new ProducerHouse();
		let answered = false;
		const opening = Promise.resolve(house.producers.open({ producer: 'p' }, new TestLine())).then((opened) => {
			answered = true;
			return opened;
		});
		await Promise.resolve();
		expect(answered).toBe(false);
		house.log.commit();
		const { reply } = await opening;
		expect(reply).toMatchObject({ producer: 'p', epoch: 1, persisted: 0, stored: {} });
		expect(reply.window).toEqual({ bytes: WINDOW_BYTES_FIRST, events: 4096 });
	});

	it('is told of a stream of any name', async () => {
		const house = new ProducerHouse();
		const { line, ...rest } = await house.open('p').then((opened) => ({ line: opened.line, uplink: opened.uplink() }));
		rest.uplink.uplink.frame(event(1, { stream: '__proto__' }));
		house.log.commit();
		expect(line.acks.map(({ stored = {} }) => Object.entries(stored))).toEqual([[['__proto__', 1]]]);
		const { reply } = await house.open('p', { epoch: 1, persisted: 1 });
		expect(Object.entries(reply.stored)).toEqual([['__proto__', 1]]);
	});

	it('is told once for a commit what is on disk, and of which streams', async () => {
		const house = new ProducerHouse();
		const { line, ...rest } = await house.open('p').then((opened) => ({ line: opened.line, uplink: opened.uplink() }));
		const { uplink } = rest.uplink;
		for (const seq of [1, 2, 3])
			expect(uplink.frame(event(seq, { stream: seq === 2 ? 'clicks' : 'orders' }))).toBe('go on');
		expect(line.acks).toEqual([]);
		house.log.commit();
		expect(line.acks).toEqual([{ producer: 'p', epoch: 1, persisted: 3, stored: { orders: 3, clicks: 2 } }]);
		house.log.commit();
		expect(line.acks).toHaveLength(1);
	});

	it('sends a seq twice, by two uplinks: it is appended once', async () => {
		const house = new ProducerHouse();
		const first = (await house.open('p')).uplink().uplink;
		const second = (await house.open('p', { epoch: 1 })).uplink().uplink;
		for (const seq of [1, 2]) first.frame(event(seq));
		for (const seq of [1, 2, 3]) second.frame(event(seq));
		first.frame(event(3));
		expect(house.events()).toEqual([1, 2, 3]);
	});

	it('leaves a gap: its uplink is closed, and takes nothing more', async () => {
		const house = new ProducerHouse();
		const { uplink } = (await house.open('p')).uplink();
		uplink.frame(event(1));
		expect(uplink.frame(event(3))).toBe('close');
		expect(uplink.frame(event(2))).toBe('close');
		expect(house.events()).toEqual([1]);
	});

	it('writes what is no event frame: its uplink is closed', async () => {
		const house = new ProducerHouse();
		const { uplink } = (await house.open('p')).uplink();
		expect(uplink.frame({ kind: 'fault', message: 'not JSON' })).toBe('close');
	});

	it('goes on at the same place in a new sidecar, with a line that knows what was persisted', async () => {
		const before = new ProducerHouse();
		const { uplink } = (await before.open('p')).uplink();
		for (const seq of [1, 2, 3]) uplink.frame(event(seq));
		before.log.commit(4);
		const house = new ProducerHouse({}, before);
		const opened = await house.open('p', { epoch: 1, persisted: 1 });
		expect(opened.reply).toMatchObject({ epoch: 1, persisted: 2, stored: { orders: 2 } });
		const again = opened.uplink().uplink;
		for (const seq of [2, 3, 4]) expect(again.frame(event(seq))).toBe('go on');
		expect(house.events()).toEqual([1, 2, 3, 4]);
	});

	it('has a name: the next process gets the next epoch, and frames of the one before are refused', async () => {
		const house = new ProducerHouse();
		const old = await house.open('writer');
		const oldUplink = old.uplink().uplink;
		oldUplink.frame(event(1));
		const next = await house.open('writer');
		expect(next.reply.epoch).toBe(2);
		expect(oldUplink.frame(event(2))).toBe('close');
		expect(() => house.producers.open({ producer: 'writer', epoch: 1 }, new TestLine())).toThrow(/opened elsewhere/);
		next.uplink().uplink.frame(event(1));
		expect(house.events()).toEqual([1, 1]);
	});

	it('is not ended by what its own client sent on an older connection, and what arrives late', async () => {
		const house = new ProducerHouse();
		const client = 'the same';
		const present = await house.open('p', {}, new TestLine({ client, connection: 8 }));
		const late = { producer: 'p' };
		expect(() => house.producers.open(late, new TestLine({ client, connection: 7 }))).toThrow(/opened elsewhere/);
		expect(present.uplink().uplink.frame(event(1))).toBe('go on');
		expect((await house.open('p', {}, new TestLine({ client, connection: 8 }))).reply.epoch).toBe(2);
		expect((await house.open('p', {}, new TestLine({ client: 'another', connection: 7 }))).reply.epoch).toBe(3);
	});

	it('was told more than the log knows: its number is taken, kept and reported', async () => {
		const lost: unknown[] = [];
		const observer = { logLost: (...what: unknown[]) => lost.push(what) };
		const before = new ProducerHouse({ observer });
		const opened = await before.open('p', { epoch: 3, persisted: 70 });
		expect(opened.reply).toMatchObject({ epoch: 3, persisted: 70 });
		expect(lost).toEqual([['p', 0, 70]]);
		expect(opened.uplink().uplink.frame(event(71))).toBe('go on');
		before.log.commit(2);
		const house = new ProducerHouse({}, before);
		expect((await house.open('p', { epoch: 3, persisted: 70 })).reply).toMatchObject({ persisted: 70 });
	});

	it('has a refused event: it takes its seq, is told with the commit, and again to a line that has not heard of it', async () => {
		const before = new ProducerHouse({ streams: new Set(['orders']), streamsSetting: '--events-strict' });
		const { line, ...opened } = await before.open('p').then((each) => ({ line: each.line, uplink: each.uplink() }));
		const { uplink } = opened.uplink;
		uplink.frame(event(1));
		uplink.frame(event(2, { stream: 'clicks' }));
		uplink.frame({ kind: 'refused', seq: 3, code: 'FRAME_TOO_LARGE', message: 'too long' });
		uplink.frame(event(4));
		before.log.commit();
		const message = 'unknown stream "clicks": add it to --events-strict, or write to one of those there';
		const refused = [
			{ seq: 2, code: 'BAD_REQUEST', message },
			{ seq: 3, code: 'FRAME_TOO_LARGE', message: 'too long' },
		];
		expect(line.acks).toEqual([{ producer: 'p', epoch: 1, persisted: 4, stored: { orders: 4 }, refused }]);
		const house = new ProducerHouse({}, before);
		expect((await house.open('p', { epoch: 1, persisted: 2 })).reply.refused).toEqual(refused.slice(1));
		expect((await house.open('p', { epoch: 1, persisted: 4 })).reply.refused).toBeUndefined();
		expect(house.events()).toEqual([1, 4]);
	});

	it('has more refused events than are kept: the newest are, and those alone are told that were not', async () => {
		const house = new ProducerHouse();
		const opened = await house.open('p');
		const { uplink } = opened.uplink();
		const refuse = (from: number, to: number): void => {
			for (let seq = from; seq <= to; seq++) uplink.frame({ kind: 'refused', seq, code: 'BAD_REQUEST', message: 'm' });
			house.log.commit();
		};
		const last = REFUSED_TOLD_MAX + 10;
		refuse(1, last);
		uplink.frame(event(last + 1));
		house.log.commit();
		refuse(last + 2, last + 2);
		expect(opened.line.acks.map(({ refused }) => refused?.length)).toEqual([last, undefined, 1]);
		const { refused } = (await house.open('p', { epoch: 1 })).reply;
		expect(refused).toHaveLength(REFUSED_TOLD_MAX);
		expect(refused?.at(-1)?.seq).toBe(last + 2);
	});

	it('is not read on while too many of its refused events could not be told', async () => {
		const house = new ProducerHouse();
		const { uplink } = (await house.open('p')).uplink();
		const refuse = (seq: number) => uplink.frame({ kind: 'refused', seq, code: 'BAD_REQUEST', message: 'm' });
		for (let seq = 1; seq <= REFUSED_UNTOLD_MAX; seq++) expect(refuse(seq)).toBe('go on');
		expect(refuse(REFUSED_UNTOLD_MAX + 1)).toBe('close');
	});

	it('writes to more streams than are remembered: the one is forgotten whose events are on disk for longest', async () => {
		const house = new ProducerHouse();
		const { uplink } = (await house.open('p')).uplink();
		for (let seq = 1; seq <= PRODUCER_STREAMS_MAX; seq++) uplink.frame(event(seq, { stream: `s${seq}` }));
		expect((await house.open('p', { epoch: 1 })).reply.persisted).toBe(PRODUCER_STREAMS_MAX);
		// This one is not on disk when another one must go.
		uplink.frame(event(PRODUCER_STREAMS_MAX + 1, { stream: 's1' }));
		uplink.frame(event(PRODUCER_STREAMS_MAX + 2, { stream: 'one more' }));
		house.log.commit();
		const { stored } = (await house.open('p', { epoch: 1 })).reply;
		expect(Object.keys(stored)).toHaveLength(PRODUCER_STREAMS_MAX);
		expect(stored).toMatchObject({ s1: PRODUCER_STREAMS_MAX + 1, s3: 3, 'one more': PRODUCER_STREAMS_MAX + 2 });
		expect(stored['s2']).toBeUndefined();
	});

	it('forgets no stream whose events are not on disk', async () => {
		const house = new ProducerHouse();
		const { uplink } = (await house.open('p')).uplink();
		for (let seq = 1; seq <= PRODUCER_STREAMS_MAX + 1; seq++) uplink.frame(event(seq, { stream: `s${seq}` }));
		const opening = house.producers.open({ producer: 'p', epoch: 1 }, new TestLine());
		expect((await opening).reply.stored).toEqual({});
		house.log.commit();
		expect(Object.keys((await house.open('p', { epoch: 1 })).reply.stored)).toHaveLength(PRODUCER_STREAMS_MAX + 1);
	});

	it('is opened by two at the same moment: the later one has it, and the earlier gets the error', async () => {
		const house = new ProducerHouse();
		const opening = [1, 2].map(() => Promise.resolve(house.producers.open({ producer: 'p' }, new TestLine())));
		house.log.commit();
		const [earlier, later] = await Promise.allSettled(opening);
		expect(earlier).toMatchObject({ status: 'rejected', reason: { code: 'BAD_REQUEST', details: { path: 'epoch' } } });
		expect(later).toMatchObject({ status: 'fulfilled' });
	});

	it('is one of as many as may wait for the disk, and is answered when its own record is there', async () => {
		const house = new ProducerHouse();
		const answered: string[] = [];
		for (let count = 1; count <= OPENINGS_MAX; count++) {
			const opening = house.producers.open({ producer: `p${count}` }, new TestLine());
			void Promise.resolve(opening).then(({ reply }) => answered.push(reply.producer));
		}
		expect(() => house.producers.open({ producer: 'one more' }, new TestLine())).toThrow(/try again later/);
		house.log.commit(3);
		await house.clock.advance(0);
		expect(answered).toEqual(['p1', 'p2']);
		house.log.commit();
		await house.clock.advance(0);
		expect(answered).toHaveLength(OPENINGS_MAX);
	});

	it('has lost part of the log: what is known and what it was told is reported', async () => {
		const lost: unknown[] = [];
		const house = new ProducerHouse({ observer: { logLost: (...what) => lost.push(what) } });
		(await house.open('p')).uplink().uplink.frame(event(1));
		await house.open('p', { epoch: 1, persisted: 5 });
		expect(lost).toEqual([['p', 1, 5]]);
	});

	it('is known from its events alone, once the record of its opening is deleted', async () => {
		const before = new ProducerHouse();
		const { uplink } = (await before.open('p')).uplink();
		for (const seq of [1, 2]) uplink.frame(event(seq));
		before.log.commit();
		const house = new ProducerHouse();
		before.log.copyTo(house.log, before.log.persisted);
		house.log.replay(house.producers, 2);
		expect((await house.open('p', { epoch: 1 })).reply).toMatchObject({ epoch: 1, persisted: 2 });
	});

	it('is told nothing on a line that was closed, and its uplink is read to the end', async () => {
		const house = new ProducerHouse();
		const opened = await house.open('p');
		const { uplink } = opened.uplink();
		opened.opened.closed();
		opened.opened.closed();
		expect(uplink.frame(event(1))).toBe('go on');
		house.log.commit();
		expect(opened.line.acks).toEqual([]);
		expect((await house.open('p', { epoch: 1 })).reply.persisted).toBe(1);
	});
});

describe('a repetition by its id', () => {
	it('takes its seq and is not appended, within two minutes', async () => {
		const house = new ProducerHouse();
		const opened = await house.open('p');
		const { uplink } = opened.uplink();
		uplink.frame(event(1, { id: 'a' }));
		uplink.frame(event(2, { id: 'a', stream: 'clicks' }));
		await house.clock.advance(120_000);
		uplink.frame(event(3, { id: 'a' }));
		await house.clock.advance(1);
		uplink.frame(event(4, { id: 'a' }));
		expect(house.events()).toEqual([1, 2, 4]);
		house.log.commit();
		expect(opened.line.acks).toMatchObject([{ persisted: 4 }]);
	});

	it('is recognised in a new sidecar too', async () => {
		const before = new ProducerHouse();
		(await before.open('p')).uplink().uplink.frame(event(1, { id: 'a' }));
		before.log.commit();
		const house = new ProducerHouse({}, before);
		const { uplink } = (await house.open('q')).uplink();
		uplink.frame(event(1, { id: 'a' }));
		expect(house.events()).toEqual([1]);
	});
});
