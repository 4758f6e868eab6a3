import type { Push } from '@spock/protocol';
import type { Extensible } from '../../connection/extension.ts';
import { EXTEND } from '../../connection/extension.ts';
import type { Session } from '../../connection/session.ts';
import { closedError } from '../../foundation/errors.ts';
import { Producer } from './producer.ts';
import { resolveProducerOptions } from './producer-options.ts';
import { Relay, type RelayPort } from './relay.ts';
import type { ResolvedRelayOptions } from './relay-options.ts';

/** The relays of a client, each with a producer of its own, and their end. */
export class Relays {
	readonly #extensible: Extensible;
	readonly #running = new Map<Relay, Producer>();

	constructor(extensible: Extensible) {
		this.#extensible = extensible;
	}

	/** Resolves at the end of the relay. */
	run(options: ResolvedRelayOptions, encode: RelayPort['encode']): Promise<void> {
		const extension = this.#extensible[EXTEND]((host) => {
			let producer: Producer | undefined;
			const relay = new Relay(options, {
				clock: host.options.clock,
				unref: host.options.unref,
				encode,
				open: (watcher) => {
					producer = new Producer(host, resolveProducerOptions({ producer: options.producer }), watcher);
					return producer;
				},
				end: async (isWhole) => {
					try {
						await (isWhole ? producer?.drain() : producer?.close());
					} finally {
						this.#running.delete(relay);
						host.leave();
					}
				},
			});
			const sending = producer as unknown as Producer;
			this.#running.set(relay, sending);
			return {
				relay,
				adopted: (session: Session) => sending.adopted(session),
				lost: () => sending.lost(),
				push: (session: Session, push: Push) => sending.push(session, push),
				drain: () => relay.stop(),
				close: () => sending.close(),
			};
		});
		if (extension === undefined) throw closedError();
		return extension.relay.done;
	}

	/** None reads any more; resolves when what they have sent is persisted, or given up. */
	async drain(): Promise<void> {
		await Promise.all([...this.#running.keys()].map((relay) => relay.stop()));
	}

	/** Ends them at once. */
	async close(): Promise<void> {
		await Promise.all([...this.#running].map(([relay, producer]) => Promise.all([producer.close(), relay.stop()])));
	}
}
