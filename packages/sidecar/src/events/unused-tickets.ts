import type { OpenedProducer } from '@spock/events';
import type { Clock, TimerHandle } from '@spock/protocol/internal';

/**
 * How long a ticket outlives its call line. An app that is killed leaves both of its connections at once, and the end of the one may be
 * seen before the events on the other.
 */
export const TICKET_LINGER_MS = 5000;
/** Tickets that do, of all producers; the oldest makes room. */
const LINGERING_MAX = 4096;

/** When a producer's call line counts as ended: at its end if its ticket was used by then, else some time later. */
export class UnusedTickets {
	readonly #clock: Clock;
	readonly #unused = new Set<string>();
	readonly #lingering = new Map<string, { readonly producer: OpenedProducer; readonly timer: TimerHandle }>();

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/** A ticket was given. */
	given({ reply }: OpenedProducer): void {
		this.#unused.add(reply.ticket);
	}

	used(ticket: string): void {
		this.#unused.delete(ticket);
		this.#end(ticket);
	}

	/** Its client has opened it again, and been given another. */
	replaced(producer: OpenedProducer): void {
		this.#unused.delete(producer.reply.ticket);
		producer.closed();
	}

	lineEnded(producer: OpenedProducer): void {
		const { ticket } = producer.reply;
		if (!this.#unused.delete(ticket)) {
			producer.closed();
			return;
		}
		const [oldest] = this.#lingering.size >= LINGERING_MAX ? this.#lingering.keys() : [];
		if (oldest !== undefined) this.#end(oldest);
		const timer = this.#clock.setTimeout(() => this.#end(ticket), TICKET_LINGER_MS);
		timer.unref?.();
		this.#lingering.set(ticket, { producer, timer });
	}

	close(): void {
		for (const ticket of [...this.#lingering.keys()]) this.#end(ticket);
	}

	#end(ticket: string): void {
		const lingering = this.#lingering.get(ticket);
		if (lingering === undefined) return;
		this.#lingering.delete(ticket);
		this.#clock.clearTimeout(lingering.timer);
		lingering.producer.closed();
	}
}
