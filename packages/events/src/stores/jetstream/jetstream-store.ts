import { type ConsumeFrom, SpockError } from '@spock/protocol';

import type { EventStore, StoreReader, StoreReaderOptions } from '../../foundation/event-store.ts';
import type { LogEvent } from '../../foundation/log-record.ts';
import { GroupReader, type GroupReaderStore } from './group-reader.ts';
import { type GroupRecord, newGroup, type PartitionRecord } from './group-record.ts';
import { type JetStreamOptions, type JetStreamSettings, resolveJetStream } from './jetstream-options.ts';
import { LoneReader } from './lone-reader.ts';
import { NatsLink, storeError } from './nats-link.ts';
import { type Kept, Places, type RecordPlace } from './places.ts';
import { ensureStream, tokenOf } from './stream-config.ts';
import { StreamFeed } from './stream-feed.ts';
import { StreamTail, sequenceAt, type TailOptions } from './stream-tail.ts';

/**
 * Streams at the servers of NATS. Each is a stream of JetStream with a subject for each partition and each log that feeds it. It connects at
 * its first use, and again at the next use after a fault: whoever feeds or reads tries again.
 */
export class JetStreamStore implements EventStore {
	readonly name = 'jetstream';
	readonly #settings: JetStreamSettings;
	readonly #link: NatsLink;
	readonly #places: Places;
	readonly #feeds = new Map<string, StreamFeed>();
	readonly #readers = new Set<StoreReader>();
	/** Groups that have a reader here, or are about to. */
	readonly #taken = new Set<string>();

	constructor(options: JetStreamOptions) {
		this.#settings = resolveJetStream(options);
		this.#link = new NatsLink(this.#settings);
		this.#places = new Places(this.#settings);
	}

	async append(stream: string, events: readonly LogEvent[], stored: (position: number) => void): Promise<void> {
		if (events.length > 0) await this.#feed(stream).append(events, stored);
	}

	async lastOf(stream: string): Promise<number> {
		return this.#feed(stream).lastOf();
	}

	async holds(stream: string, position: number): Promise<boolean> {
		return this.#feed(stream).holds(position);
	}

	async reader(stream: string, options: StoreReaderOptions): Promise<StoreReader> {
		const { group, from, isWhole = false, failed = ignore } = options;
		if (group === undefined) return await this.#loneReader(stream, from ?? 'new', failed);
		const name = groupName(stream, group);
		if (this.#taken.has(name)) throw hasReader(stream, group);
		this.#taken.add(name);
		try {
			const { value } = (await this.#groupOf(name)) ?? (await this.#newGroup(stream, group, from));
			const reader: GroupReader = new GroupReader(
				this.#groupStore(stream, name, failed, () => {
					this.#readers.delete(reader);
					this.#taken.delete(name);
				}),
				value,
				isWhole,
			);
			await reader.start();
			this.#readers.add(reader);
			return reader;
		} catch (error) {
			this.#taken.delete(name);
			throw error;
		}
	}

	async deleteGroup(stream: string, group: string): Promise<void> {
		const name = groupName(stream, group);
		if (this.#taken.has(name)) throw hasReader(stream, group);
		const kept = await this.#groupOf(name);
		if (kept === undefined) throw unknownGroup(stream, group, 'it may be deleted already');
		if (kept.value.members.length > 0 && (await this.#isAlive(name, kept))) throw hasReader(stream, group);
		const session = await this.#link.open();
		await this.#places.remove(session, name, kept.revision);
	}

	leave(stream: string): void {
		const feed = this.#feeds.get(stream);
		this.#feeds.delete(stream);
		void feed?.close();
	}

	/** These are the servers now: where the connected one has left, what is in flight is settled, and the next use connects to another. */
	serversChanged(servers: readonly string[]): void {
		this.#link.serversChanged(servers);
	}

	async close(): Promise<void> {
		await Promise.all([...this.#readers].map((reader) => reader.close()));
		await Promise.all([...this.#feeds.values()].map((feed) => feed.close()));
		this.#link.close();
	}

	async #groupOf(name: string): Promise<Kept<GroupRecord> | undefined> {
		return this.#places.get<GroupRecord>(await this.#link.open(), name);
	}

	/** Whether any reader of a group gives a sign of life, within the time that it has for one. */
	async #isAlive(name: string, { revision }: Kept<GroupRecord>): Promise<boolean> {
		await new Promise<void>((resolve) => setTimeout(resolve, this.#settings.leaseMs));
		return (await this.#groupOf(name))?.revision !== revision;
	}

	async #newGroup(stream: string, group: string, from: ConsumeFrom | undefined): Promise<Kept<GroupRecord>> {
		if (from === undefined) throw unknownGroup(stream, group, 'open a consumer in it first');
		const value = newGroup(await this.#sequenceOf(stream, from));
		const name = groupName(stream, group);
		const revision = await this.#places.replace(await this.#link.open(), name, value, 0);
		if (revision !== undefined) return { value, revision };
		const kept = await this.#groupOf(name);
		if (kept === undefined) throw new SpockError('UNAVAILABLE', `group "${group}" was deleted meanwhile; try again`);
		return kept;
	}

	async #sequenceOf(stream: string, from: ConsumeFrom): Promise<number> {
		const session = await this.#link.open();
		const { name, first, last } = await ensureStream(session, this.#settings, stream);
		if (from === 'new') return last + 1;
		if (from === 'first') return Math.max(1, first);
		try {
			if ('time' in from) return await sequenceAt(session, name, from.time);
		} catch (error) {
			throw storeError(`the NATS stream ${name} cannot be asked`, error);
		}
		return Math.min(Math.max(1, first, from.position), last + 1);
	}

	async #loneReader(stream: string, from: ConsumeFrom, failed: TailOptions['failed']): Promise<StoreReader> {
		const store = {
			tail: (from: number, more: () => void) =>
				new StreamTail(this.#link, this.#settings, stream, { from, more, failed }),
			sequenceOf: (from: ConsumeFrom) => this.#sequenceOf(stream, from),
			closed: () => void this.#readers.delete(reader),
		};
		const reader: LoneReader = new LoneReader(store, await this.#sequenceOf(stream, from));
		this.#readers.add(reader);
		return reader;
	}

	#groupStore(stream: string, name: string, failed: TailOptions['failed'], closed: () => void): GroupReaderStore {
		return {
			leaseMs: this.#settings.leaseMs,
			tail: (from, more, partitions) =>
				new StreamTail(this.#link, this.#settings, stream, { from, more, failed, partitions }),
			sequenceOf: (from) => this.#sequenceOf(stream, from),
			group: this.#placeOf<GroupRecord>(name),
			partition: (partition) => this.#placeOf<PartitionRecord>(`${name}.${partition}`),
			...{ failed, closed },
		};
	}

	#placeOf<Value>(name: string): RecordPlace<Value> {
		return {
			get: async () => this.#places.get<Value>(await this.#link.open(), name),
			replace: async (value, revision) => this.#places.replace(await this.#link.open(), name, value, revision),
		};
	}

	#feed(stream: string): StreamFeed {
		let feed = this.#feeds.get(stream);
		if (feed === undefined) {
			feed = new StreamFeed(stream, this.#settings, this.#link, this.#places);
			this.#feeds.set(stream, feed);
		}
		return feed;
	}
}

function groupName(stream: string, group: string): string {
	return `group.${tokenOf(stream)}.${tokenOf(group)}`;
}

function hasReader(stream: string, group: string): SpockError {
	return new SpockError('BAD_REQUEST', `group "${group}" of stream "${stream}" has a reader; close that first`);
}

function unknownGroup(stream: string, group: string, hint: string): SpockError {
	return new SpockError('BAD_REQUEST', `unknown group "${group}" of stream "${stream}"; ${hint}`);
}

function ignore(): void {
	// Its caller does not want to know.
}
