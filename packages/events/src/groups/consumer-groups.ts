import {
	CONSUMER_BYTES_MAX,
	type DeleteGroupData,
	type GroupStatus,
	type OpenConsumerData,
	type RewindGroupData,
	type RewindGroupReply,
	SpockError,
} from '@spock/protocol';
import type { Clock, Random, TimerHandle } from '@spock/protocol/internal';

import type { Consumer, ConsumerSink } from '../foundation/event-sessions.ts';
import type { EventStore, StoreReader, StoreReaderOptions } from '../foundation/event-store.ts';
import type { EventsObserver } from '../foundation/events-observer.ts';
import type { NewEvent } from '../foundation/log-record.ts';
import { ConsumerGroup, type GroupLimits, type GroupObserver } from './consumer-group.ts';
import { DELIVERED_BYTES_MAX, DeliveryCredit } from './delivery-credit.ts';
import type { GroupMemberOptions } from './group-member.ts';
import { type GroupTerms, groupTerms, requireSameTerms } from './group-terms.ts';
import type { GroupMistakes } from './held-events.ts';

const DEFAULT_IN_FLIGHT_MAX = 64;
const DEFAULT_ACK_WAIT_MS = 30_000;
const DEFAULT_DRAIN_MS = 5000;
const DEFAULT_LIMITS: ConsumerGroupsLimits = Object.freeze({
	consumersMax: 4096,
	deliveredBytesMax: DELIVERED_BYTES_MAX,
	lookAheadMax: 4096,
	lookAheadBytesMax: 8 * 1024 * 1024,
	talliesMax: 4096,
});

export interface ConsumerGroupsLimits extends GroupLimits {
	/** Most consumers of all streams. Default 4096. */
	readonly consumersMax: number;
	/** Most bytes out at all of them. Default {@link DELIVERED_BYTES_MAX}. */
	readonly deliveredBytesMax: number;
}

export interface ConsumerGroupsOptions {
	/** The store that keeps a stream. */
	readonly storeOf: (stream: string) => EventStore;
	/** Stores a dead letter, whose stream ends with `.dead`; resolves when it is persisted. */
	readonly bury: (event: NewEvent) => Promise<void>;
	readonly clock: Clock;
	readonly random: Random;
	readonly limits?: Partial<ConsumerGroupsLimits>;
	readonly observer?: GroupObserver;
	/** Called at each failure to read the store of a stream, which is retried; with null after each success. Default: not reported. */
	readonly readFailed?: (stream: string, error: SpockError | null) => void;
	/** A stream is not read any more, by one group at least. */
	readonly unread?: (stream: string) => void;
	/** For the tests that must find them. */
	readonly mistakes?: GroupMistakes;
}

/** The turn in which readers without a group are closed; no key of a group. */
const LONERS = '';

/** All consumers: those of one group of a stream share one {@link ConsumerGroup}, each without a group has its own. */
export class ConsumerGroups {
	readonly #options: ConsumerGroupsOptions;
	readonly #limits: ConsumerGroupsLimits;
	/** Groups with members, by stream and name. */
	readonly #groups = new Map<string, ConsumerGroup>();
	/** Consumers without a group, each a group of one. */
	readonly #loners = new Set<ConsumerGroup>();
	/** The last work of a group that opens, moves or ends: one after the other. */
	readonly #turns = new Map<string, Promise<unknown>>();
	/** Failed deliveries of groups, also of those without members now. */
	readonly #tallies = new Map<string, Map<number, number>>();
	readonly #credit: DeliveryCredit;
	#opening = 0;
	#closed: SpockError | undefined;

	constructor(options: ConsumerGroupsOptions) {
		this.#options = options;
		this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
		this.#credit = new DeliveryCredit(this.#limits.deliveredBytesMax);
	}

	/**
	 * Adds a consumer. Rejects with BAD_REQUEST where the members of its group have other terms, OVERLOADED when there are too many, and with what
	 * the store rejects. Its first events come in a later turn of the event loop than the consumer.
	 */
	async open(data: OpenConsumerData, sink: ConsumerSink): Promise<Consumer> {
		const terms = groupTerms(data);
		const member = {
			inFlightMax: data.inFlightMax ?? DEFAULT_IN_FLIGHT_MAX,
			bytesMax: CONSUMER_BYTES_MAX,
			ackWaitMs: data.ackWaitMs ?? DEFAULT_ACK_WAIT_MS,
			sink,
		};
		this.#admit();
		this.#opening++;
		try {
			const { group } = terms;
			if (group === undefined) return await this.#openLoner(terms, member, data);
			const key = groupKey(terms.stream, group);
			return await this.#inTurn(key, () => this.#openMember(key, terms, member, data));
		} finally {
			this.#opening--;
		}
	}

	/** Moves a group, with or without members. Rejects with BAD_REQUEST for one that does not exist. */
	async rewind({ stream, group, to }: RewindGroupData): Promise<RewindGroupReply> {
		const key = groupKey(stream, group);
		const position = await this.#inTurn(key, async () => {
			this.#refuseIfClosed();
			const present = this.#groups.get(key);
			if (present !== undefined) return await present.rewind(to);
			const reader = await this.#reader(stream, { group });
			try {
				this.#tallies.delete(key);
				return await reader.rewind(to);
			} finally {
				await reader.close();
			}
		});
		return { position };
	}

	/** Forgets a group. Rejects with BAD_REQUEST for one that has members, or does not exist. */
	async delete({ stream, group }: DeleteGroupData): Promise<void> {
		const key = groupKey(stream, group);
		await this.#inTurn(key, async () => {
			this.#refuseIfClosed();
			const { members = 0 } = this.#groups.get(key) ?? {};
			if (members > 0) {
				const [consumers, them] = members === 1 ? ['1 consumer', 'it'] : [`${members} consumers`, 'them'];
				const message = `group "${group}" of stream "${stream}" has ${consumers}; end ${them} first`;
				throw new SpockError('BAD_REQUEST', message, { details: { path: 'group', members }, isStackless: true });
			}
			await this.#options.storeOf(stream).deleteGroup(stream, group);
			this.#tallies.delete(key);
		});
	}

	/** Groups with members; without the lag, which the store knows. */
	status(): Omit<GroupStatus, 'lag'>[] {
		return [...this.#groups.values()].map((group) => ({ ...group.status(), group: group.terms.group ?? '' }));
	}

	/**
	 * Ends all consumers with this error. What they have acked is given to the store at once; then it waits `drainMs` at most for dead letters
	 * and readers that a slow disk keeps.
	 */
	async close(error: SpockError, drainMs: number = DEFAULT_DRAIN_MS): Promise<void> {
		this.#closed ??= error;
		for (const group of [...this.#groups.values(), ...this.#loners]) group.fail(error);
		const { clock } = this.#options;
		let timer: TimerHandle | undefined;
		const deadline = new Promise<void>((resolve) => {
			timer = clock.setTimeout(resolve, drainMs);
		});
		await Promise.race([Promise.all(this.#turns.values()), deadline]);
		clock.clearTimeout(timer);
	}

	async #openMember(
		key: string,
		terms: GroupTerms,
		member: Omit<GroupMemberOptions, 'credit'>,
		{ from = 'new' }: OpenConsumerData,
	): Promise<Consumer> {
		this.#refuseIfClosed();
		const present = this.#groups.get(key);
		if (present !== undefined) {
			requireSameTerms(present.terms, terms);
			return present.join(member);
		}
		const { stream, group = '' } = terms;
		const reader = await this.#reader(stream, { group, from, isWhole: terms.order === 'stream' });
		const tallies = this.#tallies.get(key) ?? new Map<number, number>();
		this.#tallies.set(key, tallies);
		const opened = new ConsumerGroup({
			...this.#groupOptions(terms),
			reader,
			tallies,
			ended: (closed) => {
				this.#groups.delete(key);
				this.#options.unread?.(stream);
				if (tallies.size === 0) this.#tallies.delete(key);
				void this.#inTurn(key, () => closed);
			},
		});
		return this.#joinFirst(opened, member, () => this.#groups.set(key, opened));
	}

	async #openLoner(
		terms: GroupTerms,
		member: Omit<GroupMemberOptions, 'credit'>,
		data: OpenConsumerData,
	): Promise<Consumer> {
		const reader = await this.#reader(terms.stream, { from: data.from ?? 'new' });
		const opened: ConsumerGroup = new ConsumerGroup({
			...this.#groupOptions(terms),
			reader,
			tallies: new Map(),
			ended: (closed) => {
				this.#loners.delete(opened);
				this.#options.unread?.(terms.stream);
				void this.#inTurn(LONERS, () => closed);
			},
		});
		return this.#joinFirst(opened, member, () => this.#loners.add(opened));
	}

	async #reader(stream: string, options: StoreReaderOptions): Promise<StoreReader> {
		const failed = (error: SpockError | null): void => this.#options.readFailed?.(stream, error);
		try {
			const reader = await this.#options.storeOf(stream).reader(stream, { ...options, failed });
			failed(null);
			return reader;
		} catch (error) {
			if (SpockError.is(error, 'UNAVAILABLE') && this.#closed === undefined) failed(error);
			throw error;
		}
	}

	/** What was closed while the store opened the reader closes that. */
	#joinFirst(opened: ConsumerGroup, member: Omit<GroupMemberOptions, 'credit'>, keep: () => void): Consumer {
		if (this.#closed !== undefined) {
			opened.fail(this.#closed);
			throw this.#closed;
		}
		keep();
		return opened.join(member);
	}

	#groupOptions(
		terms: GroupTerms,
	): Omit<ConstructorParameters<typeof ConsumerGroup>[0], 'reader' | 'tallies' | 'ended'> {
		const { clock, random, bury, observer = {}, mistakes = {} } = this.#options;
		return { terms, clock, random, bury, observer, mistakes, limits: this.#limits, credit: this.#credit };
	}

	#admit(): void {
		this.#refuseIfClosed();
		let consumers = this.#opening + this.#loners.size;
		for (const group of this.#groups.values()) consumers += group.members;
		const { consumersMax } = this.#limits;
		if (consumers < consumersMax) return;
		throw new SpockError('OVERLOADED', `there are ${consumers} consumers, the most that may be; close some`, {
			details: { consumersMax },
		});
	}

	#refuseIfClosed(): void {
		if (this.#closed !== undefined) throw this.#closed;
	}

	/** Runs work of a group when what was begun before has ended, well or not. */
	#inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
		const before = this.#turns.get(key) ?? Promise.resolve();
		const result = before.then(work);
		const turn = result
			.then(
				() => undefined,
				() => undefined,
			)
			.then(() => {
				if (this.#turns.get(key) === turn) this.#turns.delete(key);
			});
		this.#turns.set(key, turn);
		return result;
	}
}

/** Names hold no slash. */
function groupKey(stream: string, group: string): string {
	return `${stream}/${group}`;
}

/** Reports what groups do. */
export function groupObserver(observer: EventsObserver): GroupObserver {
	return {
		delivered: ({ stream, group = null }, events, again) => {
			observer.delivered?.(stream, group, events);
			if (again > 0) observer.redelivered?.(stream, group, again);
		},
		died: ({ stream, group = null }, reason) => observer.dead?.(stream, group, reason),
	};
}
