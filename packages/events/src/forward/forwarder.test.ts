import { SpockError } from '@spock/protocol';
import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { MemoryLog } from '../../test/memory-log.ts';
import { seededRandom } from '../../test/seeded-random.ts';
import { SimStore, type SimStoreOptions } from '../contract/sim-store.ts';
import type { EventsObserver } from '../foundation/events-observer.ts';
import { WINDOW_BYTES_MAX, WINDOW_BYTES_MIN } from './adaptive-window.ts';
import { ForwardPlaces } from './forward-places.ts';
import { Forwarding } from './forwarding.ts';

const KIBIBYTE = 1024;

/** A log whose stream `orders` goes to a simulated store. */
class House {
	readonly clock = new FakeClock();
	readonly log = new MemoryLog();
	readonly options: SimStoreOptions = { clock: this.clock, random: seededRandom(1), dedupeEvents: 0 };
	readonly store = new SimStore(this.options);
	readonly states: string[] = [];
	/** What becomes of events that are refused. */
	bury: () => Promise<void> = () => Promise.resolve();
	readonly forwarding: Forwarding;

	constructor(observer: EventsObserver = {}) {
		this.forwarding = new Forwarding(
			{ storeOf: () => this.store },
			{
				...{ log: this.log, clock: this.clock, random: seededRandom(2) },
				observer: { ...observer, forwarding: (_stream, state) => this.states.push(state) },
				countAbove: () => 0,
				bury: () => this.bury(),
				refused: () => undefined,
				stored: () => undefined,
				reached: () => undefined,
			},
		);
		this.log.memory = this.forwarding;
		this.log.committed = () => {
			this.forwarding.appended('orders');
			this.forwarding.committed();
		};
		this.forwarding.start([]);
	}

	async add(count: number, bytes: number): Promise<void> {
		for (let index = 0; index < count; index++) this.log.add('orders', { payload: 'x'.repeat(bytes) });
		await settle();
	}

	get stored(): number {
		return this.store.eventsOf('orders').length;
	}

	get notes(): number {
		return this.log.records.filter((record) => record.kind === 'note').length;
	}
}

describe('a forwarder', () => {
	it('has no more in flight than its window, which grows where the store takes more', async () => {
		const house = new House();
		house.options.latencyMs = 100;
		await house.add(2000, 10 * KIBIBYTE);
		await house.clock.advance(101);
		expect(house.store.inFlightMax).toBeLessThanOrEqual(WINDOW_BYTES_MIN);
		await house.clock.advance(5000);
		expect(house.stored).toBe(2000);
		expect(house.store.inFlightMax).toBeGreaterThan(16 * WINDOW_BYTES_MIN);
		expect(house.store.inFlightMax).toBeLessThanOrEqual(WINDOW_BYTES_MAX);
	});

	it('shares the room of all windows with the streams that have something to send alone', async () => {
		const house = new House();
		house.options.latencyMs = 100;
		for (let index = 0; index < 600; index++) {
			house.log.add(`idle-${index}`);
			await settle();
			house.forwarding.appended(`idle-${index}`);
		}
		await house.clock.advance(5000);
		await house.add(2000, 10 * KIBIBYTE);
		await house.clock.advance(5000);
		expect(house.stored).toBe(2000);
		expect(house.store.inFlightMax).toBeGreaterThan(16 * WINDOW_BYTES_MIN);
	});

	it('sends an event alone that is larger than its window', async () => {
		const house = new House();
		await house.add(3, 4 * WINDOW_BYTES_MIN);
		await house.clock.advance(1000);
		expect(house.stored).toBe(3);
	});

	it('keeps its place once a second, and not while nothing happens', async () => {
		const house = new House();
		for (let count = 0; count < 50; count++) {
			await house.add(1, 10);
			await house.clock.advance(100);
		}
		expect(house.stored).toBe(50);
		expect(house.notes).toBeGreaterThanOrEqual(4);
		expect(house.notes).toBeLessThanOrEqual(6);
		await house.clock.advance(1000);
		const before = house.notes;
		await house.clock.advance(600_000);
		expect(house.notes).toBe(before);
	});

	it('backs off while its store is away, up to ten seconds, and asks it before it sends again', async () => {
		let failures = 0;
		const house = new House({ storeFailed: () => failures++ });
		house.options.isAway = true;
		await house.add(10, 10);
		await house.clock.advance(600_000);
		expect(failures).toBeGreaterThan(600 / 10);
		expect(failures).toBeLessThan(300);
		house.options.isAway = false;
		await house.clock.advance(11_000);
		expect(house.stored).toBe(10);
		expect(house.states.join()).toContain('asking,backing off,asking,sending,idle');
		expect(house.states.join()).not.toContain('backing off,sending');
	});

	it('leaves no timer behind when it is stopped, and tells who waits', async () => {
		const house = new House();
		house.options.isAway = true;
		await house.add(1, 10);
		const waits = house.forwarding.untilStored('orders', 1);
		const refusal = expect(waits).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		await house.clock.advance(500);
		house.forwarding.stop();
		await refusal;
		await house.clock.advance(1000);
		expect(house.clock.pendingTimers).toBe(0);
	});

	it('stops to wait for the store when the publish is aborted', async () => {
		const house = new House();
		house.options.isAway = true;
		await house.add(1, 10);
		const abort = new AbortController();
		const waits = house.forwarding.untilStored('orders', 1, abort.signal);
		abort.abort();
		await expect(waits).rejects.toMatchObject({ code: 'ABORTED' });
	});

	it('lets no publish wait for what is stored, was aborted, or cannot be: too many wait, or it has ended', async () => {
		const house = new House();
		await house.add(1, 10);
		await house.clock.advance(100);
		await house.forwarding.untilStored('orders', 1);
		// Refused events never leave the log.
		await house.forwarding.untilStored('orders.refused', 1000);
		// It has begun already.
		house.forwarding.start([]);
		house.options.isAway = true;
		const aborted = house.forwarding.untilStored('orders', 1000, AbortSignal.abort());
		await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
		const waits = Array.from({ length: 4096 }, () => house.forwarding.untilStored('orders', 1000));
		const settled = Promise.allSettled(waits);
		await expect(house.forwarding.untilStored('orders', 1000)).rejects.toMatchObject({ code: 'OVERLOADED' });
		house.forwarding.stop();
		house.forwarding.stop();
		expect(new Set((await settled).map(({ status }) => status))).toEqual(new Set(['rejected']));
		await expect(house.forwarding.untilStored('orders', 1000)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
	});

	it('tells the publish of an event that is refused', async () => {
		const house = new House();
		house.options.refuses = ({ text }) => text.includes('xxx');
		const waits = expect(house.forwarding.untilStored('orders', 2)).rejects.toThrow('the event at 2 is refused');
		await house.add(1, 10);
		await house.clock.advance(1000);
		await waits;
	});

	it.each([true, false])(
		'is past an event that is refused, also where none behind it is taken: the store knows its last one %s',
		async (knowsLast) => {
			const parked: string[] = [];
			const house = new House({ parked: (stream) => parked.push(stream) });
			Object.assign(house.options, { knowsLast, refuses: () => true });
			const froms: number[] = [];
			const read = house.log.read.bind(house.log);
			house.log.read = (from, options) => {
				froms.push(from);
				return read(from, options);
			};
			await house.add(20, 10);
			await house.clock.advance(10_000);
			expect(parked).toHaveLength(20);
			// Not from the first one on, again and again: of those that are refused only so many are remembered.
			expect(froms.filter((from) => from === 1).length).toBeLessThan(5);
		},
	);

	it('holds nothing of the log once all was stored for as long as a store may lose it', async () => {
		const house = new House();
		await house.add(3, 10);
		await house.clock.advance(1000);
		expect(house.forwarding.holds()).toEqual([{ stream: 'orders', position: 1 }]);
		await house.clock.advance(600_000);
		// Of another stream.
		house.log.add('clicks');
		await settle();
		expect(house.forwarding.holds()).toEqual([{ stream: 'orders', position: house.log.persisted }]);
	});

	it('tries again to keep a refused event aside where the log did not take it', async () => {
		const parked: string[] = [];
		const house = new House({ parked: (stream) => parked.push(stream) });
		house.options.refuses = ({ position }) => position === 3;
		house.bury = () => Promise.reject(new SpockError('OVERLOADED', 'too much waits for the disk'));
		await house.add(3, 10);
		await house.clock.advance(5000);
		expect([parked.length, house.stored]).toEqual([0, 1]);
		house.bury = () => Promise.resolve();
		await house.clock.advance(20_000);
		expect([parked.length, house.stored]).toEqual([1, 2]);
	});

	it('refuses to wait for an event that was refused before', async () => {
		const house = new House();
		house.options.refuses = ({ position }) => position === 2;
		await house.add(3, 10);
		await house.clock.advance(1000);
		await expect(house.forwarding.untilStored('orders', 2)).rejects.toMatchObject({
			code: 'BAD_REQUEST',
			message: expect.stringContaining('orders.refused'),
		});
	});

	it.each([new Error('lost'), 'lost'])('takes whatever a store throws for its failure: %s', async (thrown) => {
		const failures: string[] = [];
		const house = new House({ storeFailed: (_stream, { code, message }) => failures.push(`${code} ${message}`) });
		const append = house.store.append.bind(house.store);
		let count = 0;
		house.store.append = async (...call) => {
			if (count++ === 0) throw thrown;
			await append(...call);
		};
		await house.add(1, 10);
		await house.clock.advance(20_000);
		expect(failures).toEqual([expect.stringContaining('lost')]);
		expect(house.stored).toBe(1);
	});

	it('takes a look that fails for a failure of the store', async () => {
		let failures = 0;
		const house = new House({ storeFailed: () => failures++ });
		await house.add(1, 10);
		await house.clock.advance(1000);
		const { holds } = house.store;
		house.store.holds = () => Promise.reject(new SpockError('UNAVAILABLE', 'no answer'));
		await house.clock.advance(60_000);
		expect(failures).toBeGreaterThan(0);
		house.store.holds = holds;
		await house.clock.advance(20_000);
		expect(house.states.at(-1)).toBe('idle');
	});

	it('remembers the newest 4096 refused events', () => {
		const parkedMax = 4096;
		const house = new House();
		const places = new ForwardPlaces(house.clock, 1000);
		const place = places.of('orders');
		for (let position = 1; position <= parkedMax + 1; position++) places.parked(place, position);
		expect([place.parked.size, place.parked.has(1), place.parked.has(parkedMax + 1)]).toEqual([parkedMax, false, true]);
	});
});
