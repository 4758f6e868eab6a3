import type { CallOptions } from '@spock/protocol';
import { durationMsOption, knownMembers, oneOfOption, showAs, signalOption } from '@spock/protocol/internal';
import type { ExtensionHost } from '../connection/extension.ts';
import { throwIfAborted } from '../foundation/errors.ts';
import { eventEmittedChannel } from '../foundation/event-diagnostics.ts';
import type { ConsumeOptions, HandleOptions } from './consume/consume-options.ts';
import type { Consumers } from './consume/consumers.ts';
import { checkPayload, type EventSchema } from './consume/event-shapes.ts';
import type { EventHandler } from './consume/handler-pool.ts';
import type { ReceivedEvent } from './consume/received-event.ts';
import type {
	ConsumedStream,
	EventPayloadOf,
	EventSchemas,
	KnownEvents,
	RelayedEvent,
	StreamName,
} from './known-events.ts';
import { EMIT_OPTION_NAMES, type EmitOptions, encodeJson, encodeWhole, isBinary } from './produce/encode-event.ts';
import type { EventStream } from './produce/event-stream.ts';
import type { EncodedEvent, Patience, PublishLevel } from './produce/event-waits.ts';
import type { Producer } from './produce/producer.ts';
import type { ProducerStatus } from './produce/producer-status.ts';
import { type RelayOptions, resolveRelay } from './produce/relay-options.ts';
import type { Relays } from './produce/relays.ts';

const LEVELS: readonly PublishLevel[] = ['accepted', 'persisted', 'stored'];
const FLUSH_LEVELS = ['persisted', 'stored'] as const;
const CALL_OPTION_NAMES: readonly string[] = ['timeoutMs', 'signal'];
const FLUSH_OPTION_NAMES: readonly string[] = ['until', ...CALL_OPTION_NAMES];
const PUBLISH_OPTION_NAMES: readonly string[] = [...EMIT_OPTION_NAMES, ...FLUSH_OPTION_NAMES];

/** Options of `publish`. */
export interface PublishOptions extends EmitOptions, CallOptions {
	/**
	 * What to wait for. `accepted`: it is in the buffer of this process. `persisted` (default): it is on the sidecar's disk. `stored`: the
	 * store of its stream has it; one that it never takes rejects with its code, and is in the stream with `.refused` behind its name.
	 */
	readonly until?: PublishLevel;
}

/** Options of `flush`. */
export interface FlushOptions extends CallOptions {
	/** Default `persisted`. */
	readonly until?: 'persisted' | 'stored';
}

/**
 * Events of an app, made by `openEvents`. What is emitted is kept in this process until the sidecar has it on its disk, and sent
 * again, in order, over every new connection; nothing is ever dropped to make room.
 *
 * Wrong streams, payloads and options throw at the call: a TypeError or a RangeError that names them, BAD_VALUE for a payload that its
 * schema refuses, FRAME_TOO_LARGE, OVERLOADED, and CLOSED after `drain` or `close`.
 */
export class Events<Streams extends object = KnownEvents> implements AsyncDisposable {
	readonly #producer: Producer;
	readonly #consumers: Consumers;
	readonly #relays: Relays;
	readonly #host: ExtensionHost;
	readonly #schemas: Readonly<Record<string, EventSchema | undefined>>;

	/** Use `openEvents`. */
	constructor(
		host: ExtensionHost,
		producer: Producer,
		consumers: Consumers,
		relays: Relays,
		schemas: EventSchemas<Streams>,
	) {
		this.#host = host;
		this.#producer = producer;
		this.#consumers = consumers;
		this.#relays = relays;
		this.#schemas = { ...schemas };
	}

	/**
	 * Accepts an event, in this tick and without waiting. Order holds among the events of this producer. False when the buffer is over
	 * `highWaterBytes`: the event is accepted all the same; slow down, or `await room()`. Throws OVERLOADED, and accepts nothing, when the
	 * buffer is full. The payload is encoded at once; a Uint8Array travels as base64 and comes back as bytes.
	 */
	emit<Name extends StreamName<Streams>>(
		stream: Name,
		payload: EventPayloadOf<Streams, Name>,
		options?: EmitOptions,
	): boolean {
		const producer = this.#producer;
		producer.checkOpen();
		const to = producer.streams.of(stream);
		if (options !== undefined || this.#isSpecial(to, payload)) {
			const { body, bytes } = this.#encode(to, payload, options);
			return producer.buffer.emit(to, body, bytes);
		}
		const text = encodeJson(payload);
		// The head is ASCII, and the text of an event ends with one brace.
		const bytes = to.head.length + Buffer.byteLength(text) + 1;
		return producer.buffer.emit(to, `${to.lineHead}${text}}}\n`, bytes);
	}

	/**
	 * As `emit`, as soon as there is room, or before the next `emit`, and resolves when the event has come as far as `until` says. Rejects with the code of the
	 * sidecar where that refuses it; TIMEOUT at its deadline (`timeoutMs` of the client, by default) and ABORTED by its signal, whose
	 * details say how far it came: `reached` is null, `accepted`, `sent` or `persisted`. Such an event stays in the buffer and **is still
	 * sent**, unless `reached` is null: give an `id` where it may be published again. Where the sidecar takes no events, the deadline rejects
	 * with the reason, such as UNKNOWN_FUNC. CLOSED when this ends first.
	 */
	publish<Name extends StreamName<Streams>>(
		stream: Name,
		payload: EventPayloadOf<Streams, Name>,
		options: PublishOptions = {},
	): Promise<void> {
		knownMembers('option', options, PUBLISH_OPTION_NAMES);
		const { until = 'persisted', timeoutMs, signal, ...rest } = options;
		oneOfOption('until', until, LEVELS);
		const patience = this.#patience({ timeoutMs, signal });
		const event = this.#encode(this.#producer.streams.of(stream), payload, rest);
		return this.#unlessAborted('publish', patience, () => this.#producer.buffer.publish(event, until, patience));
	}

	/** Resolves when the buffer is not over `highWaterBytes`. Rejects with TIMEOUT, ABORTED, OVERLOADED or CLOSED. */
	room(options: CallOptions = {}): Promise<void> {
		knownMembers('option', options, CALL_OPTION_NAMES);
		const patience = this.#patience(options);
		return this.#unlessAborted('room', patience, () => this.#producer.buffer.room(patience));
	}

	/**
	 * Resolves when every event that was accepted so far is persisted, or stored; those that were refused do not count. Rejects with
	 * TIMEOUT or ABORTED, whose details are `accepted` and `persisted`, counts of events, and `stored` by stream; OVERLOADED; or CLOSED.
	 */
	flush(options: FlushOptions = {}): Promise<void> {
		knownMembers('option', options, FLUSH_OPTION_NAMES);
		const { until = 'persisted', ...rest } = options;
		oneOfOption('until', until, FLUSH_LEVELS);
		const patience = this.#patience(rest);
		return this.#unlessAborted('flush', patience, () => this.#producer.buffer.flush(until, patience));
	}

	/**
	 * The events of a stream, one after the other, each until it is acked: an event that is not comes again, so each is seen at least
	 * once. Survives the loss of the connection and a restart of the sidecar. Leaving the loop gives back what is not acked. Ends by the
	 * signal, and with this or its client; rejects with BAD_REQUEST, ACL_DENIED, or UNKNOWN_FUNC of a sidecar without events. Throws for
	 * a wrong option.
	 */
	consume<Name extends StreamName<Streams>>(
		stream: ConsumedStream<Name>,
		options: ConsumeOptions = {},
	): AsyncIterableIterator<ReceivedEvent<EventPayloadOf<Streams, Name>>, undefined> {
		return this.#consumers.consume(stream, options);
	}

	/**
	 * Calls a function for each event of a stream, at most `concurrency` at once. When it has returned, or its promise has resolved, the
	 * event is acked; when it fails, the event comes again later, and after the last of its `attempts` it goes to `<stream>.dead` with
	 * the error as the reason. While it runs, or waits for its turn, its time is extended. Resolves when it was stopped, by the signal or
	 * with this or its client, and the last handler has ended; a `close` does not wait for handlers, and aborts their signals. Rejects as
	 * `consume` does, and with CLOSED after the end. Throws for a wrong option.
	 */
	handle<Name extends StreamName<Streams>>(
		stream: ConsumedStream<Name>,
		options: HandleOptions,
		handler: EventHandler<EventPayloadOf<Streams, Name>>,
	): Promise<void> {
		return this.#consumers.handle(stream, options, handler);
	}

	/**
	 * Brings the events of an outbox, such as a table that is written in the transactions of an app, to their streams, in the order of
	 * the outbox. The sidecar remembers the last of them: a relay that begins again, also after a kill of the app, goes on behind it, so
	 * that with one sidecar each event is there once. With another sidecar, as in another pod, what `relayed` was not called for may come
	 * again, with the same id. Resolves when it was stopped, by the signal or by `drain` of this or its client. Rejects with what `read` or
	 * `relayed` reject with; with the error of an event that is refused, which is read again the next time; BAD_REQUEST when another
	 * process has begun to use the producer; UNKNOWN_FUNC where the sidecar takes no events; CLOSED when it is cut short. Throws for a
	 * wrong option.
	 */
	relay(options: RelayOptions<RelayedEvent<Streams>>): Promise<void> {
		const resolved = resolveRelay(options);
		this.#producer.checkOpen();
		return this.#relays.run(resolved, (stream, { stream: _, payload, ...rest }) => {
			if (Object.hasOwn(this.#schemas, stream.name)) this.#check(stream.name, payload);
			return encodeWhole(resolved.producer, stream, payload, rest);
		});
	}

	/** What this producer knows of itself. No I/O. */
	status(): ProducerStatus {
		return this.#producer.status();
	}

	/**
	 * Consumers take no more events; what the app has of theirs is awaited first, so that handlers may still emit. Then this accepts no
	 * more events, and resolves when all that were accepted are persisted, and every caller of `publish` has its answer.
	 * Rejects with TIMEOUT after `drainTimeoutMs`, whose details say how far it came: the rest is given up. `diplomat.drain()` does this
	 * first. Idempotent.
	 */
	async drain(): Promise<void> {
		try {
			const isConsuming = this.#consumers.count > 0;
			const consumed = this.#consumers.drain();
			// Without consumers nothing is accepted from this tick on.
			if (isConsuming) await consumed;
			await Promise.all([this.#producer.drain(), this.#relays.drain()]);
			await consumed;
		} finally {
			this.#host.leave();
		}
	}

	/** Rejects every call with CLOSED, gives up what is not persisted, and ends. Idempotent; also cuts a drain short, which then rejects. */
	async close(): Promise<void> {
		await Promise.all([this.#consumers.close(), this.#producer.close(), this.#relays.close()]);
		this.#host.leave();
	}

	/** As `drain`. */
	[Symbol.asyncDispose](): Promise<void> {
		return this.drain();
	}

	/** True for what the short way of `emit` does not do. */
	#isSpecial({ name }: EventStream, payload: unknown): boolean {
		return isBinary(payload) || eventEmittedChannel.hasSubscribers || Object.hasOwn(this.#schemas, name);
	}

	#encode(stream: EventStream, payload: unknown, options: EmitOptions | undefined): EncodedEvent {
		if (Object.hasOwn(this.#schemas, stream.name)) this.#check(stream.name, payload);
		return encodeWhole(this.#producer.options.producer, stream, payload, options);
	}

	/** What is sent is the payload as it was given. */
	#check(stream: string, payload: unknown): void {
		const schema = this.#schemas[stream];
		if (schema !== undefined) checkPayload(stream, schema, payload);
	}

	#patience({ timeoutMs = this.#host.options.timeoutMs, signal }: CallOptions): Patience {
		return { timeoutMs: durationMsOption('timeoutMs', timeoutMs), signal: signalOption('signal', signal) };
	}

	async #unlessAborted(what: string, { signal }: Patience, call: () => Promise<void>): Promise<void> {
		throwIfAborted(signal, what);
		this.#producer.checkOpen();
		await call();
	}
}

showAs(Events, 'Events', (events) => events.status());
