import { SpockError } from '@spock/protocol';
import { offAbort, onAbort } from '@spock/protocol/internal';

/** Most publishes that wait for a store. */
const STORED_WAITS_MAX = 4096;

interface Wait {
	readonly stream: string;
	readonly position: number;
	settle(error?: SpockError): void;
}

/** Publishes that wait until their store has the event. At most {@link STORED_WAITS_MAX}. */
export class StoredWaits {
	readonly #waits = new Set<Wait>();

	/** Rejects with OVERLOADED, ABORTED, and with the error of a store that never takes the event. */
	wait(stream: string, position: number, signal: AbortSignal | undefined): Promise<void> {
		return new Promise((resolve, reject) => {
			if (signal?.aborted === true) throw notAwaited(signal);
			if (this.#waits.size >= STORED_WAITS_MAX) {
				const message = `${STORED_WAITS_MAX} published events wait for a store: the event is persisted, and will be stored`;
				throw new SpockError('OVERLOADED', message, { isStackless: true });
			}
			const abort = (): void => wait.settle(notAwaited(signal));
			const wait: Wait = {
				stream,
				position,
				settle: (error) => {
					this.#waits.delete(wait);
					offAbort(signal, abort);
					if (error === undefined) resolve();
					else reject(error);
				},
			};
			this.#waits.add(wait);
			if (signal !== undefined) onAbort(signal, abort);
		});
	}

	reached(stream: string, stored: number): void {
		for (const wait of this.#waits) if (wait.stream === stream && wait.position <= stored) wait.settle();
	}

	refused(stream: string, position: number, error: SpockError): void {
		for (const wait of this.#waits) if (wait.stream === stream && wait.position === position) wait.settle(error);
	}

	rejectAll(error: SpockError): void {
		for (const wait of this.#waits) wait.settle(error);
	}
}

function notAwaited(signal: AbortSignal | undefined): SpockError {
	return new SpockError('ABORTED', 'publish was aborted; the event is persisted, and will be stored', {
		cause: signal?.reason,
		isStackless: true,
	});
}

/** Of a sidecar that ends before the store has the event. */
export function endedError(): SpockError {
	return new SpockError('UNAVAILABLE', 'the sidecar is stopping; the event is persisted, and will be stored later', {
		isStackless: true,
	});
}
