import { inNeutralContext, setImmediate } from '@spock/protocol/internal';

import type { EventLine } from './downlink.ts';
import type { Settlement } from './received-event.ts';

/** Most deliveries in one notice: the frame stays short for any sidecar. */
const NUMBERS_MAX = 512;

/** What is said of one consumer's deliveries on one connection: gathered for a tick, then one notice for all that is alike. */
export class ConsumerNotices {
	readonly #line: EventLine;
	readonly #consumer: number;
	#acks: number[] = [];
	#extensions = new Set<number>();
	readonly #nacks = new Map<number | undefined, number[]>();
	readonly #terms = new Map<string | undefined, number[]>();
	#isQueued = false;

	constructor(line: EventLine, consumer: number) {
		this.#line = line;
		this.#consumer = consumer;
	}

	settle(n: number, settlement: Settlement): void {
		this.#queue();
		switch (settlement.kind) {
			case 'ack':
				this.#acks.push(n);
				return;
			case 'nack':
				append(this.#nacks, settlement.delayMs, n);
				return;
			case 'term':
				append(this.#terms, settlement.reason, n);
		}
	}

	extend(n: number): void {
		this.#queue();
		this.#extensions.add(n);
	}

	/** Sends what was gathered, now. */
	flush(): void {
		this.#isQueued = false;
		const [acks, extensions] = [this.#acks, this.#extensions];
		this.#acks = [];
		this.#extensions = new Set();
		// Extensions first: one that followed its ack would be of an unknown delivery.
		this.#send('extend', [...extensions]);
		this.#send('ack', acks);
		for (const [delayMs, n] of this.#nacks) this.#send('nack', n, delayMs !== undefined && { delayMs });
		for (const [reason, n] of this.#terms) this.#send('term', n, reason !== undefined && { reason });
		this.#nacks.clear();
		this.#terms.clear();
	}

	#send(func: 'ack' | 'nack' | 'term' | 'extend', numbers: readonly number[], more: object | false = false): void {
		for (let from = 0; from < numbers.length; from += NUMBERS_MAX) {
			const n = numbers.slice(from, from + NUMBERS_MAX);
			this.#line.notify(func, { consumer: this.#consumer, n, ...more });
		}
	}

	#queue(): void {
		if (this.#isQueued) return;
		this.#isQueued = true;
		// Not a microtask: a loop over many events goes from one to the next by microtasks.
		inNeutralContext(() => setImmediate(this.#flushQueued));
	}

	readonly #flushQueued = (): void => {
		// It may have been sent meanwhile, because the consumer ends.
		if (this.#isQueued) this.flush();
	};
}

function append<K>(lists: Map<K, number[]>, key: K, n: number): void {
	const list = lists.get(key);
	if (list === undefined) lists.set(key, [n]);
	else list.push(n);
}
