import { SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { event, ProducerHouse, TestLine } from '../../test/producer-house.ts';
import { GAPS_SEEN_MS, PRODUCER_SEEN_MS } from './producer-table.ts';

const GAPS = { epoch: 1, gaps: true } as const;

describe('a producer with gaps', () => {
	it('goes on with any higher seq, and sends none twice', async () => {
		const house = new ProducerHouse();
		const { uplink } = (await house.open('edge', GAPS)).uplink();
		for (const seq of [7, 9, 9, 8, 40]) expect(uplink.frame(event(seq))).toBe('go on');
		expect(house.events()).toEqual([7, 9, 40]);
	});

	it('is told where the log is, whatever it was told before, also after a restart', async () => {
		const lost: unknown[] = [];
		const observer = { logLost: (...what: unknown[]) => lost.push(what) };
		const before = new ProducerHouse({ observer });
		const opened = await before.open('edge', { ...GAPS, persisted: 70 });
		expect(opened.reply).toMatchObject({ epoch: 1, persisted: 0 });
		const { uplink } = opened.uplink();
		for (const seq of [7, 9]) uplink.frame(event(seq));
		before.log.commit();
		const house = new ProducerHouse({ observer }, before);
		const again = await house.open('edge', { ...GAPS, persisted: 70 });
		expect(again.reply.persisted).toBe(9);
		const next = again.uplink().uplink;
		for (const seq of [9, 12]) expect(next.frame(event(seq))).toBe('go on');
		expect(house.events()).toEqual([7, 9, 12]);
		expect(lost).toEqual([]);
	});

	it('has an event refused: that is told, takes no place, and nothing behind it is taken by this uplink', async () => {
		const house = new ProducerHouse({ streams: new Set(['orders']) });
		const { line, ...opened } = await house
			.open('edge', GAPS)
			.then((producer) => ({ line: producer.line, uplink: producer.uplink().uplink }));
		expect(opened.uplink.frame(event(7))).toBe('go on');
		expect(opened.uplink.frame(event(8, { stream: 'clicks' }))).toBe('close');
		expect(opened.uplink.frame(event(9))).toBe('close');
		expect(line.acks).toMatchObject([{ persisted: 0, refused: [{ seq: 8, code: 'BAD_REQUEST' }] }]);
		house.log.commit();
		expect(line.acks[1]).toEqual({ producer: 'edge', epoch: 1, persisted: 7, stored: { orders: 7 } });
		const again = await house.open('edge', GAPS);
		expect(again.reply).toMatchObject({ persisted: 7 });
		expect(again.reply.refused).toBeUndefined();
		// It leaves out what was refused, or tries it again.
		expect(again.uplink().uplink.frame(event(9))).toBe('go on');
		expect(house.events()).toEqual([7, 9]);
	});

	it('keeps what its epoch was opened as', async () => {
		const house = new ProducerHouse();
		await house.open('edge', GAPS);
		expect(() => house.producers.open({ producer: 'edge', epoch: 1 }, new TestLine())).toThrow(
			/opened with gaps: true/,
		);
		await house.open('app', { epoch: 1 });
		expect(() => house.producers.open({ producer: 'app', ...GAPS }, new TestLine())).toThrow(/opened with gaps: false/);
	});

	it('is known for days, also from a checkpoint, while others make room after an hour', async () => {
		const before = new ProducerHouse({ producersMax: 2 });
		(await before.open('edge', GAPS)).opened.closed();
		before.clock.work(1000);
		(await before.open('app')).opened.closed();
		const house = new ProducerHouse({ producersMax: 2 }, before);
		house.producers.restore(before.producers.checkpoint());
		house.clock.work(2 * PRODUCER_SEEN_MS);
		(await house.open('one more')).opened.closed();
		const edge = await house.open('edge', GAPS);
		expect(edge.reply.epoch).toBe(1);
		edge.opened.closed();
		house.clock.work(2 * PRODUCER_SEEN_MS);
		const { opened } = await house.open('another');
		expect(() => house.producers.open({ producer: 'third' }, new TestLine())).toThrow(SpockError);
		opened.closed();
		house.clock.work(GAPS_SEEN_MS);
		(await house.open('third')).opened.closed();
		(await house.open('fourth')).opened.closed();
	});
});
