import type { Client } from '@grpc/grpc-js';
import type { Clock } from '@spock/protocol/internal';

import { ChannelCalls } from './channel-calls.ts';

/** A client and its calls. A channel that is closed fails the calls that still wait for its connection, so it is closed last. */
export class PooledClient<C extends Client> {
	readonly client: C;
	readonly calls: ChannelCalls;
	readonly #clock: Clock;
	readonly #closed: (pooled: PooledClient<C>) => void;
	#state: 'open' | 'closed' = 'open';
	#inFlight = 0;
	#idleSinceMs: number;
	#onIdle: (() => void) | undefined;

	/** `closed` is called once, when the client has been closed. */
	constructor(client: C, clock: Clock, closed: (pooled: PooledClient<C>) => void) {
		this.client = client;
		this.calls = new ChannelCalls(client.getChannel(), clock);
		this.#clock = clock;
		this.#closed = closed;
		this.#idleSinceMs = clock.now();
	}

	/** When its last call ended, or it was made; undefined while there are calls. */
	get idleSinceMs(): number | undefined {
		return this.#inFlight === 0 ? this.#idleSinceMs : undefined;
	}

	begin(): void {
		this.#inFlight++;
	}

	end(): void {
		this.#inFlight--;
		this.#idleSinceMs = this.#clock.now();
		if (this.#inFlight === 0) this.#onIdle?.();
	}

	/** Closes the client once its calls have ended, or `close` was called. No call begins after. */
	async drain(): Promise<void> {
		if (this.#inFlight > 0 && this.#state === 'open') {
			await new Promise<void>((resolve) => {
				this.#onIdle = resolve;
			});
		}
		this.close();
	}

	/** Cancels what is under way, and closes the client. Idempotent. */
	close(): void {
		if (this.#state === 'closed') return;
		this.#state = 'closed';
		this.calls.cancel('the pool was closed');
		this.client.close();
		this.#closed(this);
		this.#onIdle?.();
	}
}
