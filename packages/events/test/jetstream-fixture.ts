import { type RealNats, startNats } from '@spock/testkit/real-nats';

import type { StoreFixture } from '../src/contract/index.ts';
import type { JetStreamOptions } from '../src/stores/jetstream/jetstream-options.ts';
import { JetStreamStore } from '../src/stores/jetstream/jetstream-store.ts';
import { LogEvents } from './log-events.ts';

const MAX_PAYLOAD = 64 * 1024;

/** A store over the servers; what is not given is quick. */
export function openStore(nats: RealNats, options: Partial<JetStreamOptions> = {}): JetStreamStore {
	return new JetStreamStore({ servers: async () => nats.addresses, owner: 'log', leaseMs: 600, ...options });
}

/** A store over a server of its own, for the contract of stores. */
export async function jetStreamFixture(binary: string): Promise<StoreFixture> {
	const nats = await startNats({ binary, maxPayload: MAX_PAYLOAD });
	const stores: { readonly store: JetStreamStore; readonly end: () => void }[] = [];
	const open = (): JetStreamStore => {
		let addresses = nats.addresses;
		const store = openStore(nats, { servers: async () => addresses });
		// As if its process were dead: it has no connection, and gets none. Nothing listens at port 1.
		const end = (): void => {
			addresses = ['127.0.0.1:1'];
			store.serversChanged(addresses);
		};
		stores.push({ store, end });
		return store;
	};
	const events = new LogEvents();
	return {
		store: open(),
		events: (stream, count) => Array.from({ length: count }, (_, payload) => events.make(stream, payload)),
		eventsWithBad: (stream) => [
			events.make(stream, 0),
			events.make(stream, 'x'.repeat(MAX_PAYLOAD)),
			events.make(stream, 1),
		],
		reopen: async () => {
			for (const { end } of stores) end();
			return open();
		},
		close: async () => {
			await Promise.all(stores.map(({ store }) => store.close()));
			await nats[Symbol.asyncDispose]();
		},
	};
}
