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
	readonly #running = new Set<Relay>();

	constructor(extensible: Extensible) {
		this.#extensible = extensible;
	}

	/** Resolves at the end of the relay. */
	run(options: ResolvedRelayOptions, encode: RelayPort['encode']): Promise<void> {
		const extension = this.#extensible[EXTEND]((host) => {
			const relay: Relay = new Relay(options, {
				clock: host.options.clock,
				unref: host.options.unref,
				encode,
				open: (watcher) => new Producer(host, resolveProducerOptions({ producer: options.producer }), watcher),
				end: async (isWhole) => {
					try {
						await (isWhole ? relay.producer.drain() : relay.producer.close());
					} finally {
						this.#running.delete(relay);
						host.leave();
					}
				},
			});
			const { producer } = relay;
			this.#running.add(relay);
			return {
				relay,
				adopted: (session: Session) => producer.adopted(session),
				lost: () => producer.lost(),
				push: (session: Session, push: Push) => producer.push(session, push),
				drain: () => relay.stop(),
				close: () => producer.close(),
			};
		});
		if (extension === undefined) throw closedError();
		return extension.relay.done;
	}

	/** None reads any more; resolves when what they have sent is persisted, or given up. */
	async drain(): Promise<void> {
		await Promise.all([...this.#running].map((relay) => relay.stop()));
	}

	/** Ends them at once. */
	async close(): Promise<void> {
		await Promise.all([...this.#running].map((relay) => Promise.all([relay.producer.close(), relay.stop()])));
	}
}
