import { type RegistrationReply, SpockError } from '@spock/protocol';
import { offAbort, onAbort } from '@spock/protocol/internal';

interface WriteWaiter {
	readonly version: number;
	resolve(reply: RegistrationReply): void;
	reject(error: SpockError): void;
}

interface RemovalWaiter {
	resolve(): void;
	reject(error: SpockError): void;
}

/** The calls that wait for the writes of one registration. */
export class RegistrationWaiters {
	// Both are bounded by the requests that a connection may have in flight.
	readonly #writes = new Set<WriteWaiter>();
	readonly #removals = new Set<RemovalWaiter>();

	/** Settles when this version, or a later one, was written; or with the next failure. */
	waitForWrite(version: number): Promise<RegistrationReply> {
		return new Promise((resolve, reject) => this.#writes.add({ version, resolve, reject }));
	}

	/** Resolves when the registry no longer knows the instance. Rejects with ABORTED. */
	waitForRemoval(signal: AbortSignal | undefined): Promise<void> {
		return new Promise((resolve, reject) => {
			const abort = (): void => {
				this.#removals.delete(waiter);
				reject(
					new SpockError('ABORTED', 'the caller stopped waiting for the deregistration', { cause: signal?.reason }),
				);
			};
			const waiter: RemovalWaiter = {
				resolve: () => {
					offAbort(signal, abort);
					resolve();
				},
				reject: (error) => {
					offAbort(signal, abort);
					reject(error);
				},
			};
			this.#removals.add(waiter);
			if (signal?.aborted) abort();
			else if (signal !== undefined) onAbort(signal, abort);
		});
	}

	/** A write has succeeded: resolves the calls that wait for this version or an earlier one. */
	written(version: number, reply: RegistrationReply): void {
		for (const waiter of [...this.#writes]) {
			if (waiter.version > version) continue;
			this.#writes.delete(waiter);
			waiter.resolve(reply);
		}
	}

	/** A write has failed and is retried: resolves the waiting calls with the current state. */
	failed(reply: RegistrationReply): void {
		this.written(Number.POSITIVE_INFINITY, reply);
	}

	/** The registry has refused the registration for good. */
	refused(error: SpockError): void {
		for (const waiter of this.#writes) waiter.reject(error);
		this.#writes.clear();
		this.refusedRemoval(error);
	}

	/** The registry has refused the deregistration. */
	refusedRemoval(error: SpockError): void {
		for (const waiter of this.#removals) waiter.reject(error);
		this.#removals.clear();
	}

	/** It was deregistered. */
	removed(): void {
		for (const waiter of this.#removals) waiter.resolve();
		this.#removals.clear();
	}
}
