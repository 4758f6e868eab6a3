import type { CallOutcome, Diplomat, Lease } from '@spock/client';
import { systemClock } from '@spock/protocol/internal';

import { nameInstance, outcomeOfRequest } from './request-errors.ts';
import { announce, listen, withdraw } from './request-events.ts';

/** What every request of an interceptor or dispatcher shares. */
export interface RequestSettings {
	readonly diplomat: Diplomat;
	readonly isFailure: (statusCode: number) => boolean;
}

/**
 * - `picked`: it has a lease, and undici has not made its request yet.
 * - `sent`: undici has made its request, and says how it ends: the lease is kept until then.
 * - `unfollowed`: its lease was given back, because undici may never say how it ends: it waits in a queue of a pool, it was
 *   answered by a mock or a cache, or it becomes a connection of its own (CONNECT, an upgrade).
 * - `followed`: undici did make a request of it after all; what it says is reported without a lease.
 */
type State = 'picked' | 'sent' | 'unfollowed' | 'followed' | 'ended';

/** One request to an instance, from the pick until undici says how it ended. */
export class ServiceRequest {
	readonly lease: Lease;
	readonly #settings: RequestSettings;
	/** Told the instance when it failed. */
	readonly #onFailure: (instance: string) => void;
	#state: State = 'picked';
	/** What it listens by, while it has its lease. */
	#unlisten: () => void = () => undefined;
	#hasFailed = false;
	#startedMs: number = systemClock.now();
	/** How long the instance took to answer; undefined until it has. How long the body takes is no matter of its latency. */
	#answeredAfterMs: number | undefined;

	constructor(lease: Lease, settings: RequestSettings, onFailure: (instance: string) => void) {
		this.lease = lease;
		this.#settings = settings;
		this.#onFailure = onFailure;
	}

	/** Undici reads its options, and probably makes its request next. */
	read(): void {
		if (this.#state === 'picked') announce(this);
		if (this.#state !== 'unfollowed') return;
		announce(this);
		void Promise.resolve().then(() => withdraw(this));
	}

	/** Undici has made its request. */
	made(): void {
		if (this.#state === 'picked') {
			this.#state = 'sent';
			this.#unlisten = listen();
		} else if (this.#state === 'unfollowed') {
			this.#follow();
		}
	}

	/** It has been dispatched. What has not become a request by now may never do. */
	dispatched(): void {
		withdraw(this);
		if (this.#state === 'picked') this.letGo();
	}

	/** Gives the lease back: nobody will say when it ends. */
	letGo(): void {
		if (this.#state === 'picked') this.#state = 'unfollowed';
		else if (this.#state === 'sent') this.#follow();
		else return;
		this.#unlisten();
		this.lease.release('cancelled');
	}

	/** The instance has answered; 1xx are no answers yet. */
	answered(statusCode: number): void {
		if (statusCode < 200) return;
		this.#answeredAfterMs = systemClock.now() - this.#startedMs;
		this.#hasFailed = this.#settings.isFailure(statusCode);
	}

	completed(): void {
		this.#end(this.#hasFailed ? 'failure' : 'success');
	}

	failed(error: unknown): void {
		if (this.#state === 'ended') return;
		const outcome = this.#hasFailed ? 'failure' : outcomeOfRequest(error);
		// The channel comes before the handler is told: what it is told has the names.
		if (outcome === 'failure') nameInstance(error, this.lease.query, this.lease.address);
		this.#end(outcome);
	}

	#follow(): void {
		this.#state = 'followed';
		this.#startedMs = systemClock.now();
	}

	#end(outcome: CallOutcome): void {
		const state = this.#state;
		if (state === 'ended') return;
		this.#state = 'ended';
		const { instance } = this.lease.address;
		const durationMs = this.#answeredAfterMs ?? systemClock.now() - this.#startedMs;
		if (outcome === 'failure') this.#onFailure(instance);
		if (state === 'followed') {
			this.#settings.diplomat.report({ ...this.lease.address, query: this.lease.query }, outcome, durationMs);
		} else {
			this.#unlisten();
			this.lease.release(outcome, durationMs);
		}
	}
}
