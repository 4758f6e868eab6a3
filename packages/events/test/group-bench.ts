import type { EventFilter, OpenConsumerData, SpockError } from '@spock/protocol';
import { FakeClock, settle } from '@spock/testkit';

import type { Consumer, Delivery } from '../src/foundation/event-sessions.ts';
import { ConsumerGroups, type ConsumerGroupsOptions } from '../src/groups/consumer-groups.ts';
import { EmbeddedStore, type EmbeddedStoreOptions } from '../src/stores/embedded-store.ts';
import { MemoryLog } from './memory-log.ts';

export interface GroupBenchOptions {
	readonly clock?: FakeClock;
	readonly log?: MemoryLog;
	readonly groups?: Partial<ConsumerGroupsOptions>;
	readonly store?: Partial<EmbeddedStoreOptions>;
}

/** What a consumer was given. */
export interface TestConsumer {
	readonly consumer: Consumer;
	readonly deliveries: readonly Delivery[];
	/** Batches of them. */
	readonly batches: readonly (readonly Delivery[])[];
	readonly errors: readonly SpockError[];
	/** Payload and delivery of each, `7` or `7/2`. */
	readonly shown: readonly string[];
	/** Acks deliveries by their index among all that it was given. */
	ack(...indexes: readonly number[]): Promise<void>;
	nack(index: number, delayMs?: number): Promise<void>;
}

/** Groups over the embedded store over a log in memory, with a clock that stands still. */
export class GroupBench {
	readonly clock: FakeClock;
	readonly log: MemoryLog;
	readonly store: EmbeddedStore;
	readonly groups: ConsumerGroups;
	readonly #options: GroupBenchOptions;

	constructor(options: GroupBenchOptions = {}, store?: EmbeddedStore) {
		this.#options = options;
		this.clock = options.clock ?? new FakeClock();
		this.log = options.log ?? new MemoryLog();
		this.store = store ?? new EmbeddedStore({ log: this.log, ...options.store });
		this.log.memory = this.store;
		this.log.committed = () => this.store.committed();
		this.groups = new ConsumerGroups({
			storeOf: () => this.store,
			clock: this.clock,
			random: () => 1,
			bury: async (event) => {
				const position = this.log.append(event);
				await this.store.append(event.stream, [{ ...event, position, time: 0 }], () => undefined);
			},
			...options.groups,
		});
	}

	/** Another process over what is on disk. */
	reopened(): GroupBench {
		let store: EmbeddedStore | undefined;
		const log = this.log.reopened((other) => {
			store = new EmbeddedStore({ log: other, ...this.#options.store });
			return store;
		});
		return new GroupBench({ ...this.#options, clock: this.clock, log }, store);
	}

	/** Appends events with payloads from 0 on, a key each if one is given. */
	add(count: number, keyOf: (index: number) => string | undefined = () => undefined): void {
		for (let index = 0; index < count; index++) {
			const key = keyOf(index);
			this.log.add('orders', { payload: index, ...(key !== undefined && { key }) });
		}
	}

	async open(data: Partial<OpenConsumerData> & { filter?: EventFilter } = {}): Promise<TestConsumer> {
		const batches: (readonly Delivery[])[] = [];
		const errors: SpockError[] = [];
		const sink = {
			deliver: (events: readonly Delivery[]) => void batches.push(events),
			closed: (error: SpockError) => void errors.push(error),
		};
		const consumer = await this.groups.open({ stream: 'orders', group: 'billing', from: 'first', ...data }, sink);
		await settle();
		const numbers = (indexes: readonly number[]): number[] => indexes.map((index) => batches.flat()[index]?.n ?? 0);
		return {
			consumer,
			batches,
			errors,
			get deliveries() {
				return batches.flat();
			},
			get shown() {
				return batches
					.flat()
					.map(({ delivery, event }) => payloadOf(event.text) + (delivery > 1 ? `/${delivery}` : ''));
			},
			ack: async (...indexes) => {
				consumer.ack(numbers(indexes));
				await settle();
			},
			nack: async (index, delayMs) => {
				consumer.nack(numbers([index]), delayMs);
				await settle();
			},
		};
	}

	/** Where the group stands in the log. */
	get place(): number | undefined {
		return this.store.groups().find(({ stream }) => stream === 'orders')?.position;
	}

	/** Data of the dead letters. */
	get dead(): { headers: Record<string, string>; payload: unknown; key?: string }[] {
		return this.log.records.flatMap((record) =>
			record.kind === 'event' && record.stream === 'orders.dead' ? [JSON.parse(record.text)] : [],
		);
	}
}

function payloadOf(text: string): string {
	return JSON.stringify((JSON.parse(text) as { payload: unknown }).payload);
}
