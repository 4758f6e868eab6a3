import { randomUUID } from 'node:crypto';

import type { ConsumerConfig } from '@nats-io/jetstream';
import type { Msg } from '@nats-io/transport-node';
import type { SpockError } from '@spock/protocol';

import type { LogEvent } from '../../foundation/log-record.ts';
import { decodeMessage, PARTITIONS } from './event-message.ts';
import type { JetStreamSettings } from './jetstream-options.ts';
import { type NatsLink, type NatsSession, storeError } from './nats-link.ts';
import { Pull } from './pull.ts';
import { ensureStream, partitionIn, subjectOf } from './stream-config.ts';

const NANOSECONDS = 1_000_000;
/** The server forgets a consumer whose process has ended. */
const INACTIVE_MS = 60_000;
const RETRY_MS = 500;

/** What a tail begins with. */
export interface TailOptions {
	/** A sequence number of the stream. */
	readonly from: number;
	/** Called when some events have come. */
	readonly more: () => void;
	/** Called at each failure to reach the server, which is tried again, and with null when it was reached. */
	readonly failed: (error: SpockError | null) => void;
	/** Default: all. */
	readonly partitions?: readonly number[];
}

interface ConsumerFilter {
	readonly filter_subjects?: string[];
}

/** An event and where it is. */
export interface TailEvent {
	readonly event: LogEvent;
	readonly partition: number;
}

/**
 * The events of a stream from a sequence number on, in order, over all connections; of these partitions alone where the server can choose,
 * else of all. It keeps at most what it has asked for once.
 */
export class StreamTail {
	readonly #link: NatsLink;
	readonly #settings: JetStreamSettings;
	readonly #stream: string;
	readonly #more: () => void;
	readonly #failed: TailOptions['failed'];
	readonly #partitions: readonly number[] | undefined;
	#events: TailEvent[] = [];
	/** What the server gives next. */
	#next: number;
	/** What the server had last when it was asked, or has told since: up to here events are on their way. */
	#last = Number.POSITIVE_INFINITY;
	#arrived: (() => void) | undefined;
	#pull: Pull | undefined;
	#retry: NodeJS.Timeout | undefined;
	#isOpening = false;
	#isClosed = false;

	constructor(link: NatsLink, settings: JetStreamSettings, stream: string, options: TailOptions) {
		this.#link = link;
		this.#settings = settings;
		this.#stream = stream;
		this.#next = options.from;
		this.#more = options.more;
		this.#failed = options.failed;
		this.#partitions = options.partitions;
	}

	/** Everything below was taken, or is not there. */
	get position(): number {
		return this.#events[0]?.event.position ?? this.#next;
	}

	/** Resolves when so many have come, or no more are on their way. One call at a time. */
	async ready(eventsMax: number): Promise<void> {
		const isReady = (): boolean =>
			this.#isClosed ||
			this.#retry !== undefined ||
			this.#events.length >= eventsMax ||
			this.#next > this.#last ||
			this.#pull?.isAsking === false;
		if (this.#events.length === 0) this.#ask();
		while (!isReady()) {
			await new Promise<void>((resolve) => {
				this.#arrived = resolve;
			});
		}
	}

	/** What has come, at least one event if there is one. */
	take(eventsMax: number, bytesMax: number): readonly TailEvent[] {
		let count = 0;
		let bytes = 0;
		while (count < Math.min(eventsMax, this.#events.length)) {
			bytes += (this.#events[count] as TailEvent).event.text.length;
			if (count > 0 && bytes > bytesMax) break;
			count++;
		}
		const taken = this.#events.splice(0, count);
		// The next ones are on their way while these are worked on.
		if (this.#events.length === 0) this.#ask();
		return taken;
	}

	close(): void {
		this.#isClosed = true;
		clearTimeout(this.#retry);
		const pull = this.#pull;
		this.#pull = undefined;
		pull?.end();
		this.#arrived?.();
	}

	#ask(): void {
		if (this.#pull !== undefined) this.#pull.ask();
		else if (!this.#isOpening && this.#retry === undefined) void this.#open();
	}

	async #open(): Promise<void> {
		this.#isOpening = true;
		try {
			const session = await this.#link.open();
			const { name, last } = await ensureStream(session, this.#settings, this.#stream);
			const consumer = await addConsumer(session, name, {
				deliver_policy: 'by_start_sequence',
				opt_start_seq: Math.max(1, this.#next),
				...this.#filter(session),
			});
			this.#last = consumer.pending > 0 ? last : this.#next - 1;
			if (this.#isClosed) return;
			this.#failed(null);
			const pull = new Pull(session, name, consumer.name, {
				message: (message, sequence, pending) => this.#took(message, sequence, pending),
				idle: () => {
					this.#quiet();
					if (this.#events.length === 0) pull.ask();
				},
				quiet: () => this.#quiet(),
				ended: () => {
					if (this.#pull !== pull) return;
					this.#pull = undefined;
					this.#openLater();
				},
			});
			this.#pull = pull;
			pull.ask();
			this.#arrived?.();
		} catch (error) {
			if (!this.#isClosed) this.#failed(storeError(`the stream ${this.#stream} cannot be read from NATS`, error));
			this.#openLater();
		} finally {
			this.#isOpening = false;
		}
	}

	#filter({ hasFilters }: NatsSession): ConsumerFilter {
		const partitions = this.#partitions;
		if (!hasFilters || partitions === undefined || partitions.length === PARTITIONS) return {};
		const subjects = partitions.map((partition) => subjectOf(this.#settings, this.#stream, partition, '*'));
		return { filter_subjects: subjects };
	}

	#openLater(): void {
		if (this.#isClosed) return;
		this.#retry = setTimeout(() => {
			this.#retry = undefined;
			if (this.#events.length === 0) void this.#open();
		}, RETRY_MS);
		this.#arrived?.();
	}

	/** What was thought to be on its way is not there any more. */
	#quiet(): void {
		this.#last = this.#next - 1;
		this.#arrived?.();
	}

	#took(message: Msg, sequence: number, pending: number): void {
		this.#next = sequence + 1;
		this.#last = pending > 0 ? Math.max(this.#last, this.#next) : sequence;
		const event = decodeMessage(message, sequence);
		if (event !== undefined) this.#events.push({ event, partition: partitionIn(message.subject) });
		this.#arrived?.();
		if (this.#events.length === 1) this.#more();
	}
}

/** The sequence number of the first event that is not older than this time. */
export async function sequenceAt(session: NatsSession, stream: string, time: number): Promise<number> {
	const consumer = await addConsumer(session, stream, {
		deliver_policy: 'by_start_time',
		opt_start_time: new Date(time).toISOString(),
	});
	await session.consumers.delete(stream, consumer.name);
	return consumer.next;
}

async function addConsumer(
	session: NatsSession,
	stream: string,
	from: ConsumerFilter & {
		readonly deliver_policy: string;
		readonly opt_start_seq?: number;
		readonly opt_start_time?: string;
	},
): Promise<{ readonly name: string; readonly next: number; readonly pending: number }> {
	const name = `spock-${randomUUID()}`;
	const info = await session.consumers.add(stream, {
		...from,
		name,
		ack_policy: 'none',
		mem_storage: true,
		num_replicas: 1,
		inactive_threshold: INACTIVE_MS * NANOSECONDS,
	} as Partial<ConsumerConfig>);
	return { name, next: info.delivered.stream_seq + 1, pending: info.num_pending };
}
