import type { Clock, Random } from '@spock/protocol/internal';

import type { LogEvent } from '../foundation/log-record.ts';
import { DueTimer } from './due-timer.ts';
import { GroupEvent } from './group-event.ts';
import { type GroupEventAction, type GroupEventInput, groupEventMachine } from './group-event-machine.ts';
import type { GroupMember } from './group-member.ts';
import { type GroupTerms, retryDelayMs } from './group-terms.ts';
import { KeyLanes } from './key-lanes.ts';
import { RankedHeap } from './ranked-heap.ts';

/** Bugs planted for the tests that must find them. */
export interface GroupMistakes {
	readonly doneOnDelivery?: boolean;
	readonly doneBeforeDeadLetter?: boolean;
	readonly keyReleasedOnNack?: boolean;
	readonly creditKeptOnNack?: boolean;
}

export interface HeldEventsOptions {
	readonly terms: GroupTerms;
	readonly clock: Clock;
	readonly random: Random;
	/** Deliveries that failed, by position; outlives the group, so that a consumer that an event kills does not get it for ever. */
	readonly tallies: Map<number, number>;
	readonly talliesMax: number;
	/** An event is done. */
	readonly done: (position: number) => void;
	/** Stores the dead letter of an event, and calls `buried` then. */
	readonly bury: (item: GroupEvent) => void;
	/** An event may be ready, or has become due. */
	readonly changed: () => void;
	readonly mistakes: GroupMistakes;
}

/** The events that a group has read and that are not done: what each may do next, by `groupEventMachine`. */
export class HeldEvents {
	readonly #options: HeldEventsOptions;
	readonly #lanes: KeyLanes;
	/** Waiting, and free to go, by position. */
	readonly #ready = new RankedHeap<GroupEvent>();
	/** Out: when the ack wait is over. Backing off: when the next delivery is due. */
	readonly #timer: DueTimer;
	/** Those whose dead letters are being stored. */
	readonly #burying = new Set<GroupEvent>();
	#waiting = 0;
	#waitingBytes = 0;
	#out = 0;

	constructor(options: HeldEventsOptions) {
		this.#options = options;
		this.#lanes = new KeyLanes(options.terms.order);
		this.#timer = new DueTimer(options.clock, (item) => {
			if (item.state === 'out') this.fail(item, 'ack wait over');
			else this.#step(item, 'due');
			options.changed();
		});
	}

	/** The first event that may be delivered. */
	get ready(): GroupEvent | undefined {
		return this.#ready.first;
	}

	/** Events that are not out, and the bytes of their texts. */
	get waiting(): number {
		return this.#waiting;
	}

	get waitingBytes(): number {
		return this.#waitingBytes;
	}

	get out(): number {
		return this.#out;
	}

	/** Events that back off, and when the oldest of those that are out was delivered. */
	survey(): { readonly backingOff: number; readonly oldestOutMs: number | undefined } {
		let backingOff = 0;
		let oldestOutMs: number | undefined;
		for (const { state, deliveredAtMs } of this.#timer.items()) {
			if (state === 'backing off') backingOff++;
			else if (oldestOutMs === undefined || deliveredAtMs < oldestOutMs) oldestOutMs = deliveredAtMs;
		}
		return { backingOff, oldestOutMs };
	}

	/** Takes an event that the store has given, each behind the one before. */
	add(event: LogEvent): void {
		const { tallies } = this.#options;
		const item = new GroupEvent(event, tallies.size === 0 ? 0 : (tallies.get(event.position) ?? 0));
		this.#count(item, 1);
		if (this.#lanes.enter(item)) this.#lineUp(item);
	}

	/** Delivers the first ready event to a member that takes it. */
	deliver(item: GroupEvent, member: GroupMember): void {
		this.#ready.remove(item);
		item.nextHolder = member;
		this.#step(item, 'credit');
	}

	ack(item: GroupEvent): void {
		this.#step(item, 'acked');
	}

	extend(item: GroupEvent): void {
		this.#step(item, 'extended');
	}

	/** A delivery has failed: the next one, or a dead letter after the last. Without `delayMs` the group's own back-off. */
	fail(item: GroupEvent, how: 'nacked' | 'ack wait over' | 'consumer lost', delayMs?: number): void {
		if (item.state === 'out') {
			if (this.#isLast(item)) {
				this.bury(item, `${how} at delivery ${item.deliveries}, the last`);
				return;
			}
			if (how === 'consumer lost') item.isSuspect = true;
			this.#remember(item);
		}
		item.retryDelayMs = delayMs;
		this.#step(item, how);
	}

	/** Its consumer has left in order, and nobody had begun to work on it: as if it had not been delivered. */
	takeBack(item: GroupEvent): void {
		if (item.state === 'out') item.deliveries--;
		this.#step(item, 'consumer lost');
	}

	bury(item: GroupEvent, reason: string): void {
		item.deadReason = reason;
		this.#step(item, 'buried');
	}

	/** Its dead letter is stored; ignored if it was forgotten meanwhile. Gives whether it was not. */
	buried(item: GroupEvent): boolean {
		if (!this.#burying.delete(item)) return false;
		this.#step(item, 'dead letter stored');
		return true;
	}

	/** Delivers nothing more; dead letters are still finished. */
	stop(): void {
		this.#timer.clear();
		this.#ready.clear();
		this.#lanes.clear();
	}

	/** The group has moved: nothing of what was read counts. */
	forget(): void {
		this.stop();
		this.#burying.clear();
		this.#options.tallies.clear();
		this.#waiting = 0;
		this.#waitingBytes = 0;
		this.#out = 0;
	}

	/** Without an allocation, as it runs at least twice for each event: `step` of the machine would make an object and an array. */
	#step(item: GroupEvent, input: GroupEventInput): void {
		const cell = groupEventMachine[item.state][input];
		if (cell === undefined || cell === null) return;
		item.state = cell[0];
		for (let index = 1; index < cell.length; index++) this.#act(item, cell[index] as GroupEventAction);
	}

	#act(item: GroupEvent, action: GroupEventAction): void {
		const { done, bury, random, mistakes } = this.#options;
		switch (action) {
			case 'deliver':
				item.nextHolder?.add(item);
				item.deliveredAtMs = this.#options.clock.now();
				this.#out++;
				this.#count(item, -1);
				if (mistakes.doneOnDelivery === true) done(item.event.position);
				break;
			case 'start ack wait':
				this.#timer.add(item, item.nextHolder?.ackWaitMs ?? 0);
				break;
			case 'cancel timer':
				this.#timer.remove(item);
				break;
			case 'give credit back':
				this.#out--;
				this.#count(item, 1);
				if (item.state !== 'backing off' || mistakes.creditKeptOnNack !== true) item.holder?.giveCreditBack(item);
				break;
			case 'schedule':
				this.#timer.add(item, item.retryDelayMs ?? retryDelayMs(item.deliveries, random));
				if (mistakes.keyReleasedOnNack === true) this.#releaseKey(item);
				break;
			case 'line up':
				this.#lineUp(item);
				break;
			case 'leave line':
				this.#ready.remove(item);
				break;
			case 'store dead letter':
				item.holder?.forget(item);
				this.#burying.add(item);
				if (mistakes.doneBeforeDeadLetter === true) done(item.event.position);
				bury(item);
				break;
			case 'release key':
				this.#releaseKey(item);
				break;
			case 'keep done':
				this.#keepDone(item);
				break;
		}
	}

	#keepDone(item: GroupEvent): void {
		const { tallies, done } = this.#options;
		item.holder?.forget(item);
		this.#count(item, -1);
		if (tallies.size > 0) tallies.delete(item.event.position);
		done(item.event.position);
	}

	#releaseKey(item: GroupEvent): void {
		const next = this.#lanes.leave(item);
		if (next !== undefined) this.#lineUp(next);
	}

	#lineUp(item: GroupEvent): void {
		item.rank = item.event.position;
		item.goesAlone = item.isSuspect && item.deliveries + 1 === this.#options.terms.attempts;
		this.#ready.add(item);
	}

	#isLast({ deliveries }: GroupEvent): boolean {
		const { attempts } = this.#options.terms;
		return attempts > 0 && deliveries >= attempts;
	}

	#remember({ event, deliveries }: GroupEvent): void {
		const { tallies, talliesMax } = this.#options;
		if (tallies.size < talliesMax || tallies.has(event.position)) tallies.set(event.position, deliveries);
	}

	#count(item: GroupEvent, by: 1 | -1): void {
		this.#waiting += by;
		this.#waitingBytes += by * item.bytes;
	}
}
