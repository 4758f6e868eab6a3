import type { EventService, OpenedProducer, ProducerLine, Uplink } from '@spock/events';
import {
	type CloseConsumerData,
	type DeleteGroupData,
	type Notice,
	type OpenConsumerData,
	type OpenConsumerReply,
	type OpenProducerData,
	type OpenProducerReply,
	type PublishData,
	type PublishReply,
	type RewindGroupData,
	type RewindGroupReply,
	readUplinkFrame,
	SpockError,
	validateAck,
	validateNack,
	validateTerm,
	validateUplink,
} from '@spock/protocol';

import type { EventLine, EventSession, UplinkSession } from '../connection/event-session.ts';
import { ConsumerLine } from './consumer-line.ts';
import { ackedLines, windowLine } from './event-lines.ts';
import type { UnusedTickets } from './unused-tickets.ts';

/** Producers of one connection, and consumers: what one costs is bounded by its window or its credit. */
export const PRODUCERS_PER_CONNECTION_MAX = 64;
export const CONSUMERS_PER_CONNECTION_MAX = 64;

/** The part of the service that connections use. */
export type ServedEvents = Pick<
	EventService,
	'openProducer' | 'uplink' | 'publish' | 'openConsumer' | 'rewindGroup' | 'deleteGroup'
>;

/** What the events of all connections share. */
export interface ConnectionEventsContext {
	/** The service; a promise of it while it is being opened. Throws or rejects with UNAVAILABLE, and why. */
	service(): ServedEvents | Promise<ServedEvents>;
	readonly tickets: UnusedTickets;
	/** Takes one of the consumers that there may be, of all connections; false if there are as many. */
	enterConsumer(): boolean;
	leaveConsumer(): void;
	/** Runs a callback when what is written now has left. */
	readonly defer: (callback: () => void) => void;
}

/** The events of one connection. */
export class ConnectionEvents implements EventSession {
	readonly #context: ConnectionEventsContext;
	readonly #line: EventLine;
	/** By name; undefined while one is being opened. */
	readonly #producers = new Map<string, OpenedProducer | undefined>();
	readonly #consumers = new Map<number, ConsumerLine>();
	#openingConsumers = 0;
	#lastConsumer = 0;
	#isClosed = false;

	constructor(context: ConnectionEventsContext, line: EventLine) {
		this.#context = context;
		this.#line = line;
	}

	openProducer(data: OpenProducerData): OpenProducerReply | Promise<OpenProducerReply> {
		const { producer } = data;
		const earlier = this.#producers.get(producer);
		if (!this.#producers.has(producer) && this.#producers.size >= PRODUCERS_PER_CONNECTION_MAX) {
			throw overloaded(`${PRODUCERS_PER_CONNECTION_MAX} producers are open on this connection, which is the limit`);
		}
		// Opened again by its client: the last one counts, and its ticket.
		if (earlier !== undefined) this.#context.tickets.replaced(earlier);
		this.#producers.set(producer, undefined);
		const note = (opened: OpenedProducer): OpenProducerReply => {
			if (this.#isClosed) {
				opened.closed();
				throw disconnected();
			}
			const another = this.#producers.get(producer);
			if (another !== undefined) this.#context.tickets.replaced(another);
			this.#context.tickets.given(opened);
			this.#producers.set(producer, opened);
			return opened.reply;
		};
		const forget = (error: unknown): never => {
			if (this.#producers.get(producer) === undefined) this.#producers.delete(producer);
			throw error;
		};
		try {
			const opened = then(this.#context.service(), (service) => service.openProducer(data, this.#producerLine()));
			return opened instanceof Promise ? opened.then(note).catch(forget) : note(opened);
		} catch (error) {
			return forget(error);
		}
	}

	async publish(data: PublishData, signal: AbortSignal): Promise<PublishReply> {
		return (await this.#context.service()).publish(data, signal);
	}

	async openConsumer(data: OpenConsumerData, signal: AbortSignal): Promise<OpenConsumerReply> {
		if (this.#consumers.size + this.#openingConsumers >= CONSUMERS_PER_CONNECTION_MAX) {
			throw overloaded(`${CONSUMERS_PER_CONNECTION_MAX} consumers are open on this connection, which is the limit`);
		}
		if (!this.#context.enterConsumer()) throw overloaded('too many consumers are open: close one, or retry later');
		const number = ++this.#lastConsumer;
		this.#openingConsumers++;
		const line = new ConsumerLine(this.#line, number, () => this.#leave(number));
		try {
			const consumer = await (await this.#context.service()).openConsumer(data, line);
			if (this.#isClosed || signal.aborted) {
				consumer.close();
				throw disconnected();
			}
			line.opened(consumer);
			this.#consumers.set(number, line);
			// The client must know its number first.
			this.#context.defer(() => line.flush());
			return { consumer: number, position: consumer.position };
		} catch (error) {
			this.#context.leaveConsumer();
			throw error;
		} finally {
			this.#openingConsumers--;
		}
	}

	closeConsumer({ consumer, handed }: CloseConsumerData): void {
		this.#consumers.get(consumer)?.close(handed);
	}

	async rewindGroup(data: RewindGroupData): Promise<RewindGroupReply> {
		return (await this.#context.service()).rewindGroup(data);
	}

	async deleteGroup(data: DeleteGroupData): Promise<void> {
		return (await this.#context.service()).deleteGroup(data);
	}

	notice({ func, data }: Notice): void {
		switch (func) {
			case 'ack': {
				const { consumer, n } = validateAck(data);
				this.#consumers.get(consumer)?.consumer?.ack(n);
				break;
			}
			case 'nack': {
				const { consumer, n, delayMs } = validateNack(data);
				this.#consumers.get(consumer)?.consumer?.nack(n, delayMs);
				break;
			}
			case 'term': {
				const { consumer, n, reason } = validateTerm(data);
				this.#consumers.get(consumer)?.consumer?.term(n, reason);
				break;
			}
			case 'extend': {
				const { consumer, n } = validateAck(data);
				this.#consumers.get(consumer)?.consumer?.extend(n);
				break;
			}
			default: {
				const message = `"${func}" is for an uplink: send the notice "uplink" with a ticket of openProducer first`;
				throw new SpockError('BAD_REQUEST', message, { details: { path: 'func' }, isStackless: true });
			}
		}
	}

	uplink(data: unknown): UplinkSession | undefined {
		const ticket = validateUplink(data);
		if (this.#producers.size + this.#consumers.size + this.#openingConsumers > 0) {
			// Nothing could be pushed here any more.
			const message = 'an uplink carries events alone: open another connection for it';
			throw new SpockError('BAD_REQUEST', message, { details: { path: 'ticket' }, isStackless: true });
		}
		const service = this.#context.service();
		if (service instanceof Promise) {
			// While the log is being opened there is no ticket that was given. Whether it can be opened is told to requests.
			service.catch(() => undefined);
			return undefined;
		}
		const intake = { pause: () => this.#line.hold(), resume: () => this.#line.release() };
		const uplink = service.uplink(ticket, intake);
		if (uplink === undefined) return undefined;
		this.#context.tickets.used(ticket);
		return new OneWayEvents(uplink);
	}

	closed(): void {
		this.#isClosed = true;
		for (const producer of this.#producers.values()) {
			if (producer !== undefined) this.#context.tickets.lineEnded(producer);
		}
		this.#producers.clear();
		for (const line of [...this.#consumers.values()]) line.close();
	}

	#leave(number: number): void {
		if (this.#consumers.delete(number)) this.#context.leaveConsumer();
	}

	#producerLine(): ProducerLine {
		const line = this.#line;
		const { id: connection, identity: client } = line;
		return {
			...(client !== undefined && { origin: { client, connection } }),
			acked: (data) => {
				for (const text of ackedLines(data, line.frameBytesMax)) line.send(text);
			},
			window: (data) => line.send(windowLine(data, line.frameBytesMax)),
		};
	}
}

/** Frames of an uplink, read as events. */
class OneWayEvents implements UplinkSession {
	readonly #uplink: Uplink;

	constructor(uplink: Uplink) {
		this.#uplink = uplink;
	}

	frame(text: string, bytes: number): 'go on' | 'close' {
		return this.#uplink.frame(readUplinkFrame(text, bytes));
	}

	closed(): void {
		this.#uplink.closed();
	}
}

/** What `use` makes of a value: at once where it is known, so that a reply stays ahead of the pushes that follow it. */
function then<A, B>(value: A | Promise<A>, use: (value: A) => B | Promise<B>): B | Promise<B> {
	return value instanceof Promise ? value.then(use) : use(value);
}

function overloaded(message: string): SpockError {
	return new SpockError('OVERLOADED', message, { isStackless: true });
}

/** Nobody waits for it any more. */
function disconnected(): SpockError {
	return new SpockError('UNAVAILABLE', 'the connection has ended', { isStackless: true });
}
