import type { Duplex } from 'node:stream';

import {
	type EventWindow,
	encodeFailure,
	encodePayload,
	encodePush,
	encodeReply,
	FrameDecoder,
	type RefusedEvent,
	readUplinkFrame,
	type WireError,
} from '@spock/protocol';
import { wireError } from '@spock/testkit';

/** An event as it came on an uplink. */
export interface TakenEvent {
	readonly seq: number;
	readonly stream: string;
	readonly data: Readonly<Record<string, unknown>>;
}

/** A connection of a client. */
export interface ModelConnection {
	readonly stream: Duplex;
	/** What hello said. */
	hello: Readonly<Record<string, unknown>>;
	isUplink: boolean;
	/** Bytes that were written on it. */
	written: number;
	/** What came on it, besides events. */
	readonly funcs: string[];
}

interface ModelOptions {
	readonly window?: EventWindow;
	readonly eventBytesMax?: number;
	/** Whether every event is persisted, and its producer told, at once. Default true. */
	readonly acks?: boolean;
	/** Whether hello of a second connection is answered by `greetUplinks` alone. Default false. */
	readonly holdsUplinks?: boolean;
	/** What it says that it can do. Default: what a sidecar with events says. */
	readonly features?: readonly string[];
}

/** What a sidecar does with one producer: it takes events in order, knows duplicates, and says what is on its disk. */
export class ModelSidecar {
	window: EventWindow;
	eventBytesMax: number;
	acks: boolean;
	features: readonly string[];
	persisted = 0;
	readonly stored: Record<string, number> = {};
	readonly taken: TakenEvent[] = [];
	readonly connections: ModelConnection[] = [];
	/** Frames of events on all uplinks, with duplicates. */
	frames = 0;
	/** Uplinks that were closed because a seq was missing. */
	gaps = 0;
	openings = 0;
	/** Where the producer was opened last. */
	callLine: ModelConnection | undefined;
	producer = '';
	/** Members of the answer to `openProducer` that differ. */
	answer: Readonly<Record<string, unknown>> = {};
	/** Answers `openProducer` in the place of the built-in answer. */
	refuses: WireError | undefined;
	readonly #tickets = new Set<string>();
	readonly #holdsUplinks: boolean;
	#held: (() => void)[] = [];

	constructor({
		window = { bytes: 131_072, events: 4096 },
		eventBytesMax = 524_288,
		acks = true,
		holdsUplinks = false,
		features = ['push', 'goaway', 'events'],
	}: ModelOptions = {}) {
		this.window = window;
		this.eventBytesMax = eventBytesMax;
		this.acks = acks;
		this.#holdsUplinks = holdsUplinks;
		this.features = features;
	}

	get last(): number {
		return this.taken.length;
	}

	get payloads(): unknown[] {
		return this.taken.map(({ data }) => data['payload']);
	}

	get uplink(): ModelConnection | undefined {
		return this.connections.filter(({ isUplink }) => isUplink).at(-1);
	}

	/** Serves one stream. */
	accept(stream: Duplex): void {
		const connection: ModelConnection = { stream, hello: {}, isUplink: false, written: 0, funcs: [] };
		this.connections.push(connection);
		const decoder = new FrameDecoder({
			frame: (text) => this.#frame(connection, text),
			fault: (code) => {
				throw new Error(`a frame that is none: ${code}`);
			},
		});
		stream.on('data', (chunk: Buffer) => decoder.push(chunk));
		stream.on('error', () => undefined);
	}

	/** Drops every connection, as a crash does. */
	drop(): void {
		for (const { stream } of this.connections) stream.destroy();
	}

	/** Persists events, up to this one, and tells it. */
	persist(seq: number = this.last, refused?: readonly Omit<RefusedEvent, 'message'>[]): void {
		this.persisted = Math.max(this.persisted, Math.min(seq, this.last));
		const refusals = refused?.map((refusal) => ({ message: 'because', ...refusal }));
		this.tell('acked', { persisted: this.persisted, ...(refusals && { refused: refusals }) });
	}

	/** Stores what is persisted of a stream. */
	store(name: string): void {
		const stored = this.taken.filter(({ stream, seq }) => stream === name && seq <= this.persisted).at(-1);
		if (stored === undefined) return;
		this.stored[name] = stored.seq;
		this.tell('acked', { persisted: this.persisted, stored: { [name]: stored.seq } });
	}

	setWindow(bytes: number, reason?: string): void {
		this.window = { bytes, events: bytes === 0 ? 0 : 4096 };
		this.tell('eventWindow', { ...this.window, ...(reason && { reason }) });
	}

	/** Pushes to the producer. */
	tell(event: string, data: object): void {
		this.#write(this.callLine, encodePush(event, encodePayload({ producer: this.producer, epoch: 1, ...data })));
	}

	greetUplinks(): void {
		for (const greet of this.#held.splice(0)) greet();
	}

	goaway(): void {
		this.#write(this.callLine, encodePush('goaway', encodePayload({ reason: 'upgrade', graceMs: 1000 })));
	}

	#write(connection: ModelConnection | undefined, line: string): void {
		if (connection === undefined || connection.stream.destroyed) return;
		connection.written += line.length;
		connection.stream.write(line);
	}

	#frame(connection: ModelConnection, text: string): void {
		if (connection.isUplink) this.#event(connection, text);
		else this.#request(connection, JSON.parse(text));
	}

	#request(connection: ModelConnection, request: { id: number; func: string; data: Record<string, unknown> }): void {
		const { id, func, data } = request;
		connection.funcs.push(func);
		const reply = (value: unknown): void => this.#write(connection, encodeReply(id, encodePayload(value)));
		if (func === 'hello') {
			connection.hello = data;
			const greet = (): void => reply({ version: 1, sidecar: 'model/1', instance: 'one', features: this.features });
			// An uplink promises no sign of life.
			if (this.#holdsUplinks && data['heartbeatMs'] === undefined) this.#held.push(greet);
			else greet();
		} else if (func === 'openProducer') this.#open(connection, id, data['producer'] as string);
		else if (func === 'uplink') {
			connection.isUplink = this.#tickets.delete(data['ticket'] as string);
			if (!connection.isUplink) connection.stream.destroy();
		} else if (func === 'ping') reply(data);
		else this.#write(connection, encodeFailure(id, wireError('UNKNOWN_FUNC')));
	}

	#open(connection: ModelConnection, id: number, producer: string): void {
		if (this.refuses !== undefined) {
			this.#write(connection, encodeFailure(id, this.refuses));
			return;
		}
		this.producer = producer;
		this.callLine = connection;
		const ticket = `ticket-${++this.openings}`;
		this.#tickets.add(ticket);
		const { persisted, stored, window, eventBytesMax } = this;
		const answer = { producer, epoch: 1, persisted, stored, window, eventBytesMax, ticket, ...this.answer };
		this.#write(connection, encodeReply(id, encodePayload(answer)));
	}

	#event(connection: ModelConnection, text: string): void {
		const frame = readUplinkFrame(text);
		if (frame.kind !== 'event') throw new Error(`not an event: ${text}`);
		this.frames++;
		const { seq, stream } = frame;
		if (seq <= this.last) return;
		if (seq > this.last + 1) {
			this.gaps++;
			connection.stream.destroy();
			return;
		}
		this.taken.push({ seq, stream, data: JSON.parse(frame.text) });
		if (this.acks) this.persist();
	}
}
