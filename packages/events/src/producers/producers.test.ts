import { type AckedData, type EventWindowData, SpockError, type UplinkFrame } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';
import { ManualLog } from '../../test/manual-log.ts';
import type { OpenedProducer, ProducerLine, Uplink } from '../foundation/event-sessions.ts';
import type { PlantedBugs } from './planted-bugs.ts';
import { PRODUCER_CONNECTIONS_MAX, Producers, type ProducersOptions } from './producers.ts';
import { PUBLISHES_MAX } from './publishes.ts';
import { WINDOW_BYTES_FIRST, WINDOW_BYTES_MAX, WINDOWS_BYTES_MAX } from './windows.ts';

type Options = Partial<Omit<ProducersOptions, 'log' | 'clock'>>;

class House {
	readonly clock = new FakeClock();
	readonly log: ManualLog;
	readonly producers: Producers;

	constructor(options: Options = {}, before?: House, below?: number) {
		let told: Producers | undefined;
		this.log = new ManualLog(this.clock, (persisted) => told?.committed(persisted));
		if (before !== undefined) {
			this.clock.work(before.clock.now() - this.clock.now());
			before.log.copyTo(this.log, below ?? before.log.persisted);
		}
		this.producers = new Producers({ log: this.log, clock: this.clock, ...options });
		told = this.producers;
		if (before === undefined) return;
		this.log.replay(this.producers);
		this.producers.recovered();
	}

	/** Opens a producer, whose epoch is committed if it is new. */
	async open(producer: string, told: { epoch?: number; persisted?: number } = {}): Promise<Opened> {
		const line = new Line();
		const opening = this.producers.open({ producer, ...told }, line);
		this.log.commit();
		return new Opened(this, await opening, line);
	}

	/** The events in the log. */
	events(): (string | number)[] {
		return this.log.events().map(({ producer, seq }) => (producer === '' ? 'published' : seq));
	}
}

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

class Opened {
	readonly opened: OpenedProducer;
	readonly line: Line;
	readonly #house: House;

	constructor(house: House, opened: OpenedProducer, line: Line) {
		this.#house = house;
		this.opened = opened;
		this.line = line;
		// Read as the sidecar does: at once.
		void opened.reply;
	}

	get reply(): OpenedProducer['reply'] {
		return this.opened.reply;
	}

	uplink(): TestUplink {
		const pauses: string[] = [];
		const intake = { pause: () => pauses.push('pause'), resume: () => pauses.push('resume') };
		const uplink = this.#house.producers.uplink(this.reply.ticket, intake);
		if (uplink === undefined) throw new Error('the ticket is void');
		return { uplink, pauses };
	}
}

interface TestUplink {
	readonly uplink: Uplink;
	readonly pauses: string[];
}

function event(
	seq: number,
	{ stream = 'orders', id, length = 10 }: { stream?: string; id?: string; length?: number } = {},
): UplinkFrame {
	return { kind: 'event', seq, stream, key: undefined, id, text: 'x'.repeat(length) };
}

describe('a producer', () => {
	it('is answered once its epoch is on disk', async () => {
		const house = new House();
		let answered = false;
		const opening = Promise.resolve(house.producers.open({ producer: 'p' }, new Line())).then((opened) => {
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
		const house = new House();
		const { line, ...rest } = await house.open('p').then((opened) => ({ line: opened.line, uplink: opened.uplink() }));
		rest.uplink.uplink.frame(event(1, { stream: '__proto__' }));
		house.log.commit();
		expect(line.acks.map(({ stored = {} }) => Object.entries(stored))).toEqual([[['__proto__', 1]]]);
		const { reply } = await house.open('p', { epoch: 1, persisted: 1 });
		expect(Object.entries(reply.stored)).toEqual([['__proto__', 1]]);
	});

	it('is told once for a commit what is on disk, and of which streams', async () => {
		const house = new House();
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
		const house = new House();
		const first = (await house.open('p')).uplink().uplink;
		const second = (await house.open('p', { epoch: 1 })).uplink().uplink;
		for (const seq of [1, 2]) first.frame(event(seq));
		for (const seq of [1, 2, 3]) second.frame(event(seq));
		first.frame(event(3));
		expect(house.events()).toEqual([1, 2, 3]);
	});

	it('leaves a gap: its uplink is closed, and takes nothing more', async () => {
		const house = new House();
		const { uplink } = (await house.open('p')).uplink();
		uplink.frame(event(1));
		expect(uplink.frame(event(3))).toBe('close');
		expect(uplink.frame(event(2))).toBe('close');
		expect(house.events()).toEqual([1]);
	});

	it('writes what is no event frame: its uplink is closed', async () => {
		const house = new House();
		const { uplink } = (await house.open('p')).uplink();
		expect(uplink.frame({ kind: 'fault', message: 'not JSON' })).toBe('close');
	});

	it('goes on at the same place in a new sidecar, with a line that knows what was persisted', async () => {
		const before = new House();
		const { uplink } = (await before.open('p')).uplink();
		for (const seq of [1, 2, 3]) uplink.frame(event(seq));
		before.log.commit(4);
		const house = new House({}, before);
		const opened = await house.open('p', { epoch: 1, persisted: 1 });
		expect(opened.reply).toMatchObject({ epoch: 1, persisted: 2, stored: { orders: 2 } });
		const again = opened.uplink().uplink;
		for (const seq of [2, 3, 4]) expect(again.frame(event(seq))).toBe('go on');
		expect(house.events()).toEqual([1, 2, 3, 4]);
	});

	it('has a name: the next process gets the next epoch, and frames of the one before are refused', async () => {
		const house = new House();
		const old = await house.open('writer');
		const oldUplink = old.uplink().uplink;
		oldUplink.frame(event(1));
		const next = await house.open('writer');
		expect(next.reply.epoch).toBe(2);
		expect(oldUplink.frame(event(2))).toBe('close');
		expect(() => house.producers.open({ producer: 'writer', epoch: 1 }, new Line())).toThrow(/opened elsewhere/);
		next.uplink().uplink.frame(event(1));
		expect(house.events()).toEqual([1, 1]);
	});

	it('was told more than the log knows: its number is taken, kept and reported', async () => {
		const lost: unknown[] = [];
		const observer = { logLost: (...what: unknown[]) => lost.push(what) };
		const before = new House({ observer });
		const opened = await before.open('p', { epoch: 3, persisted: 70 });
		expect(opened.reply).toMatchObject({ epoch: 3, persisted: 70 });
		expect(lost).toEqual([['p', 0, 70]]);
		expect(opened.uplink().uplink.frame(event(71))).toBe('go on');
		before.log.commit(2);
		const house = new House({}, before);
		expect((await house.open('p', { epoch: 3, persisted: 70 })).reply).toMatchObject({ persisted: 70 });
	});

	it('has a refused event: it takes its seq, is told with the commit, and again to a line that has not heard of it', async () => {
		const before = new House({ streams: new Set(['orders']), streamsSetting: '--events-strict' });
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
		const house = new House({}, before);
		expect((await house.open('p', { epoch: 1, persisted: 2 })).reply.refused).toEqual(refused.slice(1));
		expect((await house.open('p', { epoch: 1, persisted: 4 })).reply.refused).toBeUndefined();
		expect(house.events()).toEqual([1, 4]);
	});

	it('is told nothing on a line that was closed, and its uplink is read to the end', async () => {
		const house = new House();
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
		const house = new House();
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
		const before = new House();
		(await before.open('p')).uplink().uplink.frame(event(1, { id: 'a' }));
		before.log.commit();
		const house = new House({}, before);
		const { uplink } = (await house.open('q')).uplink();
		uplink.frame(event(1, { id: 'a' }));
		expect(house.events()).toEqual([1]);
	});
});

describe('windows', () => {
	async function mostGranted(plantedBugs: PlantedBugs): Promise<number> {
		const house = new House({ plantedBugs });
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
		const house = new House();
		const opened: Opened[] = [];
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
		const house = new House();
		const lines = Array.from({ length: 300 }, () => new Line());
		const opening = lines.map((line, index) => house.producers.open({ producer: `p${index}` }, line));
		house.log.commit();
		const all = await Promise.all(opening);
		expect(lines.flatMap(({ windows }) => windows)).toEqual([]);
		for (const { reply } of all) expect(reply.window.bytes).toBe(WINDOW_BYTES_FIRST / 2);
	});

	it('grow while the log is quick and a producer uses its own', async () => {
		const house = new House();
		const { line, ...opened } = await house.open('p').then((each) => ({ line: each.line, uplink: each.uplink() }));
		for (let seq = 1; seq <= 3; seq++) {
			opened.uplink.uplink.frame(event(seq, { length: 600_000 }));
			house.log.commit();
			await house.clock.advance(300);
		}
		expect(line.windows.at(-1)).toEqual({ producer: 'p', epoch: 1, bytes: WINDOW_BYTES_MAX, events: 4096 });
	});

	it('are closed with the reason, and opened again', async () => {
		const house = new House();
		const { line } = await house.open('p');
		house.producers.setReason('the disk is full');
		house.producers.setReason('the disk is full');
		expect(line.windows).toEqual([{ producer: 'p', epoch: 1, bytes: 0, events: 0, reason: 'the disk is full' }]);
		expect((await house.open('p', { epoch: 1 })).reply.window).toEqual({
			bytes: 0,
			events: 0,
			reason: 'the disk is full',
		});
		expect(() => house.producers.open({ producer: 'q' }, new Line())).toThrow(
			/no events are taken now: the disk is full/,
		);
		house.producers.setReason(null);
		expect(line.windows.at(-1)).toEqual({ producer: 'p', epoch: 1, bytes: WINDOW_BYTES_FIRST, events: 4096 });
	});

	it('are ignored by a client: it is read no more until its events are on disk', async () => {
		const house = new House();
		const { uplink, pauses } = (await house.open('p')).uplink();
		for (let seq = 1; seq <= 3; seq++) expect(uplink.frame(event(seq, { length: 50_000 }))).toBe('go on');
		expect(pauses).toEqual(['pause']);
		house.log.commit(4);
		expect(pauses).toEqual(['pause', 'resume']);
		expect(house.events()).toEqual([1, 2, 3]);
	});
});

describe('tickets', () => {
	it('are good once, and only while their call line lives', async () => {
		const house = new House();
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

	it('of the oldest line are void once a producer has too many lines', async () => {
		const house = new House();
		const { reply } = await house.open('p');
		for (let count = 0; count < PRODUCER_CONNECTIONS_MAX; count++) await house.open('p', { epoch: 1 });
		expect(house.producers.uplink(reply.ticket, { pause: () => undefined, resume: () => undefined })).toBeUndefined();
	});
});

describe('the table of producers', () => {
	it('is full: a producer that was seen within a day is not forgotten for a new one', async () => {
		const house = new House({ producersMax: 2 });
		const first = await house.open('a');
		const second = await house.open('b');
		expect(() => house.producers.open({ producer: 'c' }, new Line())).toThrow(/2 producers are known/);
		first.opened.closed();
		await house.clock.advance(24 * 60 * 60 * 1000 - 1);
		expect(() => house.producers.open({ producer: 'c' }, new Line())).toThrow(/2 producers are known/);
		await house.clock.advance(1);
		expect((await house.open('c')).reply.epoch).toBe(1);
		expect(second.uplink().uplink.frame(event(1))).toBe('go on');
		expect(house.producers.count).toBe(2);
	});
});

describe('publish', () => {
	it('is answered when it is on disk, with the position of the first event of its id', async () => {
		const house = new House();
		const answers: unknown[] = [];
		for (const id of ['a', 'b', 'a']) {
			void house.producers.publish({ stream: 'orders', id, payload: 1 }).then((reply) => answers.push(reply));
		}
		house.log.commit(2);
		await house.clock.advance(0);
		expect(answers).toEqual([{ position: 1, duplicate: false }]);
		house.log.commit();
		await house.clock.advance(0);
		expect(answers.slice(1)).toEqual([
			{ position: 2, duplicate: false },
			{ position: 1, duplicate: true },
		]);
		expect(await house.producers.publish({ stream: 'orders', id: 'b', payload: 1 })).toEqual({
			position: 2,
			duplicate: true,
		});
	});

	it('is bounded: too many that wait are refused, and those that were aborted count until they are on disk', async () => {
		const house = new House();
		const controller = new AbortController();
		const aborted: unknown[] = [];
		for (let count = 0; count < PUBLISHES_MAX; count++) {
			house.producers
				.publish({ stream: 'orders', payload: 1 }, controller.signal)
				.catch((error: unknown) => aborted.push(error));
		}
		controller.abort();
		await house.clock.advance(0);
		expect(aborted).toHaveLength(PUBLISHES_MAX);
		expect(aborted[0]).toMatchObject({ code: 'ABORTED' });
		await expect(house.producers.publish({ stream: 'orders', payload: 1 })).rejects.toMatchObject({
			code: 'OVERLOADED',
		});
		house.log.commit();
		const next = house.producers.publish({ stream: 'orders', payload: 1 });
		house.log.commit();
		expect(await next).toMatchObject({ duplicate: false });
	});

	it('is refused with the reason while nothing is taken, and rejected when the log is released', async () => {
		const house = new House();
		const waiting = house.producers.publish({ stream: 'orders', payload: 1 });
		house.producers.setReason('the disk is full');
		const refused = house.producers.publish({ stream: 'orders', payload: 1 });
		await expect(refused).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			message: expect.stringContaining('the disk is full'),
		});
		house.producers.released(new SpockError('UNAVAILABLE', 'the log is released'));
		await expect(waiting).rejects.toMatchObject({ code: 'UNAVAILABLE' });
	});
});
