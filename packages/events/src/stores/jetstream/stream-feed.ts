import { SpockError } from '@spock/protocol';

import type { LogEvent } from '../../foundation/log-record.ts';
import {
	type EventMessage,
	encodeMessage,
	messageBytesMax,
	PARTITIONS,
	partitionOf,
	placeOf,
} from './event-message.ts';
import { type ApiError, fastIngest, type IngestEnd, type IngestOptions } from './fast-ingest.ts';
import type { JetStreamSettings } from './jetstream-options.ts';
import { type NatsLink, type NatsSession, storeError } from './nats-link.ts';
import { isTrue, type NewestEvent, type OwnerPlace, orderedPosition } from './owner-place.ts';
import { partitionIngest } from './partition-ingest.ts';
import type { Kept, Places } from './places.ts';
import { ensureStream, type StreamState, streamName, subjectOf, tokenOf } from './stream-config.ts';

/** What one batch brings to the connection at once at most; each costs a round trip at its end. */
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
const BATCH_EVENTS_MAX = 8192;
/** Without fast ingest: events behind one that is not stored may be, and so many are looked through at most after a fault. */
const UNORDERED_EVENTS_MAX = 256;
/** How late it may be noted how far the log was stored: well below the time after which a stream deletes events. */
const NOTE_AFTER_MS = 60_000;
/** Of the API of JetStream: this one message will never be taken. */
const TOO_LARGE = [10054, 10097];

/** How far a stream has what this log has sent. */
interface Reach {
	readonly stream: StreamState;
	/** Sequence number of the newest event; 0 for none. */
	newest: number;
	/** Everything up to it is stored. */
	position: number;
	place: Kept<OwnerPlace> | undefined;
}

/** The same, for the sender. */
interface Fed extends Reach {
	readonly session: NatsSession;
	/** The last position of each partition; 0 for none. */
	readonly lasts: number[];
}

/** An event that the stream does not have yet, and where it is in its batch. */
interface FreshEvent {
	readonly event: LogEvent;
	readonly partition: number;
	readonly index: number;
}

/** The events of one log on their way to one stream. */
export class StreamFeed {
	readonly #stream: string;
	readonly #settings: JetStreamSettings;
	readonly #link: NatsLink;
	readonly #places: Places;
	/** Known as long as everything goes well; asked for again after each fault and at each new connection. */
	#fed: Fed | undefined;
	/** Everything up to it was reported as stored. What a server has lost of it must be sent again before anything else. */
	#stored = 0;
	#queue: Promise<unknown> = Promise.resolve();
	#noting: Promise<void> = Promise.resolve();
	#noteTimer: NodeJS.Timeout | undefined;

	constructor(stream: string, settings: JetStreamSettings, link: NatsLink, places: Places) {
		this.#stream = stream;
		this.#settings = settings;
		this.#link = link;
		this.#places = places;
	}

	/** One after the other; what waits behind one that fails fails too, since it would be stored before it. */
	append(events: readonly LogEvent[], stored: (position: number) => void): Promise<void> {
		const before = this.#queue;
		const appended = before.then(
			() => this.#append(events, stored),
			(cause: unknown) => {
				throw new SpockError('UNAVAILABLE', 'events before these were not stored', { cause });
			},
		);
		this.#queue = appended;
		const settled = (): void => {
			if (this.#queue === appended) this.#queue = Promise.resolve();
		};
		appended.then(settled, settled);
		return appended;
	}

	/** As the server says now. */
	async lastOf(): Promise<number> {
		this.#stored = (await this.#reach(await this.#link.open())).position;
		return this.#stored;
	}

	/**
	 * Whether the server has everything up to a position, by one question in the usual case: it is asked each minute for each stream. Where
	 * its newest event does not say so, all is asked that does.
	 */
	async holds(position: number): Promise<boolean> {
		const session = await this.#link.open();
		const name = streamName(this.#settings, this.#stream);
		// A stream that is not there is made by what follows, which also reports why it cannot be asked.
		const newest = await this.#newestIn(session, name, '*').catch(() => undefined);
		if (newest !== undefined && orderedPosition(newest) >= position) return true;
		return (await this.#reach(session)).position >= position;
	}

	/** Notes what was not noted yet. */
	async close(): Promise<void> {
		if (this.#noteTimer === undefined) return;
		clearTimeout(this.#noteTimer);
		this.#noteTimer = undefined;
		// What cannot be noted is found in the stream by the next start.
		await this.#note().catch(() => undefined);
	}

	async #append(events: readonly LogEvent[], stored: (position: number) => void): Promise<void> {
		const session = await this.#link.open();
		try {
			const fed = this.#fed?.session === session ? this.#fed : await this.#look(session);
			this.#fed = fed;
			if (fed.position < this.#stored) {
				const text = `the NATS stream ${fed.stream.name} has lost events above ${fed.position}, of ${this.#stored}`;
				throw new SpockError('UNAVAILABLE', text);
			}
			await this.#feed(fed, events, (position) => {
				this.#stored = position;
				stored(position);
			});
		} catch (error) {
			this.#fed = undefined;
			throw storeError(`events of the stream ${this.#stream} were not stored`, error);
		}
	}

	async #feed(fed: Fed, events: readonly LogEvent[], stored: (position: number) => void): Promise<void> {
		const tooLarge = events.findIndex((event) => this.#isTooLarge(fed, event));
		const good = tooLarge === -1 ? events : events.slice(0, tooLarge);
		let sizeMax = Number.POSITIVE_INFINITY;
		for (let from = 0; from < good.length; ) {
			const until = this.#batchEnd(fed, good, from, sizeMax);
			const batch = good.slice(from, until);
			const end = await this.#send(fed, batch, stored);
			from += end.stored;
			if (end.refused !== undefined) throw refusal(end.refused, good[from] as LogEvent);
			if (end.stored === 0) throw new SpockError('UNAVAILABLE', 'the NATS server has ended a batch');
			// Its first message was recognised as stored, and the rest not read: alone they are answered one by one.
			sizeMax = end.stored < batch.length ? 1 : 2 * sizeMax;
		}
		if (tooLarge === -1) return;
		const { position } = events[tooLarge] as LogEvent;
		throw new SpockError('FRAME_TOO_LARGE', `the event at ${position} is too large for the NATS server`);
	}

	/** As many as may go in one batch, but one in any case. */
	#batchEnd({ stream }: Fed, events: readonly LogEvent[], from: number, sizeMax: number): number {
		const countMax = Math.min(sizeMax, stream.isBatched ? BATCH_EVENTS_MAX : UNORDERED_EVENTS_MAX);
		let bytes = 0;
		let until = from;
		while (until < events.length && until - from < countMax) {
			bytes += (events[until] as LogEvent).text.length;
			if (until > from && bytes > BATCH_BYTES_MAX) break;
			until++;
		}
		return until;
	}

	/** Sends what of these is not there yet. */
	async #send(fed: Fed, batch: readonly LogEvent[], stored: (position: number) => void): Promise<IngestEnd> {
		const fresh: FreshEvent[] = [];
		for (const [index, event] of batch.entries()) {
			const partition = partitionOf(event);
			if (event.position > (fed.lasts[partition] ?? 0)) fresh.push({ event, partition, index });
		}
		let done = 0;
		const tell = (count: number): void => {
			// With those after it that were there already.
			const until = fresh[count]?.index ?? batch.length;
			for (; done < until; done++) {
				const event = batch[done] as LogEvent;
				const partition = partitionOf(event);
				fed.lasts[partition] = Math.max(fed.lasts[partition] ?? 0, event.position);
			}
			const { position } = batch[until - 1] as LogEvent;
			if (position > fed.position) fed.position = position;
			// Without fast ingest nobody could say it after a fault, before it is noted.
			if (fed.stream.isBatched) stored(position);
		};
		if (fresh[0]?.index !== 0) tell(0);
		const end = fresh.length === 0 ? { stored: 0 } : await this.#ingest(fed, fresh, tell);
		const last = batch[done - 1];
		if (last !== undefined) await this.#noteWhatMust(fed, last);
		if (last !== undefined && !fed.stream.isBatched) stored(last.position);
		return { ...end, stored: done };
	}

	async #ingest(fed: Fed, fresh: readonly FreshEvent[], tell: (count: number) => void): Promise<IngestEnd> {
		const { timeoutMs, owner } = this.#settings;
		const { session, stream } = fed;
		const options: IngestOptions = { timeoutMs, stored: tell };
		const encode = ({ event, partition }: FreshEvent): EventMessage =>
			encodeMessage(session.newHeaders(), event, {
				subject: subjectOf(this.#settings, this.#stream, partition, owner),
				owner,
				isUnordered: !stream.isBatched,
			});
		try {
			if (stream.isBatched) return await fastIngest(session, map(fresh, encode), fresh.length, options);
			const messages = fresh.map((each) => ({ partition: each.partition, message: encode(each) }));
			return await partitionIngest(session, messages, options);
		} catch (error) {
			const fault = storeError(`events of the stream ${this.#stream} were not stored`, error);
			// What is still on its way must not come between what is sent again.
			session.end(fault);
			throw fault;
		}
	}

	/** What a later start could not tell from the stream. */
	async #noteWhatMust(fed: Fed, last: LogEvent): Promise<void> {
		if (!fed.stream.isBatched) {
			if ((fed.place?.value.position ?? 0) < fed.position) await this.#noteNow(fed);
			return;
		}
		if (last.id !== undefined) await this.#noteIfRecognised(fed, last);
		this.#noteLater();
	}

	#isTooLarge({ session, stream }: Fed, event: LogEvent): boolean {
		const { max_payload = Number.POSITIVE_INFINITY } = session.connection.info ?? {};
		const bytesMax = Math.min(
			max_payload,
			stream.messageBytesMax < 0 ? Number.POSITIVE_INFINITY : stream.messageBytesMax,
		);
		// Three bytes for a character at most: most need not be measured.
		return 3 * event.text.length + 4096 > bytesMax && messageBytesMax(event) > bytesMax;
	}

	/** How far the stream has what this log has sent. */
	async #reach(session: NatsSession): Promise<Reach> {
		const stream = await ensureStream(session, this.#settings, this.#stream);
		try {
			const [newest, place] = await Promise.all([
				this.#newestIn(session, stream.name, '*'),
				this.#places.get<OwnerPlace>(session, this.#placeName),
			]);
			const sequence = newest?.sequence ?? 0;
			const noted = isTrue(place?.value, stream, sequence) ? (place?.value.position ?? 0) : 0;
			return { stream, place, newest: sequence, position: Math.max(orderedPosition(newest), noted) };
		} catch (error) {
			throw storeError(`the NATS stream ${stream.name} cannot be asked`, error);
		}
	}

	/** The same, with what each partition has: for the sender. */
	async #look(session: NatsSession): Promise<Fed> {
		const reach = await this.#reach(session);
		const { name } = reach.stream;
		try {
			const found = await Promise.all(
				Array.from({ length: PARTITIONS }, (_, partition) => this.#newestIn(session, name, partition)),
			);
			return { ...reach, session, lasts: found.map((each) => each?.place?.position ?? 0) };
		} catch (error) {
			throw storeError(`the NATS stream ${name} cannot be asked`, error);
		}
	}

	/**
	 * The newest event of this log, in a partition or in all. Of the leader, not by a direct get: a replica that is behind would not know what it
	 * has acknowledged.
	 */
	async #newestIn(session: NatsSession, name: string, partition: number | '*'): Promise<NewestEvent | undefined> {
		const subject = subjectOf(this.#settings, this.#stream, partition, this.#settings.owner);
		const message = await session.streams.getMessage(name, { last_by_subj: subject });
		return message === null ? undefined : { sequence: message.seq, place: placeOf({ headers: message.header }) };
	}

	/** An id that another log has stored leaves no message of ours, from which a later start could tell that it is stored. */
	async #noteIfRecognised(fed: Fed, event: LogEvent): Promise<void> {
		const newest = await this.#newestIn(fed.session, fed.stream.name, partitionOf(event));
		if ((newest?.place?.position ?? 0) < event.position) await this.#noteNow(fed);
	}

	#noteLater(): void {
		if (this.#noteTimer !== undefined) return;
		this.#noteTimer = setTimeout(() => {
			this.#noteTimer = undefined;
			// The next event brings the next note.
			this.#note().catch(() => undefined);
		}, NOTE_AFTER_MS);
		this.#noteTimer.unref();
	}

	async #note(): Promise<void> {
		const fed = this.#fed;
		if (fed !== undefined && !fed.session.ended.aborted) await this.#noteNow(fed);
	}

	/** One at a time: each replaces the one before. */
	#noteNow(fed: Fed): Promise<void> {
		const noted = this.#noting.then(() => this.#writeNote(fed));
		this.#noting = noted.catch(() => undefined);
		return noted;
	}

	async #writeNote(fed: Fed): Promise<void> {
		const { owner } = this.#settings;
		const { position } = fed;
		const newest = await this.#newestIn(fed.session, fed.stream.name, '*');
		fed.newest = newest?.sequence ?? fed.newest;
		const value: OwnerPlace = { position, sequence: fed.newest };
		const revision = await this.#places.replace(fed.session, this.#placeName, value, fed.place?.revision ?? 0);
		if (revision === undefined) {
			throw new SpockError('UNAVAILABLE', `how far ${owner} has fed the stream ${this.#stream} was noted elsewhere`);
		}
		fed.place = { value, revision };
	}

	get #placeName(): string {
		return `owner.${tokenOf(this.#stream)}.${this.#settings.owner}`;
	}
}

function refusal({ err_code, description }: ApiError, { position }: LogEvent): SpockError {
	const code = TOO_LARGE.includes(err_code) ? 'FRAME_TOO_LARGE' : 'UNAVAILABLE';
	return new SpockError(code, `the NATS server refused the event at ${position}: ${description}`, {
		details: { errCode: err_code },
	});
}

function* map<In, Out>(all: Iterable<In>, change: (each: In) => Out): Iterator<Out> {
	for (const each of all) yield change(each);
}
