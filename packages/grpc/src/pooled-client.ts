import type { Client } from '@grpc/grpc-js';

/** A client and its calls. A channel that is closed fails the calls that still wait for its connection, so it is closed last. */
export class PooledClient<C extends Client> {
	readonly client: C;
	#inFlight = 0;
	#onIdle: (() => void) | undefined;

	constructor(client: C) {
		this.client = client;
	}

	begin(): void {
		this.#inFlight++;
	}

	end(): void {
		this.#inFlight--;
		if (this.#inFlight === 0) this.#onIdle?.();
	}

	/** Closes the client once its calls have ended. No call begins after. */
	async drain(): Promise<void> {
		if (this.#inFlight > 0) {
			await new Promise<void>((resolve) => {
				this.#onIdle = resolve;
			});
		}
		this.client.close();
	}
}
