import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { MemoryLog } from '../../test/memory-log.ts';
import { seededRandom } from '../../test/seeded-random.ts';
import type { EventStore } from '../foundation/event-store.ts';
import type { LogEvent } from '../foundation/log-record.ts';
import { Forwarding } from './forwarding.ts';

const MINUTE_MS = 60_000;
const STREAMS = 10_000;
/** What is kept of an idle stream takes some 100 bytes in a checkpoint. */
const CHECKPOINT_BYTES_MAX = 64 * 1024;

/** A store that stores at once what it is given, even if it has it already. */
class PlainStore {
	/** Positions, by stream. */
	readonly held = new Map<string, number[]>();
	/** Streams that were released. */
	readonly left: string[] = [];

	of(stream: string): number[] {
		return this.held.get(stream) ?? [];
	}

	async append(stream: string, events: readonly LogEvent[]): Promise<void> {
		this.held.set(stream, [...this.of(stream), ...events.map(({ position }) => position)]);
	}

	async lastOf(stream: string): Promise<number> {
		return this.of(stream).at(-1) ?? 0;
	}

	async holds(stream: string, position: number): Promise<boolean> {
		return (await this.lastOf(stream)) >= position;
	}

	leave(stream: string): void {
		this.left.push(stream);
	}
}

/** A sidecar all of whose streams go to one store. It can be killed. */
class House {
	readonly clock = new FakeClock();
	readonly store = new PlainStore();
	log = new MemoryLog({ wallNow: () => this.clock.wallNow() });
	forwarding = this.#open(this.log);
	/** Streams with events that were not reported as being on disk. */
	readonly #fresh = new Set<string>();

	constructor() {
		this.forwarding.start([]);
	}

	async add(streams: readonly string[]): Promise<void> {
		for (const stream of streams) {
			this.#fresh.add(stream);
			this.log.add(stream);
		}
		await this.clock.advance(100);
	}

	/** Long enough for its store not to lose anything of what it has. */
	async age(): Promise<void> {
		for (let minutes = 0; minutes < 6; minutes++) await this.clock.advance(MINUTE_MS);
	}

	/** As retention does, with a segment behind it. */
	trim(): void {
		this.log.beginSegment();
		this.log.trim(Math.min(this.log.persisted, ...this.forwarding.holds().map(({ position }) => position)));
	}

	async kill(streams: readonly string[]): Promise<void> {
		this.forwarding.stop();
		this.log = this.log.reopened((log) => {
			this.forwarding = this.#open(log);
			return this.forwarding;
		});
		this.forwarding.start(streams.filter((stream) => this.log.lastOf(stream) > 0));
		await settle();
	}

	#open(log: MemoryLog): Forwarding {
		const forwarding = new Forwarding(
			{ storeOf: () => this.store as Partial<EventStore> as EventStore },
			{
				...{ log, clock: this.clock, random: seededRandom(2), observer: {}, countAbove: () => 0 },
				...{
					bury: () => Promise.resolve(),
					refused: () => undefined,
					stored: () => undefined,
					reached: () => undefined,
				},
			},
		);
		log.memory = forwarding;
		log.committed = () => {
			const streams = [...this.#fresh];
			this.#fresh.clear();
			for (const stream of streams) forwarding.appended(stream);
			forwarding.committed();
		};
		return forwarding;
	}
}

const names = Array.from({ length: STREAMS }, (_, index) => `job-${index}`);

describe('streams that come and go', () => {
	it('cost nothing once their store has all and the log has nothing of them', async () => {
		const house = new House();
		await house.add(names);
		expect(house.forwarding.streams).toBe(STREAMS);
		await house.age();
		expect(house.forwarding.streams).toBe(256);
		expect(house.store.left).toHaveLength(STREAMS - 256);
		house.trim();
		await house.clock.advance(MINUTE_MS);
		expect(house.forwarding.holds()).toHaveLength(256);
		expect(house.forwarding.checkpoint().length).toBeLessThan(CHECKPOINT_BYTES_MAX);
		for (const stream of names) expect(house.store.of(stream)).toHaveLength(1);
	});

	it('are let go, and asked for, though a store never answers for one of them', async () => {
		const house = new House();
		await house.add(['hung', ...names.slice(0, 300)]);
		const { holds } = house.store;
		let asked = 0;
		house.store.holds = (stream, position) => {
			asked++;
			return stream === 'hung' ? new Promise(() => undefined) : holds.call(house.store, stream, position);
		};
		await house.age();
		expect(house.forwarding.streams).toBe(257);
		const before = asked;
		await house.clock.advance(MINUTE_MS);
		expect(asked).toBe(before + 256);
	});

	it('keep their places as long as the log has something of them', async () => {
		const house = new House();
		await house.add(['old', ...names.slice(0, 300)]);
		await house.age();
		expect(house.store.left).toContain('old');
		expect(house.forwarding.checkpoint()).toContain('"old"');
	});

	it('go on where they were when they come back, also after a kill', async () => {
		const house = new House();
		await house.add(['old', 'older', ...names.slice(0, 300)]);
		await house.age();
		await house.add(['old']);
		house.trim();
		await house.clock.advance(MINUTE_MS);
		await house.add(['older']);
		await house.kill(['old', 'older', ...names]);
		await house.add(['old', 'older']);
		await house.age();
		for (const stream of ['old', 'older']) {
			const positions = house.store.of(stream);
			expect(positions).toEqual([...new Set(positions)].sort((one, other) => one - other));
			expect(positions).toHaveLength(3);
		}
	});

	it('are sent again when they come back to a store that has lost what the log still has', async () => {
		const house = new House();
		await house.add(['old', ...names.slice(0, 300)]);
		await house.age();
		house.store.held.delete('old');
		await house.add(['old']);
		expect(house.store.of('old')).toHaveLength(2);
	});
});
