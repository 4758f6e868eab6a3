import type { Consumer, ConsumerSink, Delivery } from '@spock/events';
import { frameTooLargeError, SpockError } from '@spock/protocol';

import type { EventLine } from '../connection/event-session.ts';
import { consumerClosedLine, deliverLines } from './event-lines.ts';

/** A consumer of one connection. What comes before its client knows its number waits for `flush`; its credit bounds that. */
export class ConsumerLine implements ConsumerSink {
	/** Undefined until it is open. */
	consumer: Consumer | undefined;
	readonly #line: EventLine;
	readonly #number: number;
	readonly #ended: () => void;
	#waiting: Delivery[] | undefined = [];
	/** Of what waits. */
	#rewinds = 0;
	#error: SpockError | undefined;

	/** `ended` is called once, whatever ends it. */
	constructor(line: EventLine, number: number, ended: () => void) {
		this.#line = line;
		this.#number = number;
		this.#ended = ended;
	}

	opened(consumer: Consumer): void {
		this.consumer = consumer;
	}

	/** Sends what has come, and what comes from now on at once. */
	flush(): void {
		const waiting = this.#waiting ?? [];
		this.#waiting = undefined;
		this.deliver(waiting, this.#rewinds);
		if (this.#error !== undefined) this.#close(this.#error);
	}

	deliver(events: readonly Delivery[], rewinds: number): void {
		if (this.#waiting !== undefined) {
			// What came before a rewind counts no more.
			if (rewinds !== this.#rewinds) this.#waiting = [];
			this.#rewinds = rewinds;
			this.#waiting.push(...events);
			return;
		}
		const { frameBytesMax } = this.#line;
		const { lines, oversize } = deliverLines({ consumer: this.#number, rewinds }, events, frameBytesMax);
		for (const line of lines) this.#line.send(line);
		if (oversize === undefined) return;
		const { delivery, frameBytes } = oversize;
		// It would come again and again: the client must say in hello that it reads longer frames, or skip it.
		const { position } = delivery.event;
		const error = frameTooLargeError(`the event at position ${position}`, frameBytes, frameBytesMax);
		this.#close(new SpockError('FRAME_TOO_LARGE', error.message, { details: { ...error.details, position } }));
	}

	closed(error: SpockError): void {
		if (this.#waiting === undefined) this.#close(error);
		else this.#error ??= error;
	}

	/** By its client; `handed` as in `closeConsumer`. Idempotent. */
	close(handed?: readonly number[]): void {
		const { consumer } = this;
		if (consumer === undefined) return;
		this.consumer = undefined;
		consumer.close(handed);
		this.#ended();
	}

	#close(error: SpockError): void {
		if (this.consumer === undefined) return;
		this.close();
		this.#line.send(consumerClosedLine(this.#number, error, this.#line.frameBytesMax));
	}
}
