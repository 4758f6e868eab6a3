import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type AckedData, type EventWindowData, encodeEvent, type UplinkFrame } from '@spock/protocol';
import { type Clock, systemClock } from '@spock/protocol/internal';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NodeFiles } from './disk/node-files.ts';
import { NodeOwner } from './disk/node-owner.ts';
import { EventService } from './event-service.ts';
import type { Delivery, ProducerLine } from './foundation/event-sessions.ts';
import type { EventsObserver } from './foundation/events-observer.ts';
import type { EventServiceLimits } from './service-options.ts';

class Line implements ProducerLine {
	readonly acks: AckedData[] = [];
	readonly windows: EventWindowData[] = [];

	acked(data: AckedData): void {
		this.acks.push(data);
	}

	window(data: EventWindowData): void {
		this.windows.push(data);
	}
}

class Sink {
	readonly events: Delivery[] = [];
	code: string | undefined;

	deliver(events: readonly Delivery[]): void {
		this.events.push(...events);
	}

	closed({ code }: { code: string }): void {
		this.code = code;
	}

	get payloads(): unknown[] {
		return this.events.map(({ event }) => (JSON.parse(event.text) as { payload: unknown }).payload);
	}
}

function frame(seq: number, payload: unknown): UplinkFrame {
	const text = encodeEvent({ stream: 'orders', payload });
	return { kind: 'event', seq, stream: 'orders', key: undefined, id: undefined, text, bytes: text.length };
}

const intake = { pause: () => undefined, resume: () => undefined };

describe('the event service', () => {
	let directory: string;
	let opened: EventService[];

	beforeEach(() => {
		directory = mkdtempSync(join(tmpdir(), 'events-'));
		opened = [];
	});

	afterEach(async () => {
		await Promise.all(opened.map((service) => service.close(0)));
		rmSync(directory, { recursive: true });
	});

	async function open(
		takeOver = false,
		{
			limits,
			observer,
			clock = systemClock,
		}: { limits?: EventServiceLimits; observer?: EventsObserver; clock?: Clock } = {},
	): Promise<EventService> {
		const service = new EventService({
			directory,
			files: new NodeFiles(),
			owner: new NodeOwner(directory),
			clock,
			random: Math.random,
			limits: { freeBytesMin: 0, ...limits },
			...(observer !== undefined && { observer }),
		});
		opened.push(service);
		await service.open(takeOver);
		return service;
	}

	it('takes events of a producer, tells what is persisted, and gives them to a group', async () => {
		const service = await open();
		const line = new Line();
		const { reply } = await service.openProducer({ producer: 'p' }, line);
		const uplink = service.uplink(reply.ticket, intake);
		for (const seq of [1, 2, 3]) expect(uplink?.frame(frame(seq, seq))).toBe('go on');
		await expect.poll(() => line.acks.at(-1)?.persisted).toBe(3);
		const sink = new Sink();
		const consumer = await service.openConsumer({ stream: 'orders', group: 'billing', from: 'first' }, sink);
		await expect.poll(() => sink.payloads).toEqual([1, 2, 3]);
		consumer.ack([1, 2]);
		await expect
			.poll(() => service.status().groups)
			.toMatchObject([{ group: 'billing', consumers: 1, out: 1, lag: 1 }]);
		expect(service.status()).toMatchObject({ state: 'receiving', reason: null, producers: 1, unstored: 0 });
		expect(service.status().streams).toMatchObject([{ stream: 'orders', events: 3 }]);
	});

	it('publishes, and knows a repetition by its id also after a restart', async () => {
		const service = await open();
		const event = { stream: 'orders', id: 'o-1', payload: 1 };
		const [first, again] = await Promise.all([service.publish(event), service.publish(event)]);
		expect(first).toEqual({ position: 1, duplicate: false });
		expect(again).toEqual({ position: 1, duplicate: true });
		await service.close(1000);
		await expect(service.publish(event)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		const next = await open();
		expect(await next.publish(event)).toEqual({ position: 1, duplicate: true });
		expect(await next.publish({ stream: 'orders', payload: 2 })).toMatchObject({ duplicate: false });
	});

	it('goes on after a restart: producers where they were told, groups behind what they acked', async () => {
		const service = await open();
		const line = new Line();
		const { reply } = await service.openProducer({ producer: 'p' }, line);
		const uplink = service.uplink(reply.ticket, intake);
		for (const seq of [1, 2, 3]) uplink?.frame(frame(seq, seq));
		const sink = new Sink();
		const consumer = await service.openConsumer({ stream: 'orders', group: 'billing', from: 'first' }, sink);
		await expect.poll(() => sink.payloads).toEqual([1, 2, 3]);
		consumer.ack([1, 3]);
		await service.close(1000);
		expect(sink.code).toBe('UNAVAILABLE');
		const next = await open();
		const again = await next.openProducer({ producer: 'p', epoch: 1, persisted: 3 }, new Line());
		expect(again.reply).toMatchObject({ persisted: 3, stored: { orders: 3 } });
		const rest = new Sink();
		await next.openConsumer({ stream: 'orders', group: 'billing' }, rest);
		await expect.poll(() => rest.payloads).toEqual([2]);
		expect(await next.rewindGroup({ stream: 'orders', group: 'billing', to: 'first' })).toEqual({ position: 1 });
		await expect.poll(() => rest.payloads).toEqual([2, 1, 2, 3]);
	});

	it('forgets a group for good', async () => {
		const service = await open();
		const sink = new Sink();
		const consumer = await service.openConsumer({ stream: 'orders', group: 'billing', from: 'first' }, sink);
		const billing = { stream: 'orders', group: 'billing' };
		await expect(service.deleteGroup(billing)).rejects.toMatchObject({ code: 'BAD_REQUEST' });
		consumer.close();
		await service.deleteGroup(billing);
		await service.close(1000);
		expect((await open()).status().groups).toEqual([]);
	});

	it('is taken over: the old one acks no more, the new one goes on from what it acked', async () => {
		const states: string[] = [];
		const old = await open(false, { observer: { logState: (state) => states.push(state) } });
		const line = new Line();
		const { reply } = await old.openProducer({ producer: 'p' }, line);
		const uplink = old.uplink(reply.ticket, intake);
		uplink?.frame(frame(1, 1));
		const handedOver = old.handOver();
		expect(line.windows.at(-1)).toMatchObject({ bytes: 0, reason: 'events are handed over to another sidecar' });
		await handedOver;
		expect(line.acks.at(-1)?.persisted).toBe(1);
		expect(uplink?.frame(frame(2, 2))).toBe('close');
		expect(states).toEqual(['receiving', 'handing over', 'released']);
		const next = await open();
		const again = await next.openProducer({ producer: 'p', epoch: 1, persisted: 1 }, new Line());
		expect(again.reply.persisted).toBe(1);
	});

	it('is taken over while it does not answer: it acks nothing from then on', async () => {
		const old = await open();
		const line = new Line();
		const { reply } = await old.openProducer({ producer: 'p' }, line);
		const uplink = old.uplink(reply.ticket, intake);
		const next = await open(true);
		expect(uplink?.frame(frame(1, 1))).toBe('go on');
		await expect.poll(() => old.status().state).toBe('released');
		expect(line.acks).toEqual([]);
		const again = await next.openProducer({ producer: 'p', epoch: 1 }, new Line());
		expect(again.reply.persisted).toBe(0);
	});

	it('sends what dies to its own stream', async () => {
		const dead: unknown[] = [];
		const service = await open(false, { observer: { dead: (...what) => dead.push(what) } });
		await service.publish({ stream: 'orders', payload: 1 });
		const sink = new Sink();
		const consumer = await service.openConsumer({ stream: 'orders', group: 'billing', from: 'first' }, sink);
		await expect.poll(() => sink.payloads).toEqual([1]);
		consumer.term([1], 'no such customer');
		const letters = new Sink();
		await service.openConsumer({ stream: 'orders.dead', from: 'first' }, letters);
		await expect.poll(() => letters.payloads).toEqual([1]);
		expect(dead).toEqual([['orders', 'billing', 'no such customer']]);
	});

	it('refuses an unknown stream where they are set, naming the setting', async () => {
		const service = await open(false, { limits: { streams: new Set(['orders']), streamsSetting: '--events-strict' } });
		const refused = service.publish({ stream: 'clicks', payload: 1 });
		await expect(refused).rejects.toMatchObject({
			code: 'BAD_REQUEST',
			message: expect.stringContaining('--events-strict'),
		});
		await service.publish({ stream: 'orders', payload: 1 });
	});

	it('reports at a start and at a clean end neither that nothing is taken nor that events are taken again', async () => {
		const reasons: (string | null)[] = [];
		const service = await open(false, { observer: { blocked: (reason) => reasons.push(reason) } });
		await service.close(1000);
		expect([service.status().state, reasons]).toEqual(['released', []]);
	});

	it('deletes what nobody needs also after its clock was ahead, and was set right', async () => {
		let [aheadMs, passedMs] = [3_600_000, 0];
		const clock: Clock = {
			...systemClock,
			now: () => systemClock.now() + passedMs,
			wallNow: () => systemClock.wallNow() + passedMs + aheadMs,
		};
		const limits = { bytesMax: 8 * 1024 * 1024, retentionMs: 0, retentionBytes: 0 };
		const service = await open(false, { clock, limits });
		const payload = 'x'.repeat(400_000);
		for (let count = 0; count < 12; count++) await service.publish({ stream: 'orders', payload });
		const { bytes } = service.status();
		aheadMs = 0;
		passedMs = 2000;
		await service.publish({ stream: 'orders', payload: 'first look' });
		passedMs = 180_000;
		await service.publish({ stream: 'orders', payload: 'second look' });
		expect(service.status().bytes).toBeLessThan(bytes / 2);
	});

	it('refuses a log that is too small for its segments', async () => {
		await expect(open(false, { limits: { bytesMax: 5 } })).rejects.toThrow(
			new RangeError('bytesMax must be at least 8388608, which is 8 MiB, not 5'),
		);
	});

	it('answers nothing before it is open', async () => {
		const service = new EventService({
			directory,
			files: new NodeFiles(),
			owner: new NodeOwner(directory),
			clock: systemClock,
			random: Math.random,
		});
		expect(() => service.openProducer({ producer: 'p' }, new Line())).toThrow(/the log is being read/);
		await expect(service.publish({ stream: 'orders', payload: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		await expect(service.openConsumer({ stream: 'orders' }, new Sink())).rejects.toMatchObject({ code: 'UNAVAILABLE' });
	});
});
