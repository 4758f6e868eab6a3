import { describe, expect, it } from 'vitest';

import { event, ProducerHouse, TestLine, type TestProducer } from '../../test/producer-house.ts';
import type { PlantedBugs } from './event-appender.ts';
import { WINDOW_BYTES_FIRST, WINDOW_BYTES_MAX, WINDOWS_BYTES_MAX } from './windows.ts';

describe('windows', () => {
	async function mostGranted(plantedBugs: PlantedBugs): Promise<number> {
		const house = new ProducerHouse({ plantedBugs });
		let most = 0;
		for (let count = 1; count <= 2000; count++) {
			await house.open(`p${count}`);
			most = Math.max(most, house.producers.windowBytes);
		}
		return most;
	}

	it('together never exceed their sum, whatever the number of producers', async () => {
		expect(await mostGranted({})).toBe(WINDOWS_BYTES_MAX);
		expect(await mostGranted({ countsWindowTwice: true })).toBeGreaterThan(WINDOWS_BYTES_MAX);
	});

	it('are as large as the number of producers allows, and change seldom', async () => {
		const house = new ProducerHouse();
		const opened: TestProducer[] = [];
		for (let count = 1; count <= 300; count++) opened.push(await house.open(`p${count}`));
		expect(opened.at(-1)?.reply.window.bytes).toBe(WINDOW_BYTES_FIRST / 2);
		const [first] = opened;
		const pushes = first?.line.windows.length;
		for (let count = 0; count < 100; count++) {
			opened.pop()?.opened.closed();
			opened.push(await house.open('p300', { epoch: 1 }));
		}
		expect(first?.line.windows.length).toBe(pushes);
		for (const { opened: each } of opened.slice(100)) each.closed();
		expect(first?.line.windows.at(-1)?.bytes).toBe(WINDOW_BYTES_FIRST);
	});

	it('tell a line that opens in the same commit nothing before its answer', async () => {
		const house = new ProducerHouse();
		const lines = Array.from({ length: 300 }, () => new TestLine());
		const opening = lines.map((line, index) => house.producers.open({ producer: `p${index}` }, line));
		house.log.commit();
		const all = await Promise.all(opening);
		expect(lines.flatMap(({ windows }) => windows)).toEqual([]);
		for (const { reply } of all) expect(reply.window.bytes).toBe(WINDOW_BYTES_FIRST / 2);
	});

	it('grow while the log is quick and a producer uses its own', async () => {
		const house = new ProducerHouse();
		const { line, ...opened } = await house.open('p').then((each) => ({ line: each.line, uplink: each.uplink() }));
		for (let seq = 1; seq <= 3; seq++) {
			opened.uplink.uplink.frame(event(seq, { length: 600_000 }));
			house.log.commit();
			await house.clock.advance(300);
		}
		expect(line.windows.at(-1)).toEqual({ producer: 'p', epoch: 1, bytes: WINDOW_BYTES_MAX, events: 4096 });
	});

	it('grow one step at a time', async () => {
		const house = new ProducerHouse();
		const { line, ...opened } = await house.open('p').then((each) => ({ line: each.line, uplink: each.uplink() }));
		for (let seq = 1; seq <= 3; seq++) {
			opened.uplink.uplink.frame(event(seq, { length: 600_000 }));
			house.log.commit();
		}
		expect(line.windows).toEqual([{ producer: 'p', epoch: 1, bytes: 2 * WINDOW_BYTES_FIRST, events: 4096 }]);
	});

	it('are closed with the reason, and opened again', async () => {
		const house = new ProducerHouse();
		const { line } = await house.open('p');
		house.producers.setReason('the disk is full');
		house.producers.setReason('the disk is full');
		expect(line.windows).toEqual([{ producer: 'p', epoch: 1, bytes: 0, events: 0, reason: 'the disk is full' }]);
		expect((await house.open('p', { epoch: 1 })).reply.window).toEqual({
			bytes: 0,
			events: 0,
			reason: 'the disk is full',
		});
		expect(() => house.producers.open({ producer: 'q' }, new TestLine())).toThrow(
			/no events are taken now: the disk is full/,
		);
		house.producers.setReason(null);
		expect(line.windows.at(-1)).toEqual({ producer: 'p', epoch: 1, bytes: WINDOW_BYTES_FIRST, events: 4096 });
	});

	it('are ignored by a client: it is read no more until its events are on disk', async () => {
		const house = new ProducerHouse();
		const { uplink, pauses } = (await house.open('p')).uplink();
		for (let seq = 1; seq <= 3; seq++) expect(uplink.frame(event(seq, { length: 50_000 }))).toBe('go on');
		expect(pauses).toEqual(['pause']);
		house.log.commit(4);
		expect(pauses).toEqual(['pause', 'resume']);
		expect(house.events()).toEqual([1, 2, 3]);
	});

	it('count events too: a producer with more small ones than fit is read on where enough of them are on disk', async () => {
		const accepted: unknown[] = [];
		const house = new ProducerHouse({ observer: { accepted: (...what) => accepted.push(what) } });
		const { uplink, pauses } = (await house.open('p')).uplink();
		const count = 2 * 4096 + 10;
		for (let seq = 1; seq <= count; seq++) uplink.frame(event(seq, { length: 1 }));
		expect(pauses).toEqual(['pause']);
		house.log.commit(10);
		expect(pauses).toEqual(['pause']);
		house.log.commit();
		expect(pauses).toEqual(['pause', 'resume']);
		expect(house.events()).toEqual(Array.from({ length: count }, (_, index) => index + 1));
		expect(accepted).toEqual([['orders', count]]);
		uplink.closed();
		uplink.closed();
	});
});
