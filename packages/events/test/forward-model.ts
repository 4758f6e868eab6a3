import type { Clock, Random, TimerHandle } from '@spock/protocol/internal';

import { SimStore, type SimStoreOptions } from '../src/contract/sim-store.ts';
import type { ForwardMistakes } from '../src/forward/forwarder.ts';
import { Forwarding } from '../src/forward/forwarding.ts';
import type { LogEvent } from '../src/foundation/log-record.ts';
import { MemoryLog } from './memory-log.ts';
import { seededRandom } from './seeded-random.ts';

const STREAMS = ['orders', 'clicks'];
const KEEP_STORED_MS = 30_000;
/** Enough for every back-off, a look at the store, and some thousand events. */
const FINISH_MS = 300_000;
const STEPS = 50;

interface Timer extends TimerHandle {
	readonly dueMs: number;
	readonly order: number;
	readonly callback: () => void;
}

/** A clock whose promises settle by microtasks alone, as all do here: a hundred times as fast as one that waits for turns of the loop. */
class QuickClock implements Clock {
	#nowMs = 1_000_000;
	#order = 0;
	#timers: Timer[] = [];

	now(): number {
		return this.#nowMs;
	}

	wallNow(): number {
		return this.#nowMs + 1_800_000_000_000;
	}

	setTimeout(callback: () => void, delayMs: number): TimerHandle {
		const timer: Timer = { dueMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, callback };
		this.#timers.push(timer);
		return timer;
	}

	clearTimeout(timer: TimerHandle | undefined): void {
		this.#timers = this.#timers.filter((each) => each !== timer);
	}

	/** A process has died, and its timers with it. */
	clear(): void {
		this.#timers = [];
	}

	async advance(ms: number): Promise<void> {
		const untilMs = this.#nowMs + ms;
		for (;;) {
			await microtasks();
			let next: Timer | undefined;
			for (const timer of this.#timers) {
				if (next === undefined || timer.dueMs < next.dueMs || (timer.dueMs === next.dueMs && timer.order < next.order))
					next = timer;
			}
			if (next === undefined || next.dueMs > untilMs) break;
			this.clearTimeout(next);
			this.#nowMs = Math.max(this.#nowMs, next.dueMs);
			next.callback();
		}
		this.#nowMs = untilMs;
	}
}

async function microtasks(): Promise<void> {
	for (let turn = 0; turn < 40; turn++) await null;
}

/**
 * A log, forwarding and a simulated store under a random schedule: crashes, a store that fails, loses acks, goes back, and refuses single
 * events. It knows what must be true in the end, and nothing of how forwarding works.
 */
export class ForwardModel {
	readonly faults: string[] = [];
	readonly #random: Random;
	readonly #mistakes: ForwardMistakes;
	readonly #clock = new QuickClock();
	readonly #options: SimStoreOptions;
	#store: SimStore;
	#log: MemoryLog;
	/** As the stores were told. */
	#logId: string | undefined;
	#forwarding: Forwarding;
	/** Events on disk, by their positions: what is told of them is true for ever. */
	readonly #events = new Map<number, LogEvent>();
	/** Refused events that were parked, by the position that they had. */
	readonly #parked = new Map<string, number>();
	/** Records below were looked at. */
	#seen = 1;
	/** When the store was known to hold events of a stream, up to which position. */
	readonly #acked: { readonly stream: string; readonly position: number; readonly ms: number }[] = [];
	readonly counts = { stored: 0, parked: 0, wentBack: 0, crashes: 0, letGo: 0 };

	constructor(seed: number, mistakes: ForwardMistakes = {}) {
		this.#random = seededRandom(seed);
		this.#mistakes = mistakes;
		const knowsLast = this.#chance(0.5);
		this.#options = {
			clock: this.#clock,
			random: this.#random,
			knowsLast,
			refuses: isBad,
			// One that knows its last event needs no more than that: what is sent twice is there twice.
			...(knowsLast && { dedupeEvents: 0 }),
		};
		this.#store = new SimStore(this.#options);
		this.#log = new MemoryLog({ wallNow: () => this.#clock.wallNow(), persistsAlone: false });
		this.#forwarding = this.#open(this.#log);
		this.#forwarding.start([]);
	}

	async run(): Promise<string[]> {
		for (let step = 0; step < STEPS && this.faults.length === 0; step++) await this.#step();
		if (this.faults.length === 0) await this.#finish();
		return this.faults;
	}

	async #step(): Promise<void> {
		const pick = this.#random() * 100;
		if (pick < 30) this.#append();
		else if (pick < 45) this.#persist();
		else if (pick < 70) await this.#clock.advance(this.#pick([1, 5, 40, 300, 1000, 2500, 20_000, 70_000]));
		else if (pick < 78) this.#changeStore();
		else if (pick < 84) this.#goBack();
		else if (pick < 90) this.#crash();
		else this.#trim();
		await microtasks();
	}

	#append(): void {
		const stream = this.#pick(STREAMS);
		for (let count = this.#pick([1, 1, 3, 20]); count > 0; count--) {
			const payload = this.#chance(0.04) ? 'bad' : 'x'.repeat(this.#pick([1, 50, 3000, 40_000]));
			this.#log.add(stream, { payload });
		}
	}

	#persist(): void {
		const { persisted, next } = this.#log;
		this.#log.persist(this.#chance(0.7) ? next : persisted + Math.floor(this.#random() * (next - persisted + 1)));
	}

	#changeStore(): void {
		const isWell = this.#chance(0.5);
		Object.assign(this.#options, {
			latencyMs: this.#pick([0, 1, 5, 150]),
			bytesPerSecond: this.#pick([Number.POSITIVE_INFINITY, 10_000_000, 300_000]),
			fails: isWell ? 0 : 0.2,
			losesAcks: isWell ? 0 : 0.2,
			refusesBatches: isWell ? 0 : 0.1,
			isAway: this.#chance(0.2),
		});
	}

	/** It loses what it has acknowledged lately, and no more. */
	#goBack(): void {
		const stream = this.#pick(STREAMS);
		const nowMs = this.#clock.now();
		let kept = 0;
		for (const { stream: of, position, ms } of this.#acked) {
			if (of === stream && nowMs - ms > KEEP_STORED_MS) kept = Math.max(kept, position);
		}
		const held = this.#store.eventsOf(stream).filter(({ position }) => position > kept);
		const first = held[Math.floor(this.#random() * held.length)];
		if (first === undefined) return;
		this.#store.lose(stream, first.position);
	}

	#crash(): void {
		this.counts.crashes++;
		this.#look();
		this.#clock.clear();
		this.#store = this.#store.reopened();
		this.#log = this.#log.reopened((log) => {
			this.#forwarding = this.#open(log);
			return this.#forwarding;
		});
		this.#forwarding.start(STREAMS);
	}

	/** As retention does, and as eagerly as it may: a segment begins, and what is in front of it and not held goes. */
	#trim(): void {
		this.#log.persist();
		this.#look();
		this.#log.beginSegment();
		const holds = this.#forwarding.holds();
		this.#log.trim(Math.min(this.#log.persisted, ...holds.map(({ position }) => position)));
	}

	#open(log: MemoryLog): Forwarding {
		const clock = this.#clock;
		const pending = new Map<number, () => void>();
		const isCurrent = () => this.#log === log;
		const forwarding = new Forwarding(
			{
				storeOf: (stream) => (STREAMS.includes(stream) ? this.#store : undefined),
				identified: (logId) => {
					this.#logId ??= logId;
					if (logId !== this.#logId) this.faults.push(`the log is called ${logId}, and was ${this.#logId}`);
				},
				keepStoredMs: KEEP_STORED_MS,
				idleStreamsMax: this.#random() < 0.5 ? 0 : 1,
				mistakes: this.#mistakes,
			},
			{
				...{ log, clock, random: this.#random },
				bury: (event) => new Promise((resolve) => pending.set(log.append(event), resolve)),
				countAbove: () => 0,
				refused: () => undefined,
				stored: (stream, events) => {
					const position = events.at(-1)?.position ?? 0;
					if (isCurrent()) this.#acked.push({ stream, position, ms: clock.now() });
				},
				reached: (stream, position) => {
					if (isCurrent()) this.#acked.push({ stream, position, ms: clock.now() });
				},
				observer: {
					forwarding: (_stream, state) => {
						if (state === 'stopped') this.counts.letGo++;
					},
					stored: (_stream, count) => {
						this.counts.stored += count;
					},
					parked: () => {
						this.counts.parked++;
					},
					storeWentBack: () => {
						this.counts.wentBack++;
					},
				},
			},
		);
		log.memory = forwarding;
		log.committed = () => {
			for (const [position, resolve] of pending) {
				if (position >= log.persisted) continue;
				pending.delete(position);
				resolve();
			}
			for (const stream of STREAMS) if (log.lastOf(stream) >= this.#seen) forwarding.appended(stream);
			forwarding.committed();
			this.#look();
		};
		return forwarding;
	}

	/** Takes note of what is on disk now. */
	#look(): void {
		const { records, persisted } = this.#log;
		for (const record of records) {
			if (record.position < this.#seen || record.position >= persisted || record.kind !== 'event') continue;
			if (STREAMS.includes(record.stream)) {
				this.#events.set(record.position, record);
				continue;
			}
			const { headers } = JSON.parse(record.text) as { headers: Record<string, string> };
			const key = `${headers['spock-refused-stream']} ${headers['spock-refused-position']}`;
			this.#parked.set(key, (this.#parked.get(key) ?? 0) + 1);
		}
		this.#seen = Math.max(this.#seen, persisted);
	}

	async #finish(): Promise<void> {
		Object.assign(this.#options, {
			...{ latencyMs: 1, bytesPerSecond: Number.POSITIVE_INFINITY },
			...{ fails: 0, losesAcks: 0, refusesBatches: 0, isAway: false },
		});
		this.#log.persistsAlone = true;
		this.#log.persist();
		await this.#clock.advance(FINISH_MS);
		this.#log.persist();
		this.#look();
		for (const stream of STREAMS) this.#check(stream);
		const left = await this.#forwarding.drain(0);
		if (left.length > 0) this.faults.push(`left: ${left}`);
		this.#forwarding.stop();
	}

	#check(stream: string): void {
		const all = [...this.#events.values()].filter((event) => event.stream === stream);
		const wanted = all.filter((event) => !isBad(event)).map(({ position }) => position);
		const got = this.#store.eventsOf(stream).map(({ position }) => position);
		if (got.join() !== wanted.join()) this.faults.push(difference(stream, wanted, got));
		const refused = all.filter(isBad).map(({ position }) => `${stream} ${position}`);
		for (const key of refused) if (!this.#parked.has(key)) this.faults.push(`not parked: ${key}`);
		for (const [key, times] of this.#parked) {
			if (!key.startsWith(stream)) continue;
			if (!refused.includes(key)) this.faults.push(`parked, but not refused: ${key}`);
			if (times > 1) this.faults.push(`parked ${times} times: ${key}`);
		}
	}

	#chance(part: number): boolean {
		return this.#random() < part;
	}

	#pick<T>(from: readonly T[]): T {
		return from[Math.floor(this.#random() * from.length)] as T;
	}
}

function isBad({ text }: LogEvent): boolean {
	return text.includes('bad');
}

function difference(stream: string, wanted: readonly number[], got: readonly number[]): string {
	const missing = wanted.filter((position) => !got.includes(position));
	if (missing.length > 0) return `${stream} lost ${missing.length} of ${wanted.length}: ${missing.slice(0, 5)}`;
	const twice = got.filter((position, index) => got.indexOf(position) !== index);
	if (twice.length > 0) return `${stream} has twice: ${twice.slice(0, 5)}`;
	const strange = got.filter((position) => !wanted.includes(position));
	if (strange.length > 0) return `${stream} has what it must not: ${strange.slice(0, 5)}`;
	return `${stream} is out of order: ${got.slice(0, 20)}`;
}

/** Runs of so many seeds; gives what went wrong in the first in which anything did. */
export async function runForwarding(runs: number, mistakes?: ForwardMistakes): Promise<string> {
	for (let seed = 1; seed <= runs; seed++) {
		const faults = await new ForwardModel(seed, mistakes).run();
		if (faults.length > 0) return `seed ${seed}: ${faults.join('; ')}`;
	}
	return '';
}
