import { type DeliveredEvent, SpockError } from '@spock/protocol';
import { type Clock, isInteger, isObject, step } from '@spock/protocol/internal';

import { type RetryOptions, RetrySchedule, whileRefused } from '../../connection/retry-schedule.ts';
import type { ResolvedConsume } from './consume-options.ts';
import { type ConsumerAction, type ConsumerEvent, type ConsumerState, consumerMachine } from './consumer-machine.ts';
import { ConsumerMemory } from './consumer-memory.ts';
import { ConsumerNotices } from './consumer-notices.ts';
import type { ConsumerReport } from './consumer-report.ts';
import { Deliveries } from './deliveries.ts';
import type { Downlink, DownlinkMember, EventLine } from './downlink.ts';
import { type EventPayload, type EventShapes, readPayload } from './event-shapes.ts';
import {
	ACK,
	type Delivery,
	type DeliveryHandle,
	type DeliveryOwner,
	ReceivedEvent,
	type Settlement,
	termination,
} from './received-event.ts';

/** One that was open for so long and is then closed by the sidecar is opened again without much delay, in milliseconds. */
const STABLE_MS = 5000;
/** Events that wait are extended when this part of their time has passed: an app may then take the rest of it for one event. */
const KEPT_WITHIN = 3;

/** What a consumer notifies. */
export interface ConsumerSink {
	/** There may be an event to take. */
	arrived(): void;
	/** An event comes again. True if the app works on it already, and this delivery has taken the place of the one that it came with. */
	takesOver(delivery: Delivery): boolean;
	/** It has ended: with an error that waiting cannot mend, or by the wish of this process. Called once. */
	ended(error: Error | undefined): void;
}

/** An event in the app's hands. */
export interface TakenEvent<T> {
	readonly event: ReceivedEvent<T>;
	readonly handle: DeliveryHandle;
}

/** What consumers need of their client. */
export interface ConsumerContext {
	readonly downlink: Downlink;
	readonly shapes: EventShapes;
	/** Clock and jitter. */
	readonly retry: RetryOptions;
}

/** Where it is open. */
interface Place {
	readonly line: EventLine;
	readonly consumer: number;
	readonly notices: ConsumerNotices;
}

/**
 * A consumer of one stream: opened again on every new connection, with the deliveries of the present one. Decisions are in
 * {@link consumerMachine}.
 */
export class Consumer<T> implements DownlinkMember, DeliveryOwner {
	readonly #asked: ResolvedConsume['open'];
	readonly #context: ConsumerContext;
	readonly #sink: ConsumerSink;
	readonly #clock: Clock;
	readonly #retry: RetrySchedule;
	readonly #memory: ConsumerMemory;
	readonly #deliveries: Deliveries;
	readonly #report: ConsumerReport;
	#state: ConsumerState = 'away';
	/** The connection on which it is open, or being opened. */
	#line: EventLine | undefined;
	#place: Place | undefined;
	/** Since when it has been open; Infinity once that has counted. */
	#openedAtMs = Number.POSITIVE_INFINITY;
	/** When those that wait were extended last, or came. */
	#extendedAtMs = 0;
	/** Why the sidecar refuses it. */
	#refusal: SpockError | undefined;
	/** What it ends with. */
	#failure: Error | undefined;

	readonly #actions: Readonly<Record<ConsumerAction, () => void>> = {
		open: () => this.#open(),
		serve: () => this.#retry.cancel(),
		'void deliveries': () => this.#voidDeliveries(),
		'drop waiting': () => this.#deliveries.dropWaiting(),
		'schedule retry': () => this.#scheduleRetry(),
		'cancel timer': () => this.#retry.cancel(),
		'ask to close': () => this.#askToClose(),
		fail: () => {
			this.#failure = this.#refusal;
		},
		end: () => this.#end(),
	};

	constructor(asked: ResolvedConsume['open'], context: ConsumerContext, report: ConsumerReport, sink: ConsumerSink) {
		this.#asked = asked;
		this.#context = context;
		this.#sink = sink;
		this.#clock = context.retry.clock;
		this.#retry = new RetrySchedule(whileRefused(context.retry), () => this.#dispatch('retry due'));
		this.#memory = new ConsumerMemory(asked);
		this.#deliveries = new Deliveries(asked.inFlightMax);
		this.#report = report;
	}

	/** Deliveries that wait to be taken, and those in the app's hands. */
	get waitingCount(): number {
		return this.#deliveries.waitingCount;
	}

	get outCount(): number {
		return this.#deliveries.outCount;
	}

	/** Opens it, now or when there is a connection. */
	start(): void {
		this.#context.downlink.join(this);
	}

	/**
	 * The next event, of those that the caller can use now. One that can never be handled, by its schema or its upgrade, is a dead
	 * letter and passed over. A schema that does not answer at once ends the consumer.
	 */
	take(isUsable: (event: DeliveredEvent) => boolean = anyOne): TakenEvent<T> | undefined {
		for (;;) {
			const delivery = this.#deliveries.take(isUsable);
			if (delivery === undefined) return undefined;
			const taken = this.#read(delivery);
			if (taken !== undefined) return taken;
		}
	}

	/** Stops to take events. Ends when those in the app's hands are settled. */
	drain(): void {
		this.#dispatch(this.outCount > 0 ? 'drain, some out' : 'drain, none out');
	}

	/** Ends when the sidecar has closed it; what is not settled is delivered again. */
	leave(): void {
		this.#dispatch('leave');
	}

	/** Ends at once. */
	close(): void {
		this.#dispatch('close');
	}

	/** Ends with this error, when the sidecar has closed it. */
	fail(error: Error): void {
		this.#failure ??= error;
		this.leave();
	}

	/** All deliveries get their whole time again. False if there are none. */
	extendAll(): boolean {
		return this.#extendEach(this.#deliveries.all());
	}

	/** The app goes on: those that it does not have yet get their time again before it has run out. */
	keepWaiting(): void {
		const nowMs = this.#clock.now();
		if (this.waitingCount === 0 || nowMs - this.#extendedAtMs < this.#asked.ackWaitMs / KEPT_WITHIN) return;
		this.#extendedAtMs = nowMs;
		this.#extendEach(this.#deliveries.waiting());
	}

	/** Of an event whose delivery is void, but which the app has done: it is acked when it comes again. */
	doneWithoutAck(delivery: Delivery): void {
		this.#memory.settled(delivery, ACK);
	}

	settle(delivery: Delivery, settlement: Settlement): boolean {
		const place = this.#place;
		if (place === undefined || !this.#deliveries.settle(delivery)) return false;
		const { delivered } = delivery;
		place.notices.settle(delivered.n, settlement);
		const isLast = this.#asked.attempts > 0 && delivered.delivery >= this.#asked.attempts;
		if (settlement.kind !== 'nack') this.#memory.settled(delivery, settlement);
		else if (isLast) this.#memory.passed(delivered);
		this.#report.settled(delivered, settlement);
		if (this.outCount === 0) this.#dispatch('last one settled');
		return true;
	}

	extend(delivery: Delivery): boolean {
		return delivery.state === 'out' && this.#extendEach([delivery]);
	}

	adopted(line: EventLine): void {
		this.#line = line;
		this.#dispatch('adopted');
	}

	lost(): void {
		this.#line = undefined;
		this.#dispatch('lost');
	}

	refused(error: SpockError): void {
		this.#refusal = error.code === 'UNKNOWN_FUNC' ? withoutEvents(error) : error;
		this.#dispatch(error.retryable ? 'refused' : 'refused for good');
	}

	deliver(events: readonly DeliveredEvent[], rewinds: number): void {
		// While it is being left, what still comes goes back with the rest.
		if (this.#state !== 'open') return;
		if (this.waitingCount === 0) this.#extendedAtMs = this.#clock.now();
		for (const delivered of events) this.#receive(delivered, rewinds);
		if (this.waitingCount > 0) this.#sink.arrived();
	}

	#receive(delivered: DeliveredEvent, rewinds: number): void {
		const { notices } = this.#place as Place;
		const delivery: Delivery = { delivered, rewinds, state: 'waiting' };
		this.#memory.delivered(delivered);
		const said = this.#memory.recall(delivery);
		if (said !== undefined) {
			notices.settle(delivered.n, said);
			this.#memory.settled(delivery, said);
			return;
		}
		this.#report.delivered(delivered);
		this.#deliveries.add(delivery);
		if (this.#sink.takesOver(delivery)) this.#deliveries.takeThis(delivery);
	}

	#read(delivery: Delivery): TakenEvent<T> | undefined {
		let payload: EventPayload;
		try {
			payload = readPayload(delivery.delivered.event, this.#context.shapes);
		} catch (error) {
			const cause = error as Error;
			if (SpockError.is(cause, 'BAD_VALUE')) this.settle(delivery, termination(cause.message));
			else this.fail(cause);
			return undefined;
		}
		const handle: DeliveryHandle = { delivery, isDecided: false };
		return { event: new ReceivedEvent<T>(handle, payload, this), handle };
	}

	#extendEach(deliveries: readonly Delivery[]): boolean {
		const place = this.#place;
		if (place === undefined || deliveries.length === 0) return false;
		for (const delivery of deliveries) {
			this.#deliveries.extend(delivery);
			place.notices.extend(delivery.delivered.n);
		}
		return true;
	}

	#dispatch(event: ConsumerEvent): void {
		const { state, actions } = step(consumerMachine, this.#state, event);
		this.#state = state;
		for (const action of actions) this.#actions[action]();
	}

	#open(): void {
		const line = this.#line;
		if (line === undefined) return;
		const position = this.#memory.place;
		// A reader goes on where it is; a group's place is the sidecar's.
		const data = position === undefined ? this.#asked : { ...this.#asked, from: { position } };
		const isCurrent = (): boolean => this.#line === line;
		line.call(
			'openConsumer',
			data,
			(reply) => isCurrent() && this.#opened(line, reply),
			(error) => isCurrent() && this.refused(error),
		);
	}

	#opened(line: EventLine, reply: unknown): void {
		const { consumer, position } = isObject(reply) ? reply : {};
		if (!isInteger(consumer, 0) || !isInteger(position, 0)) {
			// A baseline sidecar may answer what it does not know with nothing.
			this.refused(new SpockError('UNKNOWN_FUNC', 'the sidecar does not know openConsumer'));
			return;
		}
		if (this.#state !== 'opening' && this.#state !== 'abandoning') {
			this.#context.downlink.closeConsumer(line, { consumer, handed: [] });
			return;
		}
		this.#place = { line, consumer, notices: new ConsumerNotices(line, consumer) };
		this.#openedAtMs = this.#clock.now();
		this.#memory.opened(position);
		this.#context.downlink.route(consumer, this);
		this.#report.opened(position);
		this.#dispatch('opened');
	}

	#scheduleRetry(): void {
		this.#report.closed(this.#refusal, true);
		if (this.#clock.now() - this.#openedAtMs >= STABLE_MS) this.#retry.reset();
		this.#openedAtMs = Number.POSITIVE_INFINITY;
		this.#retry.schedule(this.#refusal);
	}

	#voidDeliveries(): void {
		this.#place = undefined;
		this.#deliveries.voidAll();
	}

	#askToClose(): void {
		const place = this.#place;
		if (place === undefined) return;
		this.#place = undefined;
		place.notices.flush();
		const close = { consumer: place.consumer, handed: this.#deliveries.handed() };
		this.#context.downlink.closeConsumer(place.line, close, () => this.#dispatch('gone'));
	}

	#end(): void {
		this.#report.closed(this.#failure, false);
		this.#context.downlink.leave(this);
		this.#sink.ended(this.#failure);
	}
}

function anyOne(): boolean {
	return true;
}

/** What to do about a sidecar that has no events. */
function withoutEvents(cause: SpockError): SpockError {
	const message = 'this sidecar takes no events; start it with --events DIR, or upgrade it';
	return new SpockError('UNKNOWN_FUNC', message, { cause, details: cause.details });
}
