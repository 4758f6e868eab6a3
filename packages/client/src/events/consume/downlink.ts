import {
	type CloseConsumerData,
	type ConsumerClosedData,
	type DeliverData,
	type DeliveredEvent,
	type FuncData,
	type FuncName,
	type NoticeName,
	type Push,
	SpockError,
} from '@spock/protocol';
import { isInteger, isObject } from '@spock/protocol/internal';

/** One greeted connection to the sidecar. */
export interface EventLine {
	/** Calls a function. One of the two is called, within the tick of the reply; after `lost` that does not matter any more. */
	call<F extends FuncName>(
		func: F,
		data: FuncData<F>,
		resolve: (reply: unknown) => void,
		reject: (error: SpockError) => void,
	): void;
	/** Sends what is never answered. Without effect on a connection that is gone. */
	notify(func: NoticeName, data: unknown): void;
}

/** Notified by a connection. */
export interface EventLineListener {
	/** New calls go to this one from now on. */
	adopted(line: EventLine): void;
	/** There is no connection; it is tried again, with the client's back-off. */
	lost(): void;
	push(line: EventLine, push: Push): void;
	/** It has ended by itself: the sidecar shares no protocol version with this client. */
	refused(error: SpockError): void;
}

/** A connection that comes back by itself until it is ended. */
export interface EventConnection {
	/** Ends when what was written has left and was answered. */
	drain(): Promise<unknown>;
	close(): Promise<unknown>;
}

/** How a downlink reaches the sidecar: what the core of the client provides. */
export interface DownlinkPort {
	/** Opens a further connection to the sidecar, as the client's own: same address, transport, token and back-off. */
	open(listener: EventLineListener): EventConnection;
	/** Reports what the protocol does not allow. */
	fault(message: string): void;
}

/** A consumer, as its downlink sees it. */
export interface DownlinkMember {
	adopted(line: EventLine): void;
	lost(): void;
	/** `rewinds`: how often its group was rewound by then. */
	deliver(events: readonly DeliveredEvent[], rewinds: number): void;
	/** The sidecar has closed it, or the connection is refused. */
	refused(error: SpockError): void;
}

/** The one further connection of all consumers of a client: opened with the first of them, ended with the last. */
export class Downlink implements EventLineListener {
	readonly #port: DownlinkPort;
	readonly #members = new Set<DownlinkMember>();
	/** By the numbers that the present connection has for them. */
	readonly #routes = new Map<number, DownlinkMember>();
	/** Those that the sidecar was asked to close. */
	readonly #closing = new Set<number>();
	#connection: EventConnection | undefined;
	#line: EventLine | undefined;
	/** The connection that was ended last. */
	#ending: Promise<unknown> = Promise.resolve();

	constructor(port: DownlinkPort) {
		this.#port = port;
	}

	/** A new consumer; it is notified of the connection, now or later. */
	join(member: DownlinkMember): void {
		this.#members.add(member);
		if (this.#connection === undefined) this.#open();
		else if (this.#line !== undefined) member.adopted(this.#line);
	}

	/** Its events come under this number from now on. */
	route(consumer: number, member: DownlinkMember): void {
		this.#routes.set(consumer, member);
	}

	/** Has the sidecar close a consumer, whose events are ignored from now on; `closed` is called when it has, or cannot. */
	closeConsumer(line: EventLine, data: CloseConsumerData, closed: () => void = ignore): void {
		const { consumer } = data;
		this.#routes.delete(consumer);
		if (line !== this.#line || this.#closing.has(consumer)) return;
		this.#closing.add(consumer);
		const gone = (): void => {
			if (line === this.#line) this.#closing.delete(consumer);
			closed();
		};
		line.call('closeConsumer', data, gone, gone);
	}

	/** A consumer has ended. */
	leave(member: DownlinkMember): void {
		if (!this.#members.delete(member) || this.#members.size > 0) return;
		this.#end((connection) => connection.drain());
	}

	/** Resolves when the connections that were ended are gone. */
	async ended(): Promise<void> {
		await this.#ending;
	}

	/** Ends the connection at once, when every consumer has ended. Resolves when its socket is gone, also that of an earlier one. */
	async close(): Promise<void> {
		this.#end((connection) => connection.close());
		await this.#ending;
	}

	adopted(line: EventLine): void {
		this.#forget();
		this.#line = line;
		for (const member of [...this.#members]) member.adopted(line);
	}

	lost(): void {
		this.#forget();
		for (const member of [...this.#members]) member.lost();
	}

	push(line: EventLine, { event, data }: Push): void {
		// What an earlier connection still sends is delivered again on this one.
		if (line !== this.#line || (event !== 'deliver' && event !== 'consumerClosed')) return;
		const { consumer } = isObject(data) ? data : {};
		if (!isInteger(consumer, 0)) this.#port.fault(`${event} without a consumer`);
		else if (event === 'deliver') this.#deliver(line, consumer, data as Partial<Record<keyof DeliverData, unknown>>);
		else this.#closed(consumer, data as ConsumerClosedData);
	}

	refused(error: SpockError): void {
		this.#forget();
		this.#connection = undefined;
		for (const member of [...this.#members]) member.refused(error);
	}

	/** There is no connection, or another one. */
	#forget(): void {
		this.#line = undefined;
		this.#routes.clear();
		this.#closing.clear();
	}

	#open(): void {
		let connection: EventConnection | undefined;
		// A connection may be there at once, and its events are of this one.
		const isCurrent = (): boolean => connection === undefined || connection === this.#connection;
		connection = this.#port.open({
			adopted: (line) => isCurrent() && this.adopted(line),
			lost: () => isCurrent() && this.lost(),
			push: (line, push) => isCurrent() && this.push(line, push),
			refused: (error) => isCurrent() && this.refused(error),
		});
		this.#connection = connection;
	}

	#end(how: (connection: EventConnection) => Promise<unknown>): void {
		const connection = this.#connection;
		this.#connection = undefined;
		this.#forget();
		if (connection !== undefined) this.#ending = Promise.all([this.#ending, how(connection)]);
	}

	#deliver(line: EventLine, consumer: number, data: Partial<Record<keyof DeliverData, unknown>>): void {
		const member = this.#routes.get(consumer);
		if (member === undefined) {
			// One that is being closed; or one that was opened after this client had given that up, and would keep its events from all.
			this.closeConsumer(line, { consumer, handed: [] });
			return;
		}
		const { events, rewinds } = data;
		const good = Array.isArray(events) ? events.filter(isDelivered) : [];
		if (!Array.isArray(events) || good.length < events.length) this.#port.fault('deliver with what is no event');
		member.deliver(good, isInteger(rewinds, 0) ? rewinds : 0);
	}

	#closed(consumer: number, { error }: ConsumerClosedData): void {
		const member = this.#routes.get(consumer);
		this.#routes.delete(consumer);
		member?.refused(SpockError.fromWire(error));
	}
}

function ignore(): void {
	// Nothing waits for a consumer that this process never used.
}

function isDelivered(value: unknown): value is DeliveredEvent {
	if (!isObject(value) || !isObject(value['event'])) return false;
	const { n, delivery, position, event } = value;
	const { stream, payload, encoding } = event as Record<string, unknown>;
	return (
		[n, delivery, position].every((one) => isInteger(one, 0)) &&
		typeof stream === 'string' &&
		(encoding === undefined || typeof payload === 'string')
	);
}
