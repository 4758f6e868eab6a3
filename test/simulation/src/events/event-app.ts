import { createDiplomat, type Diplomat } from '@spock/client';
import { type Events, openEvents } from '@spock/client/events';
import { type ErrorCode, SpockError } from '@spock/protocol';

import { CallBook } from '../call-book.ts';
import type { SeededRandom } from '../seeded-random.ts';
import type { SimProcess } from '../sim-process.ts';
import type { WorldContext } from '../world-context.ts';
import { type EventBook, GROUP, type Marked, STREAM } from './event-book.ts';
import { EventRequests } from './event-requests.ts';
import { StreamReading } from './stream-reading.ts';

/** What waiting or trying again may fix. */
export const MENDABLE: ReadonlySet<ErrorCode> = new Set([
	'TIMEOUT',
	'DISCONNECTED',
	'OVERLOADED',
	'UNAVAILABLE',
	'NOT_READY',
]);
/** Share of the steps that are single requests. */
const REQUEST_CHANCE = 0.15;
const KEYS = ['a', 'b', 'c', 'd'];
const STREAMS = [STREAM, STREAM, 'clicks'];
const FILL = 'x'.repeat(200_000);
/** An app has ended by then, in milliseconds. */
const END_MS = 16_000;
/** Bytes and events above its limits that a producer may hold: the one that was taken last. */
const SLACK_BYTES = 50_000;

/** How the apps of one site are set up. */
export interface EventPlan {
	readonly heartbeatMs: number;
	readonly timeoutMs: number;
	readonly bufferBytesMax: number;
	readonly stallMs: number;
	readonly concurrency: number;
	/** 0: without end. */
	readonly attempts: number;
	readonly ackWaitMs: number;
	readonly failChance: number;
	readonly inFlightMax: number;
	/** Share of the events that are long, and the longest, in bytes. */
	readonly longChance: number;
	readonly longBytesMax: number;
}

/** One app with a real client and its real events, and what it does with them. */
export class EventApp {
	readonly process: SimProcess;
	readonly isConsumer: boolean;
	/** Its name as a producer, where that is not its own. */
	readonly producer: string | undefined;
	/** Another app had that name before. */
	readonly #isSuccessor: boolean;
	isEnding = false;
	readonly #world: WorldContext;
	readonly #random: SeededRandom;
	readonly #plan: EventPlan;
	readonly #book: EventBook;
	readonly #calls: CallBook;
	readonly #requests: EventRequests | undefined;
	/** What it has read without a group. */
	readonly read: StreamReading | undefined;
	readonly #diplomat: Diplomat;
	readonly #events: Events<Record<string, Marked & { fill: string }>>;
	readonly #counts = { emit: 0, publish: 0, again: 0, request: 0 };
	/** Emitted, and not known to be persisted. */
	readonly #emitted = new Set<Marked>();
	#endsByMs = Number.POSITIVE_INFINITY;
	#isClosed = false;

	constructor(
		world: WorldContext,
		address: string,
		plan: EventPlan,
		book: EventBook,
		role: {
			readonly name: string;
			readonly producer: string | undefined;
			readonly isSuccessor: boolean;
			readonly isConsumer: boolean;
			/** It reads the stream without a group, too. */
			readonly isReader: boolean;
			/** Further numbers, of one that also sends single requests. */
			readonly wide: SeededRandom | undefined;
		},
	) {
		this.#world = world;
		this.#plan = plan;
		this.#book = book;
		this.#random = world.random.fork();
		this.isConsumer = role.isConsumer;
		this.producer = role.producer;
		this.#isSuccessor = role.isSuccessor;
		this.process = world.process(role.name);
		this.#calls = new CallBook(world, this.process);
		const { heartbeatMs, timeoutMs, bufferBytesMax, stallMs } = plan;
		this.#diplomat = createDiplomat({
			path: address,
			name: 'simulated',
			heartbeatMs,
			timeoutMs,
			retryDelayMsMax: 500,
			clock: this.process.clock,
			random: this.#random.unit,
			transport: (_address, receive) => world.network.connect(this.process, address, receive),
		});
		const highWaterBytes = bufferBytesMax / 2;
		this.#events = openEvents({
			diplomat: this.#diplomat,
			producer: role.producer ?? this.process.name.replace('#', '-'),
			bufferBytesMax,
			highWaterBytes,
			stallMs,
			drainTimeoutMs: 3000,
		});
		void this.#diplomat.closed.then(({ reason, error }) => {
			this.#isClosed = true;
			if (!this.isEnding)
				world.fail('no fault escapes', `${this.process.name} ended by itself: ${reason} ${String(error)}`);
		});
		if (role.isConsumer) void this.#handle();
		if (role.isReader) this.read = new StreamReading(world, this.process.name);
		if (this.read !== undefined) void this.#readStream(this.read);
		this.#requests =
			role.wide &&
			new EventRequests({
				world,
				random: role.wide,
				book,
				timeoutMs,
				diplomat: this.#diplomat,
				calls: this.#calls,
				mark: () => this.#mark('request'),
				isFine: (code) => this.#isFine(code),
				mayGoOn: () => !this.isEnding && this.process.isAlive,
			});
	}

	/** True when everything that it has taken is persisted. */
	get isQuiet(): boolean {
		const { kept, waiting, unsent } = this.#events.status();
		return kept + waiting + unsent + this.#calls.open === 0;
	}

	/** An app that had its name before, and was late to open it, has it now. */
	get isOusted(): boolean {
		return this.#isSuccessor && this.#events.status().lastError?.includes('was opened elsewhere') === true;
	}

	describe(): string {
		return `${this.process.name}: ${this.#calls.open} open calls, ${JSON.stringify(this.#events.status())}`;
	}

	/** Does one thing. */
	step(): void {
		if (this.#requests?.random.chance(REQUEST_CHANCE) === true) {
			this.#requests.step();
			return;
		}
		const roll = this.#random.unit();
		if (roll < 0.5) this.#emit(this.#random.between(1, 5));
		else if (roll < 0.55) this.#emit(60);
		else if (roll < 0.8) this.#publish();
		else if (roll < 0.93) this.#publishAgain(this.#mark('again'), 3);
		else this.#flush();
	}

	end(how: 'kill' | 'drain' | 'close'): void {
		this.isEnding = true;
		if (how === 'kill') {
			this.process.kill();
			return;
		}
		this.#endsByMs = this.#world.nowMs + END_MS - this.process.stoppedMs;
		void Promise.resolve(this.#diplomat[how]()).catch((error: unknown) => this.#mayFail('end', error));
	}

	audit(): void {
		if (!this.process.isAlive) return;
		this.#calls.audit();
		const { keptBytes } = this.#events.status();
		const { bufferBytesMax, longBytesMax } = this.#plan;
		if (keptBytes > bufferBytesMax + longBytesMax + SLACK_BYTES) {
			this.#world.fail('memory is bounded', `${this.process.name} keeps ${keptBytes} bytes of events`);
		}
		if (!this.#isClosed && this.#world.nowMs > this.#endsByMs + this.process.stoppedMs) {
			this.#world.fail('settles once and in time', `${this.describe()} has not closed`);
		}
	}

	/** After its end: nothing is left of it. */
	auditEnd(): void {
		if (!this.process.isAlive) return;
		this.#calls.auditEnd();
		if (!this.#isClosed) this.#world.fail('settles once and in time', `${this.describe()} has not closed`);
		if (this.process.timers > 0) {
			const left = `${this.process.timers} timers ${this.process.describeTimers()}`;
			this.#world.fail('nothing leaks', `${this.process.name} has closed with ${left}`);
		}
		this.process.kill();
	}

	#mark(way: 'emit' | 'publish' | 'again' | 'request'): Marked & { fill: string } {
		const random = this.#random;
		const { longChance, longBytesMax } = this.#plan;
		const fill = FILL.slice(0, random.chance(longChance) ? random.between(1, longBytesMax) : random.between(0, 300));
		return { from: `${this.process.name}/${way}`, n: ++this.#counts[way], key: random.pick(KEYS), fill };
	}

	#emit(count: number): void {
		for (let at = 0; at < count; at++) {
			const mark = this.#mark('emit');
			try {
				this.#events.emit(this.#random.pick(STREAMS), mark, { key: mark.key });
				this.#emitted.add(mark);
			} catch (error) {
				// Its number is free for the next one.
				this.#counts.emit--;
				this.#mayFail('emit', error);
				return;
			}
		}
	}

	#publish(): void {
		const mark = this.#mark('publish');
		const timeoutMs = this.#random.pick([20, 500, this.#plan.timeoutMs]);
		this.#calls.call(
			{
				what: `publish ${mark.n}`,
				timeoutMs,
				answered: () => this.#book.persisted(mark),
				mayFail: (code, { details }) => {
					const isRefused = code === 'OVERLOADED' && details?.['reached'] === undefined;
					if (isRefused || details?.['reached'] === null) this.#book.never(mark);
					return this.#isFine(code);
				},
			},
			() => this.#events.publish(this.#random.pick(STREAMS), mark, { key: mark.key, timeoutMs }),
		);
	}

	/** With an id, and again for as long as it is not known to be persisted. */
	#publishAgain(mark: Marked & { fill: string }, tries: number): void {
		const timeoutMs = this.#random.pick([5, 50, this.#plan.timeoutMs]);
		this.#calls.call(
			{
				what: `publish with an id ${mark.n}`,
				timeoutMs,
				answered: () => this.#book.persisted(mark),
				mayFail: (code) => {
					const isFine = this.#isFine(code);
					if (isFine && !this.isEnding && this.process.isAlive && tries > 1) this.#publishAgain(mark, tries - 1);
					return isFine;
				},
			},
			() => this.#events.publish(STREAM, mark, { key: mark.key, timeoutMs, id: `${mark.from}${mark.n}` }),
		);
	}

	#flush(): void {
		const emitted = [...this.#emitted];
		const { timeoutMs } = this.#plan;
		this.#calls.call(
			{
				what: 'flush',
				timeoutMs,
				answered: () => {
					for (const mark of emitted) {
						this.#book.persisted(mark);
						this.#emitted.delete(mark);
					}
				},
				mayFail: (code) => this.#isFine(code),
			},
			() => this.#events.flush({ timeoutMs }),
		);
	}

	async #handle(): Promise<void> {
		const { concurrency, attempts, ackWaitMs, inFlightMax, failChance } = this.#plan;
		try {
			await this.#events.handle(
				STREAM,
				{
					...{ group: GROUP, from: 'first', order: 'key', concurrency, attempts, ackWaitMs, inFlightMax },
					retryDelayMs: (delivery) => Math.min(1000, 20 * delivery),
				},
				async ({ data }) => {
					this.#book.begun(data);
					await new Promise<void>((resolve) => {
						this.process.schedule(this.#random.unit() * this.#random.pick([0, 5, 100]), 'handler', resolve);
					});
					if (this.#random.chance(failChance)) throw new Error('a handler that fails');
					this.#book.handled(data);
				},
			);
			if (!this.isEnding) this.#world.fail('no fault escapes', `${this.process.name}: handle ended by itself`);
		} catch (error) {
			this.#mayFail('handle', error);
		}
	}

	/** BAD_REQUEST: of two with one name the one goes on that opened it last. */
	#isFine(code: ErrorCode): boolean {
		if (MENDABLE.has(code) || (code === 'CLOSED' && this.isEnding)) return true;
		return code === 'BAD_REQUEST' && this.producer !== undefined && (this.isEnding || this.#isSuccessor);
	}

	async #readStream(read: StreamReading): Promise<void> {
		const { inFlightMax, ackWaitMs } = this.#plan;
		try {
			await this.#events.handle(
				STREAM,
				{ from: 'first', attempts: 0, ackWaitMs, inFlightMax },
				async ({ data, position }) => read.take(data, position),
			);
			if (!this.isEnding) this.#world.fail('no fault escapes', `${this.process.name}: a reader ended by itself`);
		} catch (error) {
			this.#mayFail('read', error);
		}
	}

	#mayFail(what: string, error: unknown): void {
		if (SpockError.is(error) && this.#isFine(error.code)) return;
		const text = `${this.process.name}: ${what} failed: ${String((error as Error)?.stack)}`;
		this.#world.fail('errors are those that may come', text);
	}
}
