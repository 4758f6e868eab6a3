import type { DeliveredEvent, FuncName, NoticeName, OpenConsumerData } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { DownlinkPort, EventConnection, EventLine, EventLineListener } from '../../src/events/consume/downlink.ts';

interface ModelEvent {
	readonly position: number;
	readonly key: string | undefined;
	deliveries: number;
	state: 'waiting' | 'out' | 'done' | 'dead';
}

interface Out {
	readonly event: ModelEvent;
	deadlineMs: number;
}

/** A line whose notices reach the model until it is cut. */
interface ModelLine extends EventLine {
	isCut: boolean;
}

/**
 * One group of one stream, as the design has it: credit, order by key, redelivery, dead letters, time to ack. Its connection is lost,
 * and it is killed, when a test says so; what it has heard by then it keeps, unless it is killed.
 */
export class ModelGroup implements DownlinkPort {
	readonly events: ModelEvent[] = [];
	readonly faults: string[] = [];
	/** Most that were out at once, and deliveries whose time ran out. */
	outMax = 0;
	expired = 0;
	isConnectionOpen = false;
	readonly #clock: Clock;
	readonly #out = new Map<number, Out>();
	#asked: OpenConsumerData = { stream: '' };
	#listener: EventLineListener | undefined;
	#line: ModelLine | undefined;
	#isOpen = false;
	#numbers = 0;
	/** Acked, and not yet stored: a sidecar that is killed forgets it. */
	#unstored: ModelEvent[] = [];

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	open(listener: EventLineListener): EventConnection {
		this.#listener = listener;
		this.isConnectionOpen = true;
		const end = (): Promise<void> => {
			this.#cut();
			this.#listener = undefined;
			this.isConnectionOpen = false;
			return Promise.resolve();
		};
		return { drain: end, close: end };
	}

	fault(message: string): void {
		this.faults.push(message);
	}

	get isConnected(): boolean {
		return this.#line !== undefined;
	}

	/** True when there is nothing left to do. */
	get isDone(): boolean {
		return this.events.every(({ state }) => state === 'done' || state === 'dead');
	}

	emit(key: string | undefined): void {
		this.events.push({ position: this.events.length * 3 + 1, key, deliveries: 0, state: 'waiting' });
		this.pump();
	}

	/** Makes a connection, also in the place of one that is there: a goaway. */
	connect(): void {
		const listener = this.#listener;
		if (listener === undefined) return;
		this.#cut();
		const line: ModelLine = {
			isCut: false,
			call: (func, data, resolve) => this.#call(line, func, data, resolve),
			notify: (func, data) => this.#notify(line, func, data as { n: number[] }),
		};
		this.#line = line;
		listener.adopted(line);
		this.pump();
	}

	lose(): void {
		if (this.#line === undefined) return;
		this.#cut();
		this.#listener?.lost();
	}

	/** What was not stored, and how often each was delivered, is forgotten. */
	kill(): void {
		for (const event of this.#unstored.splice(0)) event.state = 'waiting';
		for (const event of this.events) event.deliveries = 0;
		this.lose();
	}

	/** Stores what was acked. */
	store(): void {
		this.#unstored = [];
	}

	/** Delivers what may be delivered. */
	pump(): void {
		for (const [n, { event, deadlineMs }] of this.#out) {
			if (deadlineMs > this.#clock.now()) continue;
			this.expired++;
			this.#giveBack(n, event);
		}
		if (!this.#isOpen) return;
		const { inFlightMax = 64, order, ackWaitMs = 30_000 } = this.#asked;
		const deliveries: DeliveredEvent[] = [];
		for (const event of this.events) {
			if (this.#out.size >= inFlightMax) break;
			if (event.state !== 'waiting' || (order === 'key' && this.#isHeldBack(event))) continue;
			event.state = 'out';
			event.deliveries++;
			const n = ++this.#numbers;
			this.#out.set(n, { event, deadlineMs: this.#clock.now() + ackWaitMs });
			const { position, key, deliveries: delivery } = event;
			const data = { stream: 'orders', ...(key !== undefined && { key }), payload: position };
			deliveries.push({ n, delivery, position, time: position, event: data });
		}
		this.outMax = Math.max(this.outMax, this.#out.size);
		const line = this.#line as ModelLine;
		if (deliveries.length > 0) {
			this.#listener?.push(line, { kind: 'push', event: 'deliver', data: { consumer: 1, events: deliveries } });
		}
	}

	/** An earlier one of its key is not done. */
	#isHeldBack({ key, position }: ModelEvent): boolean {
		if (key === undefined) return false;
		return this.events.some(
			(other) => other.key === key && other.position < position && (other.state === 'waiting' || other.state === 'out'),
		);
	}

	#call(line: ModelLine, func: FuncName, data: unknown, resolve: (reply: unknown) => void): void {
		if (line.isCut) return;
		if (func === 'closeConsumer') {
			this.#isOpen = false;
			this.#giveAllBack();
			resolve(null);
			return;
		}
		this.#asked = data as OpenConsumerData;
		this.#isOpen = true;
		const left = this.events.find(({ state }) => state === 'waiting');
		resolve({ consumer: 1, position: left?.position ?? this.events.length * 3 + 1 });
	}

	#notify(line: ModelLine, func: NoticeName, { n: numbers }: { n: number[] }): void {
		if (line.isCut) return;
		for (const n of numbers) {
			const out = this.#out.get(n);
			if (out === undefined) continue;
			const { event } = out;
			if (func === 'extend') {
				out.deadlineMs = this.#clock.now() + (this.#asked.ackWaitMs ?? 30_000);
				continue;
			}
			this.#out.delete(n);
			const { attempts = 5 } = this.#asked;
			const isDead = func === 'term' || (func === 'nack' && attempts > 0 && event.deliveries >= attempts);
			if (func === 'ack') {
				event.state = 'done';
				this.#unstored.push(event);
			} else event.state = isDead ? 'dead' : 'waiting';
		}
	}

	#giveBack(n: number, event: ModelEvent): void {
		this.#out.delete(n);
		event.state = 'waiting';
	}

	#giveAllBack(): void {
		for (const [n, { event }] of this.#out) this.#giveBack(n, event);
	}

	#cut(): void {
		if (this.#line !== undefined) this.#line.isCut = true;
		this.#line = undefined;
		this.#isOpen = false;
		this.#giveAllBack();
	}
}
