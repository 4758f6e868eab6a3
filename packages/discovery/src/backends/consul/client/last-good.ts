import type { DiscoveryListener } from '../../../foundation/discovery-event.ts';

/** What a {@link LastGood} needs. */
export interface LastGoodOptions<T> {
	/** For messages: `ACL token`. */
	readonly what: string;
	/** Where it is read. */
	readonly files: readonly string[];
	readonly onEvent: DiscoveryListener | undefined;
	/** Whether nothing has changed. Default: by identity. */
	readonly isSame?: (before: T, now: T) => boolean;
}

/**
 * What somebody writes into files now and then: while they are missing or bad, what was good last stays in force, and that is told
 * once for each way of being bad. That they are good again is news too.
 */
export class LastGood<T> {
	readonly #options: LastGoodOptions<T>;
	#value: T;
	#complaint: string | undefined;

	/** `value` is in force from the beginning, and nobody is told of it. */
	constructor(options: LastGoodOptions<T>, value: T) {
		this.#options = options;
		this.#value = value;
	}

	/** What is in force: the very same until it changes. */
	get value(): T {
		return this.#value;
	}

	/** This is what the files say now. */
	accept(value: T): void {
		const { what, files, onEvent, isSame = Object.is } = this.#options;
		const isOld = isSame(this.#value, value);
		const isNews = !isOld || this.#complaint !== undefined;
		this.#complaint = undefined;
		if (!isOld) this.#value = value;
		if (isNews) onEvent?.({ type: 'credentials-loaded', what, files });
	}

	/** Nothing can be made of the files now. */
	refuse(error: Error): void {
		if (error.message === this.#complaint) return;
		this.#complaint = error.message;
		const { what, files, onEvent } = this.#options;
		onEvent?.({ type: 'credentials-refused', what, files, error });
	}
}
