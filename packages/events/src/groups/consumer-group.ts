import { type ConsumeFrom, type GroupStatus, SpockError } from '@spock/protocol';
import { type Clock, type Random, setImmediate } from '@spock/protocol/internal';

import type { Consumer } from '../foundation/event-sessions.ts';
import type { StoreReader } from '../foundation/event-store.ts';
import type { LogEvent, NewEvent } from '../foundation/log-record.ts';
import { deadLetterOf, isDeadStream } from './dead-letter.ts';
import type { DeliveryCredit } from './delivery-credit.ts';
import type { GroupEvent } from './group-event.ts';
import { GroupMember, type GroupMemberOptions } from './group-member.ts';
import { type EventMatcher, eventMatcher, type GroupTerms } from './group-terms.ts';
import { type GroupMistakes, HeldEvents } from './held-events.ts';

/** Most events asked of the store at once, and most bytes of them. */
const READ_EVENTS_MAX = 256;
const READ_BYTES_MAX = 256 * 1024;

/** Bounds of a group's memory besides what is out, which its members' credit bounds. */
export interface GroupLimits {
	/** Most events read that are not out: blocked by their key, backing off, or without a consumer. Default 4096. */
	readonly lookAheadMax: number;
	/** Most bytes of them; exceeded by one event at most. Default 8 MiB. */
	readonly lookAheadBytesMax: number;
	/** Most events whose failed deliveries are remembered. Default 4096. */
	readonly talliesMax: number;
}

/** What happens in groups, for counts. */
export interface GroupObserver {
	/** Events were delivered, `again` of them not for the first time. */
	delivered?(terms: GroupTerms, events: number, again: number): void;
	/** An event became a dead letter, which is stored now. */
	died?(terms: GroupTerms, reason: string): void;
}

export interface ConsumerGroupOptions {
	readonly terms: GroupTerms;
	/** The group's own: it closes it. */
	readonly reader: StoreReader;
	readonly clock: Clock;
	readonly random: Random;
	readonly limits: GroupLimits;
	readonly credit: DeliveryCredit;
	/** Stores a dead letter; resolves when it is persisted. */
	readonly bury: (event: NewEvent) => Promise<void>;
	/** Failed deliveries by position; outlives the group. */
	readonly tallies: Map<number, number>;
	/** The last member has left; `closed` resolves when the reader is closed. */
	readonly ended: (closed: Promise<void>) => void;
	readonly observer: GroupObserver;
	readonly mistakes: GroupMistakes;
}

/**
 * Gives the events of one reader to its members, by their credit. Reads only while a member has credit and nothing is ready, and never beyond
 * its limits. Works in a microtask, so that the acks of one chunk of a socket make one batch and one note.
 *
 * An error of the reader or of `bury` ends the group with all its members: those that open again get what is not done.
 */
export class ConsumerGroup {
	readonly terms: GroupTerms;
	readonly #options: ConsumerGroupOptions;
	readonly #reader: StoreReader;
	readonly #matches: EventMatcher;
	readonly #held: HeldEvents;
	readonly #members: GroupMember[] = [];
	#phase: 'open' | 'rewinding' | 'ended' = 'open';
	/** Grows with each rewind: a read that was begun before is ignored. */
	#generation = 0;
	#nextMember = 0;
	#done: number[] = [];
	#isReading = false;
	#mayHaveMore = true;
	#isPumpDue = false;
	/** Dead letters on their way: the reader is closed behind them. */
	readonly #burials = new Set<Promise<void>>();

	constructor(options: ConsumerGroupOptions) {
		const { terms, reader, clock, random, limits, tallies, mistakes } = options;
		this.terms = terms;
		this.#options = options;
		this.#reader = reader;
		this.#matches = eventMatcher(terms.filter);
		this.#held = new HeldEvents({
			terms,
			clock,
			random,
			tallies,
			talliesMax: limits.talliesMax,
			done: (position) => void this.#done.push(position),
			bury: (item) => this.#bury(item),
			changed: () => this.#pumpSoon(),
			mistakes,
		});
		reader.onMore(() => {
			this.#mayHaveMore = true;
			this.#pumpSoon();
		});
	}

	/** Another consumer has given credit back. */
	readonly #roomAgain = (): void => {
		if (this.#phase !== 'ended') this.#pumpSoon();
	};

	get isEnded(): boolean {
		return this.#phase === 'ended';
	}

	get members(): number {
		return this.#members.length;
	}

	/** Nothing is delivered in this turn of the event loop: promises bring the consumer to its opener first, who answers its client. */
	join(options: Omit<GroupMemberOptions, 'credit'>): Consumer {
		const member = new GroupMember({ ...options, credit: this.#options.credit });
		this.#members.push(member);
		setImmediate(() => {
			member.start();
			this.#pumpSoon();
		});
		const each = (n: readonly number[], visit: (item: GroupEvent) => void): void => {
			for (const number of n) {
				const item = member.find(number);
				if (item !== undefined) visit(item);
			}
			this.#pumpSoon();
		};
		const held = this.#held;
		return {
			position: this.#reader.position,
			ack: (n) => each(n, (item) => held.ack(item)),
			nack: (n, delayMs) => each(n, (item) => held.fail(item, 'nacked', delayMs)),
			term: (n, reason = 'terminated') => each(n, (item) => held.bury(item, reason)),
			extend: (n) => each(n, (item) => held.extend(item)),
			close: (handed) => this.#leave(member, handed),
		};
	}

	/** Begins anywhere else: what is out is forgotten, and answers to it are ignored. Gives the first position. One call at a time. */
	async rewind(to: ConsumeFrom): Promise<number> {
		this.#keepDone();
		this.#phase = 'rewinding';
		this.#generation++;
		this.#held.forget();
		for (const member of this.#members) member.reset();
		try {
			return await this.#reader.rewind(to);
		} catch (error) {
			this.fail(SpockError.from(error));
			throw error;
		} finally {
			if (this.#phase === 'rewinding') this.#phase = 'open';
			this.#mayHaveMore = true;
			this.#pumpSoon();
		}
	}

	/** Ends the group and all its members; what they still answer counts no more. */
	fail(error: SpockError): void {
		if (this.#phase === 'ended') return;
		const members = this.#members.splice(0);
		for (const member of members) member.leave();
		this.#end();
		for (const member of members) member.closed(error);
	}

	/** Without the lag, which the store knows. */
	status(): Omit<GroupStatus, 'lag' | 'group'> {
		const { backingOff, oldestOutMs } = this.#held.survey();
		return {
			stream: this.terms.stream,
			order: this.terms.order,
			consumers: this.#members.length,
			position: this.#reader.position,
			out: this.#held.out,
			backingOff,
			oldestUnackedMs: oldestOutMs === undefined ? null : this.#options.clock.now() - oldestOutMs,
		};
	}

	#leave(member: GroupMember, handed: readonly number[] | undefined): void {
		const index = this.#members.indexOf(member);
		if (index === -1) return;
		this.#members.splice(index, 1);
		const attempted = handed && new Set(handed);
		for (const item of member.delivered()) {
			if (attempted?.has(item.n) === false) this.#held.takeBack(item);
			else this.#held.fail(item, 'consumer lost');
			item.holder?.forget(item);
		}
		member.leave();
		if (this.#members.length === 0) this.#end();
		else this.#pumpSoon();
	}

	#end(): void {
		this.#phase = 'ended';
		this.#options.credit.forget(this.#roomAgain);
		this.#keepDone();
		this.#held.stop();
		this.#options.ended(this.#close());
	}

	async #close(): Promise<void> {
		while (this.#burials.size > 0) await Promise.allSettled(this.#burials);
		await this.#reader.close();
	}

	#pumpSoon(): void {
		if (this.#isPumpDue) return;
		this.#isPumpDue = true;
		queueMicrotask(() => {
			this.#isPumpDue = false;
			this.#keepDone();
			if (this.#phase !== 'open') return;
			this.#deliver();
			void this.#read();
		});
	}

	/** Gives what is ready to the members in turn, as far as their credit goes. */
	#deliver(): void {
		let events = 0;
		let again = 0;
		for (let item = this.#held.ready; item !== undefined; item = this.#held.ready) {
			const member = this.#memberFor(item);
			if (member === undefined) break;
			if (item.deliveries > 0) again++;
			events++;
			this.#held.deliver(item, member);
		}
		if (events === 0) return;
		this.#keepDone();
		this.#options.observer.delivered?.(this.terms, events, again);
		// A copy: a sink may end its consumer.
		for (const member of [...this.#members]) member.send(this.#reader.rewinds);
	}

	#memberFor({ bytes, goesAlone }: GroupEvent): GroupMember | undefined {
		for (let turn = 0; turn < this.#members.length; turn++) {
			this.#nextMember = (this.#nextMember + 1) % this.#members.length;
			const member = this.#members[this.#nextMember];
			if (member?.takes(bytes, goesAlone) === true) return member;
		}
		this.#waitForCredit(bytes, goesAlone);
		return undefined;
	}

	/** Where it depends on what others have out: a place of its own comes back by acks. */
	#waitForCredit(bytes: number, alone = false): void {
		if (!this.#members.some((member) => member.waitsForCredit(bytes, alone))) return;
		this.#options.credit.wait(this.#roomAgain);
	}

	async #read(): Promise<void> {
		if (!this.#wantsMore()) return;
		const { lookAheadMax, lookAheadBytesMax } = this.#options.limits;
		const eventsMax = Math.min(READ_EVENTS_MAX, lookAheadMax - this.#held.waiting);
		const bytesMax = Math.min(READ_BYTES_MAX, lookAheadBytesMax - this.#held.waitingBytes);
		const generation = this.#generation;
		this.#isReading = true;
		this.#mayHaveMore = false;
		try {
			const events = await this.#reader.read({ eventsMax, bytesMax });
			if (this.#phase !== 'open' || generation !== this.#generation) return;
			if (events.length > 0) this.#mayHaveMore = true;
			this.#take(events);
		} catch (error) {
			this.fail(SpockError.from(error));
		} finally {
			this.#isReading = false;
			this.#pumpSoon();
		}
	}

	#wantsMore(): boolean {
		const { lookAheadMax, lookAheadBytesMax } = this.#options.limits;
		const { ready, out, waiting, waitingBytes } = this.#held;
		if (this.#isReading || !this.#mayHaveMore || ready !== undefined) return false;
		if (waiting >= lookAheadMax || waitingBytes >= lookAheadBytesMax) return false;
		// What is read while one event of the stream is out could only wait for it.
		if (this.terms.order === 'stream' && out + waiting > 0) return false;
		if (this.#members.some((member) => member.takes(1))) return true;
		this.#waitForCredit(1);
		return false;
	}

	#take(events: readonly LogEvent[]): void {
		for (const event of events) {
			if (this.#matches(event)) this.#held.add(event);
			else this.#done.push(event.position);
		}
	}

	/** Tells the store what is done: the acks of a tick at once. */
	#keepDone(): void {
		if (this.#done.length === 0) return;
		const positions = this.#done;
		this.#done = [];
		this.#reader.done(positions).catch((error: unknown) => this.fail(SpockError.from(error)));
	}

	#bury(item: GroupEvent): void {
		const burial = this.#store(item)
			.catch((error: unknown) => this.fail(SpockError.from(error)))
			.finally(() => void this.#burials.delete(burial));
		this.#burials.add(burial);
	}

	async #store(item: GroupEvent): Promise<void> {
		const { terms } = this;
		const { event, deadReason: reason, deliveries } = item;
		if (!isDeadStream(event.stream)) {
			await this.#options.bury(deadLetterOf(event, { reason, group: terms.group, deliveries }));
		}
		if (!this.#held.buried(item)) return;
		this.#options.observer.died?.(terms, reason);
		this.#keepDone();
		this.#pumpSoon();
	}
}
