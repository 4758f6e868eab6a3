import type { ConsumeOrder } from '@spock/protocol';
import { settle } from '@spock/testkit';

import type { Consumer, Delivery } from '../src/foundation/event-sessions.ts';
import type { NewRecord } from '../src/foundation/log-record.ts';
import type { GroupMistakes } from '../src/groups/held-events.ts';
import { GroupBench } from './group-bench.ts';
import type { MemoryLog } from './memory-log.ts';

export type Step =
	| { readonly do: 'append'; readonly key: string | undefined }
	| { readonly do: 'open'; readonly slot: number; readonly inFlightMax: number }
	| { readonly do: 'close'; readonly slot: number }
	| { readonly do: 'ack' | 'nack' | 'term' | 'extend'; readonly pick: number }
	| { readonly do: 'advance'; readonly ms: number }
	| { readonly do: 'persist' | 'crash' }
	| { readonly do: 'rewind'; readonly pick: number };

/** `unsure`: acked, but its note may not have been on disk when the process died. `skipped`: a rewind went beyond it. */
type Fate = 'open' | 'acked' | 'dying' | 'unsure' | 'skipped';

interface ModelEvent {
	readonly position: number;
	readonly key: string | undefined;
	fate: Fate;
	deliveries: number;
	/** Commits since it was acked: with the second its note is on disk. */
	commits: number;
	/** The delivery that may be answered. */
	current: ModelDelivery | undefined;
}

interface ModelDelivery {
	readonly event: ModelEvent;
	readonly slot: Slot;
	readonly n: number;
	/** Out until then; -Infinity once it was answered. */
	untilMs: number;
}

interface Slot {
	consumer: Consumer | undefined;
	isOpen: boolean;
	readonly inFlightMax: number;
}

export const ACK_WAIT_MS = 5000;
export const SLOTS = 3;

/**
 * A group over the embedded store, and beside it what must be true of it: whatever is delivered, and whatever is noted as done, is compared with a
 * plain model of the promises. It knows nothing of how the group works.
 */
export class GroupModel {
	readonly #order: ConsumeOrder;
	readonly #attempts: number;
	readonly #events = new Map<number, ModelEvent>();
	readonly #slots: (Slot | undefined)[] = [];
	/** Everything that was delivered in this life: what steps pick from. */
	#deliveries: ModelDelivery[] = [];
	#lastOfKey = new Map<string, number>();
	#life = 0;
	#bench: GroupBench;
	readonly faults: string[] = [];

	constructor(order: ConsumeOrder, attempts: number, mistakes: GroupMistakes = {}) {
		this.#order = order;
		this.#attempts = attempts;
		this.#bench = new GroupBench({ groups: { mistakes } });
		this.#bench.log.persistsAlone = false;
		this.#watch(this.#bench.log);
	}

	async run(steps: readonly Step[]): Promise<void> {
		for (const step of steps) {
			await this.#step(step);
			await settle();
			if (this.faults.length > 0) return;
		}
		await this.#finish();
	}

	async #step(step: Step): Promise<void> {
		switch (step.do) {
			case 'append': {
				const { key } = step;
				const { position } = this.#bench.log.add('orders', key === undefined ? {} : { key });
				this.#events.set(position, { position, key, fate: 'open', deliveries: 0, commits: 0, current: undefined });
				return;
			}
			case 'open':
				return this.#open(step.slot, step.inFlightMax);
			case 'close':
				return this.#close(step.slot);
			case 'advance':
				return this.#bench.clock.advance(step.ms);
			case 'persist':
				return this.#persist();
			case 'crash':
				return this.#crash();
			case 'rewind':
				return this.#rewind(step.pick);
			default:
				return this.#answer(step.do, step.pick);
		}
	}

	#open(index: number, inFlightMax: number): void {
		if (this.#slots[index] !== undefined) return;
		const slot: Slot = { consumer: undefined, isOpen: true, inFlightMax };
		this.#slots[index] = slot;
		const life = this.#life;
		const { order, attempts } = { order: this.#order, attempts: this.#attempts };
		const data = { stream: 'orders', group: 'g', from: 'first', order, attempts, inFlightMax } as const;
		const sink = {
			deliver: (batch: readonly Delivery[]) => life === this.#life && this.#delivered(slot, batch),
			closed: (error: Error) => life === this.#life && this.#fault(`closed: ${error.message}`),
		};
		this.#bench.groups.open({ ...data, ackWaitMs: ACK_WAIT_MS }, sink).then(
			(consumer) => {
				slot.consumer = consumer;
				if (!slot.isOpen) consumer.close();
			},
			(error: Error) => life === this.#life && this.#fault(`refused: ${error.message}`),
		);
	}

	#close(index: number): void {
		const slot = this.#slots[index];
		if (slot === undefined) return;
		this.#expire();
		this.#slots[index] = undefined;
		slot.isOpen = false;
		for (const delivery of this.#deliveries) {
			const { event } = delivery;
			if (delivery.slot !== slot || event.current !== delivery) continue;
			if (this.#isOut(delivery)) this.#failed(event);
			event.current = undefined;
			delivery.untilMs = Number.NEGATIVE_INFINITY;
		}
		slot.consumer?.close();
	}

	#answer(kind: 'ack' | 'nack' | 'term' | 'extend', pick: number): void {
		const delivery = this.#deliveries[pick % this.#deliveries.length];
		if (delivery === undefined || delivery.slot.consumer === undefined || !delivery.slot.isOpen) return;
		this.#expire();
		const { event, slot, n } = delivery;
		const { consumer } = slot;
		const counts = event.current === delivery && event.fate === 'open';
		const nowMs = this.#bench.clock.now();
		if (counts && kind === 'ack') Object.assign(event, { fate: 'acked', commits: 0, current: undefined });
		if (counts && kind === 'term') Object.assign(event, { fate: 'dying', current: undefined });
		if (counts && kind === 'nack' && this.#isOut(delivery)) this.#failed(event);
		if (kind === 'extend' && counts && this.#isOut(delivery)) delivery.untilMs = nowMs + ACK_WAIT_MS;
		else if (kind !== 'extend') delivery.untilMs = Number.NEGATIVE_INFINITY;
		consumer?.[kind]([n]);
	}

	/** A delivery was not acked. */
	#failed(event: ModelEvent): void {
		if (this.#attempts > 0 && event.deliveries >= this.#attempts && event.fate === 'open') event.fate = 'dying';
	}

	/** Deliveries that nobody has acked in time. */
	#expire(): void {
		for (const event of this.#events.values()) {
			const { current } = event;
			if (current === undefined || this.#isOut(current) || current.untilMs === Number.NEGATIVE_INFINITY) continue;
			current.untilMs = Number.NEGATIVE_INFINITY;
			this.#failed(event);
		}
	}

	#isOut({ untilMs }: ModelDelivery): boolean {
		return untilMs > this.#bench.clock.now();
	}

	#delivered(slot: Slot, batch: readonly Delivery[]): void {
		this.#expire();
		if (!slot.isOpen) this.#fault('delivered to a consumer that is closed');
		for (const { n, delivery, event } of batch) {
			const { position } = event;
			const known = this.#events.get(position);
			if (known === undefined) {
				this.#fault(`${position} was never appended`);
				continue;
			}
			if (known.current !== undefined && this.#isOut(known.current)) this.#fault(`${position} is out twice`);
			if (known.fate !== 'open' && known.fate !== 'unsure')
				this.#fault(`${position} was delivered, but is ${known.fate}`);
			known.fate = 'open';
			known.deliveries++;
			if (delivery !== known.deliveries) this.#fault(`${position} has delivery ${delivery}, not ${known.deliveries}`);
			if (position >= this.#bench.log.persisted) this.#fault(`${position} is not on disk`);
			this.#checkOrder(known);
			const untilMs = this.#bench.clock.now() + ACK_WAIT_MS;
			known.current = { event: known, slot, n, untilMs };
			this.#deliveries.push(known.current);
		}
		const out = this.#deliveries.filter((each) => each.slot === slot && this.#isOut(each)).length;
		if (out > slot.inFlightMax) this.#fault(`${out} are out at a consumer that takes ${slot.inFlightMax}`);
	}

	#checkOrder({ position, key }: ModelEvent): void {
		const lane = this.#order === 'stream' ? '' : key;
		if (this.#order === 'none' || lane === undefined) return;
		const last = this.#lastOfKey.get(lane) ?? 0;
		if (position < last) this.#fault(`${position} of key ${lane} came behind ${last}`);
		this.#lastOfKey.set(lane, position);
		for (const other of this.#events.values()) {
			const isSame = this.#order === 'stream' || other.key === key;
			const isUndone = other.fate === 'open' || (other.fate === 'dying' && !this.#isBuried(other.position));
			if (isSame && isUndone && other.position < position && other.deliveries > 0) {
				this.#fault(`${position} of key ${lane} came before ${other.position} was done`);
			}
		}
	}

	#persist(): void {
		this.#bench.log.persist();
		for (const event of this.#events.values()) if (event.fate === 'acked') event.commits++;
	}

	#crash(): void {
		const old = this.#bench;
		this.#life++;
		this.#bench = old.reopened();
		this.#bench.log.persistsAlone = false;
		void old.groups.close(new Error('crash') as never);
		void old.store.close();
		this.#slots.length = 0;
		this.#forgetDeliveries();
		for (const [position, event] of this.#events) {
			if (position >= this.#bench.log.next) this.#events.delete(position);
			else if (event.fate === 'acked' && event.commits < 2) event.fate = 'unsure';
			// Its dead letter may not be on disk, nor that it is done.
			else if (event.fate === 'dying') event.fate = 'unsure';
		}
		this.#watch(this.#bench.log);
	}

	async #rewind(pick: number): Promise<void> {
		await this.#becomeQuiet();
		if (this.#bench.store.groups().length === 0) return;
		const positions = [...this.#events.keys()];
		const to = positions[pick % positions.length] ?? 1;
		this.#forgetDeliveries();
		for (const event of this.#events.values()) event.fate = event.position < to ? 'skipped' : 'open';
		await this.#bench.groups.rewind({ stream: 'orders', group: 'g', to: { position: to } });
		this.#bench.log.persistsAlone = false;
	}

	#forgetDeliveries(): void {
		this.#deliveries = [];
		this.#lastOfKey = new Map();
		for (const event of this.#events.values()) Object.assign(event, { deliveries: 0, current: undefined });
	}

	/** Everything that was begun ends; from here on the log persists by itself. */
	async #becomeQuiet(): Promise<void> {
		this.#bench.log.persistsAlone = true;
		for (let turn = 0; turn < 4; turn++) {
			this.#persist();
			await settle();
		}
	}

	/** At the end everybody acks: then nothing may be left. */
	async #finish(): Promise<void> {
		await this.#becomeQuiet();
		for (let index = 0; index < SLOTS; index++) this.#open(index, 4);
		await settle();
		for (let turn = 0; turn < 400; turn++) {
			const before = this.#deliveries.length;
			for (const [index, { event }] of [...this.#deliveries.entries()]) {
				if (event.current === this.#deliveries[index]) this.#answer('ack', index);
			}
			await settle();
			if (this.#deliveries.length === before && !this.#isAnyOpen) break;
			await this.#bench.clock.advance(ACK_WAIT_MS / 2);
		}
		await this.#becomeQuiet();
		for (const { position, fate } of this.#events.values()) {
			if (fate === 'open') this.#fault(`${position} was never done`);
			if (fate === 'dying' && !this.#isBuried(position)) this.#fault(`${position} has no dead letter`);
		}
		const [place] = this.#bench.store.groups();
		const last = this.#bench.log.lastOf('orders');
		if (place === undefined || place.position <= last || place.done.size > 0)
			this.#fault('the place is not at the end');
		for (let index = 0; index < SLOTS; index++) this.#close(index);
		await settle();
		if (this.#bench.clock.pendingTimers > 0) this.#fault('a timer was left');
	}

	get #isAnyOpen(): boolean {
		return [...this.#events.values()].some(({ fate }) => fate === 'open');
	}

	/** Looks at each note of the group: what it says to be done must be done. */
	#watch(log: MemoryLog): void {
		const life = this.#life;
		const append = log.append.bind(log);
		log.append = (record: NewRecord): number => {
			if (record.kind === 'note' && life === this.#life) this.#checkNote(JSON.parse(record.text));
			return append(record);
		};
	}

	#checkNote({ place, done = [] }: { place?: number; done?: number[] }): void {
		if (place === undefined) return;
		this.#expire();
		for (const { position, fate } of this.#events.values()) {
			if (position >= place && !done.includes(position)) continue;
			if (fate === 'open') this.#fault(`${position} was noted as done, but is not`);
			if (fate === 'dying' && !this.#isBuried(position)) this.#fault(`${position} is done before its dead letter`);
		}
	}

	/** Whether its dead letter is on disk. */
	#isBuried(position: number): boolean {
		const { records, persisted } = this.#bench.log;
		const mark = `"spock-dead-position":"${position}"`;
		return records.some(
			(record) =>
				record.kind === 'event' &&
				record.stream === 'orders.dead' &&
				record.position < persisted &&
				record.text.includes(mark),
		);
	}

	#fault(text: string): void {
		this.faults.push(text);
	}
}
