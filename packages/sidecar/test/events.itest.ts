import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { fileURLToPath } from 'node:url';

import { settle, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { MemoryEvents } from './memory-events.ts';
import type { RawClient } from './raw-client.ts';
import { ackedUpTo, eventLine, openProducer, type RunningEvents, runEvents } from './running-events.ts';
import { run } from './running-sidecar.ts';

/** Nothing of it has hurt anybody else. */
async function expectUnhurt(running: Pick<RunningEvents, 'open'>): Promise<void> {
	await using other = await running.open();
	expect(await other.ask(1, 'getService', { service: 'barista' })).toMatchObject({ data: { host: '1.2.3.4' } });
}

/** Opens a producer, and gives its ticket. */
async function ticketOf(call: RawClient): Promise<unknown> {
	const reply = await call.ask(1, 'openProducer', { producer: 'p' });
	return (reply?.['data'] as { ticket: string } | undefined)?.ticket;
}

const textsOf = ({ events }: RunningEvents): string[] => events.disk.events.map(({ text }) => text);

describe('a sidecar without events', () => {
	it('says what to do, to functions and to notices, and does not name them in hello', async () => {
		await using running = await run();
		await using client = await running.open();
		const help = { code: 'UNKNOWN_FUNC', message: expect.stringContaining('--events DIRECTORY') };
		expect(await client.ask(1, 'publish', { stream: 's', payload: 1 })).toMatchObject({ id: 1, error: help });
		expect(await client.ask(2, 'openProducer', { producer: 'p' })).toMatchObject({ id: 2, error: help });
		expect(await client.ask(3, 'hello', { versions: [1] })).toMatchObject({
			data: { features: ['push', 'goaway', 'window', 'deltas', 'parts', 'lists'] },
		});
		client.send({ func: 'ack', data: { consumer: 1, n: [1] } });
		expect(await client.next()).toMatchObject({ id: null, error: help });
		client.send({ func: 'uplink', data: { ticket: 't' } });
		expect(await client.next()).toMatchObject({ id: null, error: help });
		expect(await client.next()).toBeUndefined();
		expect(running.faults).toEqual([]);
	});
});

describe('an event by one line', () => {
	it('is persisted and answered, as by nc', async () => {
		await using running = await runEvents();
		const socket = createConnection({ path: running.path, allowHalfOpen: true });
		socket.end('{"id":1,"func":"publish","data":{"stream":"orders","key":"c-1","payload":{"total":5}}}\n');
		let answer = '';
		socket.on('data', (chunk) => {
			answer += chunk;
		});
		await once(socket, 'close');
		expect(JSON.parse(answer)).toEqual({ id: 1, data: { position: 1, duplicate: false } });
		expect(textsOf(running)).toEqual(['{"stream":"orders","key":"c-1","payload":{"total":5}}']);
		await expectUnhurt(running);
	});

	it('is refused where its data is wrong', async () => {
		await using running = await runEvents();
		await using client = await running.open();
		const error = { code: 'BAD_REQUEST', details: { path: 'stream' } };
		expect(await client.ask(1, 'publish', { stream: 'a b', payload: 1 })).toMatchObject({ error });
		expect(await client.ask(2, 'hello', { versions: [1] })).toMatchObject({
			data: { features: ['push', 'goaway', 'window', 'deltas', 'parts', 'lists', 'events', 'gaps'] },
		});
	});
});

describe('a producer', () => {
	it('is told what is persisted, on its call line, and never on its uplink', async () => {
		await using running = await runEvents();
		await using producer = await openProducer(running);
		expect(producer.reply).toMatchObject({ producer: 'p', epoch: 1, persisted: 0, window: { bytes: 131072 } });
		producer.uplink.socket.write(eventLine(1, { total: 12345678901234567890n.toString() }) + eventLine(2, 'b'));
		expect(await ackedUpTo(producer.call, 2)).toEqual({
			event: 'acked',
			data: { producer: 'p', epoch: 1, persisted: 2 },
		});
		producer.uplink.send({ seq: 3, func: 'event', data: { stream: 'a b', payload: 1 } });
		expect(await ackedUpTo(producer.call, 3)).toMatchObject({
			data: { persisted: 3, refused: [{ seq: 3, code: 'BAD_REQUEST' }] },
		});
		expect(producer.uplink.unread).toBe(0);
		expect(running.events.disk.events.map(({ seq }) => seq)).toEqual([1, 2]);
		await expectUnhurt(running);
	});

	it('is not answered on its uplink, whatever the sidecar has to say: not a ping, not a window, not goaway', async () => {
		await using running = await runEvents(undefined, { graceMs: 200 });
		await using call = await running.open();
		const reply = (await call.ask(1, 'openProducer', { producer: 'p' }))?.['data'] as { ticket: string };
		await using uplink = await running.open();
		expect(await uplink.ask(1, 'hello', { versions: [1], features: ['goaway', 'window'] })).toMatchObject({ id: 1 });
		uplink.send({ func: 'uplink', data: { ticket: reply.ticket } });
		uplink.socket.write(eventLine(1, 'a'));
		await ackedUpTo(call, 1);
		const ended = running.end();
		// Its end is all that is seen of the end of the sidecar.
		expect(await uplink.next()).toBeUndefined();
		await ended;
	});

	it.each([
		['a request', '{"id":1,"func":"ping"}\n'],
		['no JSON', 'hello\n'],
		['invalid UTF-8', Buffer.from([0xff, 0x0a])],
		['a gap', eventLine(3, 'c')],
		['a frame that is too long', 'x'.repeat(1_100_000)],
	])('whose uplink carries %s has it closed without a word, and goes on by another', async (_name, bytes) => {
		await using running = await runEvents();
		await using producer = await openProducer(running);
		producer.uplink.socket.write(eventLine(1, 'a'));
		await ackedUpTo(producer.call, 1);
		producer.uplink.socket.write(bytes);
		expect(await producer.uplink.next()).toBeUndefined();
		expect(running.reasons).toEqual([expect.stringMatching(/^(?:bad-uplink|frame-too-large)$/)]);
		await using again = await openProducer(running, { producer: 'p', epoch: 1, persisted: 1 });
		again.uplink.socket.write(eventLine(2, 'b'));
		await ackedUpTo(again.call, 2);
		expect(textsOf(running)).toHaveLength(2);
		await expectUnhurt(running);
	});

	it('may send what it has sent: a duplicate is stored once, by any of two uplinks', async () => {
		await using running = await runEvents();
		await using first = await openProducer(running);
		first.uplink.socket.write(eventLine(1, 'a') + eventLine(2, 'b'));
		await ackedUpTo(first.call, 2);
		// Its call line flapped: the first uplink is still being read.
		await using second = await openProducer(running, { producer: 'p', epoch: 1, persisted: 0 });
		expect(second.reply).toMatchObject({ epoch: 1, persisted: 2 });
		second.uplink.socket.write(eventLine(2, 'b') + eventLine(3, 'c'));
		await ackedUpTo(second.call, 3);
		first.uplink.socket.write(eventLine(3, 'c') + eventLine(4, 'd'));
		await ackedUpTo(second.call, 4);
		expect(running.events.disk.events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
		expect(running.reasons).toEqual([]);
	});

	it('that is opened again on the same line gets a new ticket, and the old one is void', async () => {
		await using running = await runEvents();
		await using call = await running.open();
		const [one, two] = [
			await call.ask(1, 'openProducer', { producer: 'p' }),
			await call.ask(2, 'openProducer', { producer: 'p', epoch: 1 }),
		];
		const tickets = [one, two].map((frame) => (frame as unknown as { data: { ticket: string } }).data.ticket);
		await using old = await running.open();
		old.send({ func: 'uplink', data: { ticket: tickets[0] } });
		expect(await old.next()).toMatchObject({ id: null, error: { code: 'ACL_DENIED' } });
		await using uplink = await running.open();
		uplink.send({ func: 'uplink', data: { ticket: tickets[1] } });
		uplink.socket.write(eventLine(1, 'a'));
		await ackedUpTo(call, 1);
	});
});

describe('a ticket', () => {
	it('is for one uplink: a second, a guessed and a missing one are refused, and the connection is closed', async () => {
		await using running = await runEvents();
		await using producer = await openProducer(running);
		producer.uplink.socket.write(eventLine(1, 'a'));
		await ackedUpTo(producer.call, 1);
		for (const [ticket, code] of [
			[producer.reply['ticket'], 'ACL_DENIED'],
			['ticket-2', 'ACL_DENIED'],
			[undefined, 'BAD_REQUEST'],
			['', 'BAD_REQUEST'],
		]) {
			await using thief = await running.open();
			thief.send({ func: 'uplink', data: { ticket } });
			thief.socket.write(eventLine(2, 'stolen'));
			expect(await thief.next()).toMatchObject({ id: null, error: { code } });
			expect(await thief.next()).toBeUndefined();
		}
		expect(textsOf(running)).toHaveLength(1);
		await expectUnhurt(running);
	});

	it('outlives its call line by a while: the uplink of an app that was killed may come after the end of the line', async () => {
		await using running = await runEvents();
		const call = await running.open();
		const ticket = await ticketOf(call);
		call.socket.destroy();
		await waitFor('the end of the line', () => running.reasons.length === 1);
		await using uplink = await running.open();
		uplink.send({ func: 'uplink', data: { ticket } });
		uplink.socket.end(eventLine(1, 'a'));
		await waitFor('the event', () => running.events.disk.events.length === 1);
	});

	it('is no use on a connection that has a producer', async () => {
		await using running = await runEvents();
		await using call = await running.open();
		const ticket = await ticketOf(call);
		call.send({ func: 'uplink', data: { ticket } });
		expect(await call.next()).toMatchObject({ error: { message: expect.stringContaining('open another connection') } });
	});
});

describe('a producer over its window', () => {
	it('is not read, and not closed for it, while lookups go on; then everything comes', async () => {
		await using running = await runEvents(undefined, { partialFrameMs: 1, handshakeMs: 1 });
		running.events.isStalled = true;
		await using producer = await openProducer(running);
		const payload = 'x'.repeat(1000);
		const count = 1000;
		for (let seq = 1; seq <= count; seq++) producer.uplink.socket.write(eventLine(seq, payload));
		await waitFor('a full window', () => running.events.disk.events.length > 100);
		await settle();
		const taken = running.events.disk.events.length;
		expect(taken).toBeLessThan(150);
		await expectUnhurt(running);
		running.events.isStalled = false;
		running.events.commit();
		await ackedUpTo(producer.call, count);
		expect(running.events.disk.events.map(({ seq }) => seq)).toEqual(Array.from({ length: count }, (_, at) => at + 1));
		expect(running.reasons.filter((reason) => reason !== 'client')).toEqual([]);
	});

	it('that dies meanwhile has everything read that it had sent, to the end', async () => {
		await using running = await runEvents();
		running.events.isStalled = true;
		const producer = await openProducer(running);
		const lines = Array.from({ length: 200 }, (_, at) => eventLine(at + 1, 'x'.repeat(1000))).join('');
		producer.uplink.socket.write(lines);
		await waitFor('a full window', () => running.events.disk.events.length > 100);
		producer.uplink.socket.end();
		producer.call.socket.destroy();
		await waitFor('the end of the call line', () => running.reasons.includes('client'));
		expect(running.events.disk.events.length).toBeLessThan(200);
		running.events.isStalled = false;
		running.events.commit();
		await waitFor('all', () => running.events.disk.events.length === 200);
		await waitFor('the end', () => running.events.told.includes('uplink closed p'));
		producer.uplink.socket.destroy();
	});
});

describe('an app that is killed', () => {
	const app = fileURLToPath(new URL('./event-app.mjs', import.meta.url));

	/** Lets an app send until it has said so often that a tick is over, kills it, and gives the last number that it said. */
	async function killApp(path: string, producer: string, ticks: number): Promise<number> {
		const child = spawn(process.execPath, [app, path, producer, '1000', '20'], {
			stdio: ['ignore', 'pipe', 'inherit'],
		});
		let said = '';
		await new Promise<void>((resolve) => {
			child.stdout.on('data', (chunk) => {
				said += chunk;
				if (said.split('\n').length > ticks) child.kill('SIGKILL');
			});
			child.once('close', () => resolve());
		});
		return Number(said.trimEnd().split('\n').at(-1));
	}

	it.each([
		['reads quickly', 0],
		['reads slowly', 1],
	])('loses nothing that it sent in an earlier tick, while the sidecar %s: 25 times', async (_name, readDelayMs) => {
		await using running = await runEvents();
		running.events.readDelayMs = readDelayMs;
		for (let round = 1; round <= 25; round++) {
			const producer = `app-${round}`;
			const told = await killApp(running.path, producer, 1 + (round % 7));
			await waitFor('the end of the uplink', () => running.events.told.includes(`uplink closed ${producer}`));
			const seqs = running.events.disk.events.filter((event) => event.producer === producer).map(({ seq }) => seq);
			expect(told).toBeGreaterThan(0);
			expect(seqs).toEqual(Array.from({ length: Math.max(told, seqs.length) }, (_, at) => at + 1));
		}
		await expectUnhurt(running);
	});
});

describe('a consumer', () => {
	const publish = async (client: RawClient, count: number, stream = 'orders'): Promise<void> => {
		for (let at = 1; at <= count; at++) await client.ask(at, 'publish', { stream, payload: at });
	};

	it('gets what there is and what comes, as its producer wrote it, behind the reply', async () => {
		await using running = await runEvents();
		await using producer = await openProducer(running);
		producer.uplink.socket.write(
			'{"seq":1,"func":"event","data":{"stream":"orders","key":"k","payload":{"big":12345678901234567890, "x":1e400}}}\n',
		);
		await ackedUpTo(producer.call, 1);
		await using client = await running.open();
		let text = '';
		client.socket.on('data', (chunk) => {
			text += chunk;
		});
		expect(await client.ask(1, 'openConsumer', { stream: 'orders', from: 'first' })).toEqual({
			id: 1,
			data: { consumer: 1, position: 1 },
		});
		expect(await client.next()).toMatchObject({
			event: 'deliver',
			data: { consumer: 1, events: [{ n: 1, delivery: 1, position: 1, time: 1 }] },
		});
		expect(text).toContain(
			'"event":{"stream":"orders","key":"k","payload":{"big":12345678901234567890, "x":1e400}}}]}}',
		);
		await publish(producer.call, 1);
		expect(await client.next()).toMatchObject({ data: { events: [{ n: 2, event: { payload: 1 } }] } });
	});

	it('gets no more than its credit, and the next for each ack', async () => {
		await using running = await runEvents();
		await using client = await running.open();
		await publish(client, 5);
		await client.ask(1, 'openConsumer', { stream: 'orders', from: 'first', inFlightMax: 2 });
		const got: number[] = [];
		const take = async (): Promise<void> => {
			const { data } = (await client.next()) as unknown as {
				data: { events: { n: number; event: { payload: number } }[] };
			};
			got.push(...data.events.map(({ event }) => event.payload));
		};
		while (got.length < 2) await take();
		await settle();
		expect(client.unread).toBe(0);
		client.send({ func: 'ack', data: { consumer: 1, n: [1, 2, 99] } });
		while (got.length < 4) await take();
		expect(got).toEqual([1, 2, 3, 4]);
		client.send({ func: 'nack', data: { consumer: 1, n: [3], delayMs: 5 } });
		expect(await client.next()).toMatchObject({ data: { events: [{ n: 5, delivery: 2 }] } });
		client.send({ func: 'term', data: { consumer: 1, n: [4], reason: 'bad' } });
		client.send({ func: 'extend', data: { consumer: 1, n: [5] } });
		await waitFor('the notices', () => running.events.told.includes('extend 5 '));
		expect(running.events.told).toEqual(expect.arrayContaining(['nack 3 5', 'term 4 bad']));
	});

	it.each([
		['ack', { consumer: 1, n: 7 }],
		['ack', null],
		['nack', { consumer: 1, n: [1], delayMs: -1 }],
		['event', { stream: 's', payload: 1 }],
	])('that sends the bad notice %s %j is told so, and goes on', async (func, data) => {
		await using running = await runEvents();
		await using client = await running.open();
		client.send({ func, data });
		expect(await client.next()).toMatchObject({ id: null, error: { code: 'BAD_REQUEST' } });
		client.send({ func: 'ack', data: { consumer: 7, n: [1] } });
		expect(await client.ask(1, 'ping', 5)).toEqual({ id: 1, data: 5 });
	});

	it('that is closed gets no more; and so does one whose connection ends', async () => {
		await using running = await runEvents();
		await using client = await running.open();
		await client.ask(1, 'openConsumer', { stream: 'orders' });
		await client.ask(2, 'openConsumer', { stream: 'clicks' });
		expect(await client.ask(3, 'closeConsumer', { consumer: 1 })).toEqual({ id: 3, data: null });
		expect(await client.ask(4, 'closeConsumer', { consumer: 1 })).toEqual({ id: 4, data: null });
		expect(running.events.told.at(-1)).toBe('consumer closed orders');
		client.socket.destroy();
		await waitFor('the end', () => running.events.told.at(-1) === 'consumer closed clicks');
	});

	it('whose frames are too short for an event is closed, and told what to do', async () => {
		await using running = await runEvents();
		await using client = await running.open();
		await client.ask(1, 'hello', { versions: [1], frameBytesMax: 1024 });
		await client.ask(2, 'publish', { stream: 'orders', payload: 'a' });
		await client.ask(3, 'publish', { stream: 'orders', payload: 'x'.repeat(2000) });
		await client.ask(4, 'openConsumer', { stream: 'orders', from: 'first' });
		expect(await client.next()).toMatchObject({ event: 'deliver', data: { events: [{ position: 1 }] } });
		expect(await client.next()).toMatchObject({
			event: 'consumerClosed',
			data: { consumer: 1, error: { code: 'FRAME_TOO_LARGE', details: { frameBytesMax: 1024, position: 2 } } },
		});
		await expectUnhurt(running);
	});

	it('is one of as many as a connection may have', async () => {
		await using running = await runEvents();
		await using client = await running.open();
		for (let at = 1; at <= 64; at++) await client.ask(at, 'openConsumer', { stream: 'orders' });
		expect(await client.ask(65, 'openConsumer', { stream: 'orders' })).toMatchObject({ error: { code: 'OVERLOADED' } });
		await client.ask(66, 'closeConsumer', { consumer: 5 });
		expect(await client.ask(67, 'openConsumer', { stream: 'orders' })).toMatchObject({ data: { consumer: 65 } });
	});
});

describe('the log', () => {
	it('is told of the end once all is read, and a restart goes on where it was', async () => {
		const events = new MemoryEvents();
		await using running = await runEvents(events);
		await using producer = await openProducer(running);
		producer.uplink.socket.write(eventLine(1, 'a') + eventLine(2, 'b'));
		await ackedUpTo(producer.call, 2);
		await running.end();
		expect(events.told.slice(-2)).toEqual(['uplink closed p', 'close 5']);
		await using next = await runEvents(new MemoryEvents(events.disk));
		await using again = await openProducer(next, { producer: 'p', epoch: 1, persisted: 2 });
		expect(again.reply).toMatchObject({ persisted: 2, epoch: 1 });
		again.uplink.socket.write(eventLine(3, 'c'));
		await ackedUpTo(again.call, 3);
		await using fresh = await openProducer(next, { producer: 'p' });
		expect(fresh.reply).toMatchObject({ persisted: 0, epoch: 2 });
	});

	it('that cannot be opened stops no lookup, is named with what to do, and is tried again', async () => {
		const events = new MemoryEvents();
		events.failure = new Error("EACCES: permission denied, mkdir '/memory'");
		await using running = await runEvents(events);
		await using client = await running.open();
		await waitFor('the failure', () => running.failures.length > 0);
		const answer = await client.ask(1, 'publish', { stream: 's', payload: 1 });
		expect(answer).toMatchObject({ error: { code: 'UNAVAILABLE', message: expect.stringContaining('--events') } });
		expect(await client.ask(2, 'status')).toMatchObject({
			data: { ready: true, events: { state: 'failed', reason: expect.stringContaining('EACCES') } },
		});
		await expectUnhurt(running);
		events.failure = undefined;
		await waitFor(
			'events',
			async () => 'data' in ((await client.ask(3, 'publish', { stream: 's', payload: 1 })) ?? {}),
		);
		expect(await client.ask(4, 'status')).toBeDefined();
	});
});
