import type { Consumer, ConsumerSink, Intake, LogEvent, OpenedProducer, ProducerLine, Uplink } from '@spock/events';
import {
	type AckedData,
	type DeleteGroupData,
	EVENT_BYTES_MAX,
	type EventsStatus,
	encodeEvent,
	isStreamName,
	type OpenConsumerData,
	type OpenProducerData,
	type PublishData,
	type PublishReply,
	type RefusedEvent,
	type RewindGroupData,
	type RewindGroupReply,
	SpockError,
	type UplinkFrame,
} from '@spock/protocol';

import type { GuestService } from '../src/events/event-guest.ts';

/** What outlives a sidecar. */
export interface Disk {
	readonly events: LogEvent[];
	/** The last epoch of each producer, and its last seq there. */
	readonly producers: Map<string, { epoch: number; seq: number }>;
}

interface Producer {
	readonly name: string;
	readonly epoch: number;
	line: ProducerLine | undefined;
	bytes: number;
	persisted: number;
	refused: RefusedEvent[];
	readonly intakes: Set<Intake>;
}

const WINDOW = { bytes: 131_072, events: 4096 };

/** The service of events without a disk: what is appended is persisted in the next turn of the event loop, unless `isStalled`. */
export class MemoryEvents implements GuestService {
	readonly disk: Disk;
	readonly told: string[] = [];
	isStalled = false;
	/** Above 0: each frame is read so much later than the last one. */
	readDelayMs = 0;
	/** Set: `open` fails with it. */
	failure: Error | undefined;
	readonly #producers = new Map<string, Producer>();
	readonly #tickets = new Map<string, Producer>();
	readonly #consumers = new Set<() => void>();
	readonly #waiting: (() => void)[] = [];
	#isOpen = false;
	#isDue = false;
	#nextTicket = 1;

	constructor(disk: Disk = { events: [], producers: new Map() }) {
		this.disk = disk;
	}

	async readAhead(): Promise<void> {
		this.told.push('read ahead');
	}

	async open(takeOver: boolean): Promise<void> {
		this.told.push(`open ${takeOver}`);
		await Promise.resolve();
		if (this.failure !== undefined) throw this.failure;
		this.#isOpen = true;
	}

	retire(): void {
		this.told.push('retire');
	}

	openProducer({ producer: name, epoch }: OpenProducerData, line: ProducerLine): Promise<OpenedProducer> {
		this.#requireOpen();
		const known = this.disk.producers.get(name);
		const current = { epoch: epoch ?? (known?.epoch ?? 0) + 1, seq: epoch === undefined ? 0 : (known?.seq ?? 0) };
		this.disk.producers.set(name, current);
		const earlier = this.#producers.get(name);
		const producer: Producer =
			earlier?.epoch === current.epoch
				? earlier
				: {
						name,
						epoch: current.epoch,
						line,
						bytes: 0,
						persisted: current.seq,
						refused: [],
						intakes: new Set(),
					};
		producer.line = line;
		this.#producers.set(name, producer);
		const ticket = `ticket-${this.#nextTicket++}`;
		this.#tickets.set(ticket, producer);
		const reply = {
			producer: name,
			epoch: current.epoch,
			persisted: producer.persisted,
			stored: {},
			window: WINDOW,
			eventBytesMax: EVENT_BYTES_MAX,
			ticket,
		};
		const closed = (): void => {
			this.#tickets.delete(ticket);
			if (producer.line === line) producer.line = undefined;
		};
		return Promise.resolve({ reply, closed });
	}

	uplink(ticket: string, intake: Intake): Uplink | undefined {
		const producer = this.#tickets.get(ticket);
		if (producer === undefined) return undefined;
		this.#tickets.delete(ticket);
		producer.intakes.add(intake);
		return {
			frame: (frame) => {
				if (this.readDelayMs > 0) {
					intake.pause();
					setTimeout(() => intake.resume(), this.readDelayMs);
				}
				return this.#frame(producer, frame);
			},
			closed: () => {
				this.told.push(`uplink closed ${producer.name}`);
				producer.intakes.delete(intake);
			},
		};
	}

	publish({ until: _, ...event }: PublishData): Promise<PublishReply> {
		this.#requireOpen();
		if (!isStreamName(event.stream)) throw new TypeError('bad stream');
		const text = encodeEvent(event);
		const { position } = this.#append({ stream: event.stream, key: event.key, id: event.id, text }, '', 1, 1);
		this.#commitSoon();
		return new Promise((resolve) => {
			this.#waiting.push(() => resolve({ position, duplicate: false }));
		});
	}

	openConsumer({ stream, from, inFlightMax = 64 }: OpenConsumerData, sink: ConsumerSink): Promise<Consumer> {
		this.#requireOpen();
		const { events } = this.disk;
		let next = from === 'first' ? 0 : events.length;
		let n = 0;
		const out = new Map<number, LogEvent>();
		const feed = (): void => {
			while (next < events.length && out.size < inFlightMax) {
				const event = events[next++] as LogEvent;
				if (event.stream !== stream) continue;
				out.set(++n, event);
				sink.deliver([{ n, delivery: 1, event }], 0);
			}
		};
		const done = (numbers: readonly number[]): void => {
			for (const one of numbers) out.delete(one);
			feed();
		};
		this.#consumers.add(feed);
		const position = events[next]?.position ?? events.length + 1;
		feed();
		const told = (what: string, numbers: readonly number[], more: unknown): void =>
			void this.told.push(`${what} ${numbers} ${more}`);
		return Promise.resolve({
			position,
			ack: done,
			nack: (numbers, delayMs) => {
				told('nack', numbers, delayMs);
				for (const one of numbers) {
					const event = out.get(one);
					if (event === undefined) continue;
					out.delete(one);
					out.set(++n, event);
					sink.deliver([{ n, delivery: 2, event }], 0);
				}
			},
			term: (numbers, reason) => {
				told('term', numbers, reason);
				done(numbers);
			},
			extend: (numbers) => told('extend', numbers, ''),
			close: () => {
				this.told.push(`consumer closed ${stream}`);
				this.#consumers.delete(feed);
			},
		});
	}

	rewindGroup(_data: RewindGroupData): Promise<RewindGroupReply> {
		return Promise.reject(new SpockError('BAD_REQUEST', 'no such group'));
	}

	deleteGroup(_data: DeleteGroupData): Promise<void> {
		return Promise.reject(new SpockError('BAD_REQUEST', 'no such group'));
	}

	status(): EventsStatus {
		const counts = { bytes: 1, bytesMax: 2, next: 3, producers: 0, unstored: 0, oldestUnstoredMs: null, damaged: 0 };
		const more = { windowBytes: 0, idsForgotten: 0 };
		return { state: 'receiving', reason: null, directory: '/memory', ...counts, ...more, streams: [], groups: [] };
	}

	handOver(): Promise<void> {
		this.told.push('hand over');
		this.#isOpen = false;
		return Promise.resolve();
	}

	close(drainMs: number): Promise<void> {
		this.told.push(`close ${drainMs}`);
		this.#isOpen = false;
		return Promise.resolve();
	}

	/** Everything that was appended is persisted. */
	commit(): void {
		this.#isDue = false;
		for (const producer of this.#producers.values()) {
			const { name, epoch, refused } = producer;
			const persisted = this.disk.producers.get(name)?.seq ?? 0;
			if (persisted === producer.persisted && refused.length === 0) continue;
			producer.persisted = persisted;
			producer.bytes = 0;
			producer.refused = [];
			const acked: AckedData = { producer: name, epoch, persisted, ...(refused.length > 0 && { refused }) };
			producer.line?.acked(acked);
			for (const intake of producer.intakes) intake.resume();
		}
		for (const settle of this.#waiting.splice(0)) settle();
		for (const feed of this.#consumers) feed();
	}

	#frame(producer: Producer, frame: UplinkFrame): 'go on' | 'close' {
		const known = this.disk.producers.get(producer.name);
		if (frame.kind === 'fault' || known?.epoch !== producer.epoch) return 'close';
		if (frame.seq <= known.seq) return 'go on';
		if (frame.seq > known.seq + 1) return 'close';
		known.seq = frame.seq;
		if (frame.kind === 'refused') producer.refused.push(frame);
		else {
			this.#append(frame, producer.name, producer.epoch, frame.seq);
			producer.bytes += frame.text.length;
			if (producer.bytes > WINDOW.bytes) for (const intake of producer.intakes) intake.pause();
		}
		this.#commitSoon();
		return 'go on';
	}

	#append(
		{ stream, key, id, text }: Pick<LogEvent, 'stream' | 'key' | 'id' | 'text'>,
		producer: string,
		epoch: number,
		seq: number,
	): LogEvent {
		const position = this.disk.events.length + 1;
		const event: LogEvent = { kind: 'event', stream, key, id, text, producer, epoch, seq, position, time: position };
		this.disk.events.push(event);
		return event;
	}

	#commitSoon(): void {
		if (this.isStalled || this.#isDue) return;
		this.#isDue = true;
		setImmediate(() => this.commit());
	}

	#requireOpen(): void {
		if (!this.#isOpen) throw new SpockError('UNAVAILABLE', 'the log is closed');
	}
}
