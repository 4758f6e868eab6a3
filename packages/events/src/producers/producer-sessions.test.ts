import { describe, expect, it } from 'vitest';

import { event, ProducerHouse, TestLine } from '../../test/producer-house.ts';
import { PRODUCER_CONNECTIONS_MAX } from './producers.ts';

describe('tickets', () => {
	it('are good once, and only while their call line lives', async () => {
		const house = new ProducerHouse();
		const intake = { pause: () => undefined, resume: () => undefined };
		const opened = await house.open('p');
		expect(opened.reply.ticket).toMatch(/^[A-Za-z0-9_-]{32}$/);
		expect(house.producers.uplink('a'.repeat(32), intake)).toBeUndefined();
		expect(house.producers.uplink(opened.reply.ticket, intake)).toBeDefined();
		expect(house.producers.uplink(opened.reply.ticket, intake)).toBeUndefined();
		const other = await house.open('p', { epoch: 1 });
		other.opened.closed();
		expect(house.producers.uplink(other.reply.ticket, intake)).toBeUndefined();
	});

	it('are no texts of any other length', () => {
		const intake = { pause: () => undefined, resume: () => undefined };
		expect(new ProducerHouse().producers.uplink('a'.repeat(65), intake)).toBeUndefined();
	});

	it('that are given to a line which has ended are void', async () => {
		const house = new ProducerHouse();
		const { reply } = await house.open('p');
		expect(reply.epoch).toBe(1);
		// Known already, so it is opened at once; its answer is not read before its end.
		const opened = await house.producers.open({ producer: 'p', epoch: 1 }, new TestLine());
		opened.closed();
		const intake = { pause: () => undefined, resume: () => undefined };
		expect(house.producers.uplink(opened.reply.ticket, intake)).toBeUndefined();
	});

	it('of the oldest line are void once a producer has too many lines', async () => {
		const house = new ProducerHouse();
		const { reply } = await house.open('p');
		for (let count = 0; count < PRODUCER_CONNECTIONS_MAX; count++) await house.open('p', { epoch: 1 });
		expect(house.producers.uplink(reply.ticket, { pause: () => undefined, resume: () => undefined })).toBeUndefined();
	});
});

describe('the table of producers', () => {
	it('is full: a producer that was seen within an hour is not forgotten for a new one', async () => {
		const house = new ProducerHouse({ producersMax: 2 });
		const first = await house.open('a');
		const second = await house.open('b');
		expect(() => house.producers.open({ producer: 'c' }, new TestLine())).toThrow(/2 producers are known/);
		first.opened.closed();
		await house.clock.advance(60 * 60 * 1000 - 1);
		expect(() => house.producers.open({ producer: 'c' }, new TestLine())).toThrow(/2 producers are known/);
		await house.clock.advance(1);
		expect((await house.open('c')).reply.epoch).toBe(1);
		expect(second.uplink().uplink.frame(event(1))).toBe('go on');
		expect(house.producers.count).toBe(2);
	});

	it('that is longer than it may be forgets, at a start, who was not heard of for longest', async () => {
		const before = new ProducerHouse();
		for (const name of ['a', 'b', 'c']) {
			(await before.open(name)).uplink().uplink.frame(event(1));
			before.log.commit();
			await before.clock.advance(1000);
		}
		const house = new ProducerHouse({ producersMax: 2 }, before);
		expect(house.producers.count).toBe(2);
		// Forgotten, it begins anew; the others go on.
		await house.clock.advance(24 * 60 * 60 * 1000);
		expect((await house.open('c')).reply.epoch).toBe(2);
		expect((await house.open('a')).reply.epoch).toBe(1);
	});

	it('ignores what a later version has noted', () => {
		const house = new ProducerHouse();
		house.log.append({ kind: 'note', of: 'producers', text: '{"kind":"later","producer":"p","epoch":7,"seq":1}' });
		house.log.commit();
		expect(new ProducerHouse({}, house).producers.count).toBe(0);
	});
});

describe('the id that an epoch goes on behind', () => {
	/** What the next epoch of `p` is told, by this house and by one that was started from its log. */
	async function lastIdOf(house: ProducerHouse, below?: number): Promise<(string | undefined)[]> {
		house.log.commit();
		const again = new ProducerHouse({}, house, below);
		return [(await again.open('p')).reply.lastId, (await house.open('p')).reply.lastId];
	}

	async function begin(): Promise<{ house: ProducerHouse; send: (...ids: (string | undefined)[]) => void }> {
		const house = new ProducerHouse({ streams: new Set(['orders']) });
		const { reply, ...opened } = await house.open('p').then((producer) => ({
			reply: producer.reply,
			uplink: producer.uplink().uplink,
		}));
		expect(reply.lastId).toBeUndefined();
		let seq = 0;
		return {
			house,
			send: (...ids) => ids.forEach((id) => void opened.uplink.frame(event(++seq, { ...(id && { id }) }))),
		};
	}

	it('is that of the last event with one, also after a restart', async () => {
		const { house, send } = await begin();
		send('a', 'b', undefined);
		expect(await lastIdOf(house)).toEqual(['b', 'b']);
	});

	it('is not that of an event which is not on disk', async () => {
		const { house, send } = await begin();
		send('a');
		house.log.commit();
		send('b');
		const again = new ProducerHouse({}, house);
		expect((await again.open('p')).reply.lastId).toBe('a');
	});

	it('is also that of a repetition', async () => {
		const { house, send } = await begin();
		send('a', 'b', 'a');
		expect(await lastIdOf(house)).toEqual(['a', 'a']);
	});

	it('stays in front of an event that was refused, in this epoch', async () => {
		const house = new ProducerHouse({ streams: new Set(['orders']) });
		const { uplink } = (await house.open('p')).uplink();
		uplink.frame(event(1, { id: 'a' }));
		uplink.frame(event(2, { id: 'b', stream: 'unknown' }));
		uplink.frame(event(3, { id: 'c' }));
		expect(await lastIdOf(house)).toEqual(['a', 'a']);
		const next = (await house.open('p')).uplink().uplink;
		next.frame(event(1, { id: 'd' }));
		expect(await lastIdOf(house)).toEqual(['d', 'd']);
	});

	it('is a part of the checkpoint, with the refusal', async () => {
		const house = new ProducerHouse({ streams: new Set(['orders']) });
		const { uplink } = (await house.open('p')).uplink();
		uplink.frame(event(1, { id: 'a' }));
		uplink.frame(event(2, { stream: 'unknown' }));
		house.log.commit();
		const again = new ProducerHouse();
		again.producers.restore(house.producers.checkpoint());
		const known = (await again.open('p', { epoch: 1, persisted: 2 })).uplink().uplink;
		known.frame(event(3, { id: 'c' }));
		again.log.commit();
		expect((await again.open('p')).reply.lastId).toBe('a');
	});

	it('is not told to a producer that comes back', async () => {
		const { house, send } = await begin();
		send('a');
		house.log.commit();
		expect((await house.open('p', { epoch: 1 })).reply.lastId).toBeUndefined();
	});
});
