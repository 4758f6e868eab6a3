import { type DeliveredEvent, type EventData, type FuncName, type NoticeName, SpockError } from '@spock/protocol';
import { FakeClock, settle } from '@spock/testkit';

import type { RetryOptions } from '../../src/connection/retry-schedule.ts';
import { Consumers } from '../../src/events/consume/consumers.ts';
import type { DownlinkPort, EventConnection, EventLine, EventLineListener } from '../../src/events/consume/downlink.ts';
import type { EventIterator } from '../../src/events/consume/event-iterator.ts';
import type { EventShapes } from '../../src/events/consume/event-shapes.ts';
import type { ReceivedEvent } from '../../src/events/consume/received-event.ts';

/** One call of a consumer, to be answered by the test. */
export interface FakeCall {
	readonly func: FuncName;
	readonly data: unknown;
	resolve(reply: unknown): void;
	reject(error: SpockError): void;
}

/** One notice, as it was sent. */
export interface FakeNotice {
	readonly func: NoticeName;
	readonly data: { readonly consumer: number; readonly n: readonly number[] };
}

/** One connection, scripted by a test. */
export class FakeLine implements EventLine {
	readonly calls: FakeCall[] = [];
	readonly notices: FakeNotice[] = [];
	/** What calls and notices were made, in order. */
	readonly log: string[] = [];
	/** False: the test answers calls by hand. */
	answers = true;
	readonly #listener: EventLineListener;
	#consumers = 0;

	constructor(listener: EventLineListener) {
		this.#listener = listener;
	}

	call(func: FuncName, data: unknown, resolve: (reply: unknown) => void, reject: (error: SpockError) => void): void {
		this.calls.push({ func, data, resolve, reject });
		this.log.push(func);
		if (!this.answers) return;
		resolve(func === 'openConsumer' ? { consumer: ++this.#consumers, position: 1 } : null);
	}

	notify(func: NoticeName, data: unknown): void {
		this.notices.push({ func, data: data as FakeNotice['data'] });
		this.log.push(func);
	}

	push(event: string, data: unknown): void {
		this.#listener.push(this, { kind: 'push', event, data });
	}

	deliver(...events: readonly DeliveredEvent[]): void {
		this.push('deliver', { consumer: 1, events });
	}

	/** After so many rewinds of its group. */
	deliverAfter(rewinds: number, ...events: readonly DeliveredEvent[]): void {
		this.push('deliver', { consumer: 1, rewinds, events });
	}

	/** Of one kind of notice: which deliveries, in the order of the notices. */
	told(func: NoticeName): number[] {
		return this.notices.filter((notice) => notice.func === func).flatMap(({ data }) => data.n);
	}
}

/** The way to a sidecar, scripted by a test: connections that come and go. */
export class FakeDownlink implements DownlinkPort {
	readonly faults: string[] = [];
	readonly lines: FakeLine[] = [];
	/** Connections that were opened, and how each was ended. */
	readonly ends: ('open' | 'drain' | 'close')[] = [];
	#listener: EventLineListener | undefined;

	open(listener: EventLineListener): EventConnection {
		this.#listener = listener;
		const number = this.ends.push('open') - 1;
		const end = (how: 'drain' | 'close') => (): Promise<void> => {
			this.ends[number] = how;
			if (this.#listener === listener) this.#listener = undefined;
			return Promise.resolve();
		};
		return { drain: end('drain'), close: end('close') };
	}

	fault(message: string): void {
		this.faults.push(message);
	}

	/** The newest connection. */
	get line(): FakeLine {
		const line = this.lines.at(-1);
		if (line === undefined) throw new Error('there is no connection');
		return line;
	}

	/** A connection is made: the first, one after a loss, or one in the place of one that finishes. */
	connect({ answers = true }: { answers?: boolean } = {}): FakeLine {
		const listener = this.#listener;
		if (listener === undefined) throw new Error('no connection is wanted');
		const line = new FakeLine(listener);
		line.answers = answers;
		this.lines.push(line);
		listener.adopted(line);
		return line;
	}

	lose(): void {
		this.#listener?.lost();
	}

	refuse(error: SpockError): void {
		this.#listener?.refused(error);
	}
}

/** Consumers over a scripted downlink, with time that stands still. */
export function fakeConsumers(shapes: EventShapes = {}): {
	downlink: FakeDownlink;
	consumers: Consumers;
	clock: FakeClock;
} {
	const downlink = new FakeDownlink();
	const clock = new FakeClock();
	const options: RetryOptions = { clock, random: () => 0.5, retryDelayMsMin: 10, retryDelayMsMax: 1000, unref: false };
	return { downlink, clock, consumers: new Consumers(downlink, options, shapes) };
}

/** An event as it is delivered: `n` and `position` are the same unless it says otherwise. */
export function delivered(
	n: number,
	members: Partial<Omit<DeliveredEvent, 'event'>> & { readonly event?: Partial<EventData> } = {},
): DeliveredEvent {
	const { event, ...rest } = members;
	return {
		n,
		position: n,
		delivery: 1,
		time: 1000 + (rest.position ?? n),
		...rest,
		event: { stream: 'orders', payload: n, ...event },
	};
}

/** Lets promises and what is sent at the end of the tick happen. */
export const tick: () => Promise<void> = settle;

/** A failure of the sidecar. */
export function refusal(code: 'BAD_REQUEST' | 'ACL_DENIED' | 'UNKNOWN_FUNC' | 'UNAVAILABLE'): SpockError {
	return new SpockError(code, `a scripted ${code}`);
}

/** What {@link opened} gives. */
export interface OpenedConsumer extends ReturnType<typeof fakeConsumers> {
	readonly events: EventIterator<unknown>;
	readonly line: FakeLine;
	readonly first: ReceivedEvent;
}

/** The next event; throws at the end. */
export async function next<T>(events: EventIterator<T>): Promise<ReceivedEvent<T>> {
	const { value } = await events.next();
	if (value === undefined) throw new Error('the iteration has ended');
	return value;
}

/** A consumer that is open, with these events delivered. */
export async function opened(deliveries: readonly number[], options: object = {}): Promise<OpenedConsumer> {
	const fake = fakeConsumers();
	const events = fake.consumers.consume('orders', { group: 'billing', ...options });
	const first = events.next();
	const line = fake.downlink.connect();
	line.deliver(...deliveries.map((n) => delivered(n)));
	return { ...fake, events, line, first: (await first).value as ReceivedEvent };
}
