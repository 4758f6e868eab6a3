import type { SpockError } from '@spock/protocol';
import type { Clock, TimerHandle } from '@spock/protocol/internal';

import type { ConsulToken } from './consul-token.ts';

/** How soon another token is used once Consul has refused the last one, whatever the back-offs of the watches are. */
const LOOK_MS = 500;

/** Looks for another token in the place of one that Consul has refused, until there is one. */
export class TokenReplacement {
	readonly #clock: Clock;
	readonly #token: ConsulToken;
	readonly #listeners = new Set<() => void>();
	#timer: TimerHandle | undefined;
	#isStopped = false;

	constructor(clock: Clock, token: ConsulToken) {
		this.#clock = clock;
		this.#token = token;
	}

	/** Adds a listener, told each time that there is another token than the one that was refused; call what is returned to end it. */
	onReplaced(listener: () => void): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	/** Consul has refused this token; nothing is done for any other error. */
	refused(token: string | undefined, error: SpockError): void {
		if (this.#isStopped || this.#timer !== undefined || error.code !== 'ACL_DENIED') return;
		if (token === undefined || !this.#token.mayBeReplaced) return;
		this.#timer = this.#clock.setTimeout(() => void this.#look(token, error), LOOK_MS);
		// Whoever still needs the token has something else that holds the process.
		this.#timer.unref?.();
	}

	/** Idempotent; nobody is told anything after it. */
	stop(): void {
		this.#isStopped = true;
		this.#clock.clearTimeout(this.#timer);
		this.#listeners.clear();
	}

	async #look(refused: string, error: SpockError): Promise<void> {
		// The file has been good once, or there would be no token: it is never without one again.
		const token = await this.#token.read();
		this.#timer = undefined;
		if (token === refused) this.refused(refused, error);
		else for (const listener of [...this.#listeners]) listener();
	}
}
