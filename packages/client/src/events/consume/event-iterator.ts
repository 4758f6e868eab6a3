import { inNeutralContext, offAbort, onAbort } from '@spock/protocol/internal';

import { OneTimer } from '../../foundation/timers.ts';
import type { ResolvedConsume } from './consume-options.ts';
import { Consumer, type ConsumerContext, type ConsumerSink } from './consumer.ts';
import { ConsumerReport } from './consumer-report.ts';
import type { ReceivedEvent } from './received-event.ts';

/** Something of this folder that runs until it is stopped. */
export interface RunningConsumer {
	/** Takes no more events; resolves when it has ended, with all that the app had. Never rejects. */
	drain(): Promise<void>;
	/** Ends at once. */
	close(): void;
}

/** Those of a client that run now. */
export interface RunningConsumers {
	/** False once the client drains or is closed: none may begin. */
	readonly isOpen: boolean;
	add(consumer: RunningConsumer): void;
	delete(consumer: RunningConsumer): void;
}

interface Waiting<T> {
	resolve(result: IteratorResult<ReceivedEvent<T>, undefined>): void;
	reject(error: unknown): void;
}

const DONE: IteratorReturnResult<undefined> = { value: undefined, done: true };

/**
 * The events of a consumer one after the other. It is opened at the first `next`. Ends by `return`, which a loop that is left calls; by
 * the signal; by `drain` or `close` of the client; or, with a rejection, by an error that waiting cannot mend.
 */
export class EventIterator<T>
	implements AsyncIterableIterator<ReceivedEvent<T>, undefined>, ConsumerSink, RunningConsumer
{
	readonly #options: ResolvedConsume;
	readonly #running: RunningConsumers;
	readonly #consumer: Consumer<T>;
	readonly #endWait: OneTimer;
	/** `stopping`: no more events; those in the app's hands may still be settled. */
	#state: 'idle' | 'open' | 'stopping' | 'ended' = 'idle';
	#error: Error | undefined;
	#waiting: Waiting<T>[] = [];
	readonly #ended: Promise<void>;
	#resolveEnded: () => void = () => undefined;

	constructor(options: ResolvedConsume, context: ConsumerContext, running: RunningConsumers) {
		this.#options = options;
		this.#running = running;
		this.#consumer = new Consumer(options.open, context, new ConsumerReport(options.open), this);
		this.#endWait = new OneTimer(context.retry.clock, () => this.#consumer.leave(), context.retry.unref);
		this.#ended = new Promise((resolve) => {
			this.#resolveEnded = resolve;
		});
	}

	next(): Promise<IteratorResult<ReceivedEvent<T>, undefined>> {
		if (this.#state === 'idle') this.#start();
		// While the app goes on from event to event, what it does not have yet must not run out of time.
		if (this.#state === 'open') this.#consumer.keepWaiting();
		return new Promise((resolve, reject) => {
			this.#waiting.push({ resolve, reject });
			this.#serve();
		});
	}

	/** Has the sidecar deliver again what is not acked. Resolves when it has been asked to, and has answered. */
	async return(): Promise<IteratorReturnResult<undefined>> {
		this.#stop();
		if (this.#state === 'stopping') this.#consumer.leave();
		await this.#ended;
		return DONE;
	}

	async throw(error?: unknown): Promise<IteratorReturnResult<undefined>> {
		await this.return();
		throw error;
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.return();
	}

	drain(): Promise<void> {
		this.#stop();
		return this.#ended;
	}

	close(): void {
		this.#stop();
		if (this.#state === 'stopping') this.#consumer.close();
	}

	arrived(): void {
		this.#serve();
	}

	takesOver(): boolean {
		return false;
	}

	ended(error: Error | undefined): void {
		this.#state = 'ended';
		this.#error = error;
		this.#endWait.cancel();
		offAbort(this.#options.signal, this.#abort);
		this.#running.delete(this);
		this.#serve();
		this.#resolveEnded();
	}

	#start(): void {
		const { signal } = this.#options;
		if (signal?.aborted || !this.#running.isOpen) {
			this.#state = 'ended';
			this.#resolveEnded();
			return;
		}
		this.#state = 'open';
		this.#running.add(this);
		if (signal !== undefined) onAbort(signal, this.#abort);
		inNeutralContext(() => this.#consumer.start());
	}

	readonly #abort = (): void => this.#stop();

	/** No more events, from now on. What the app has may still be settled, for as long as the sidecar waits for that. */
	#stop(): void {
		if (this.#state === 'idle') {
			this.#state = 'ended';
			this.#resolveEnded();
		}
		if (this.#state !== 'open') return;
		this.#state = 'stopping';
		this.#endWait.arm(this.#options.open.ackWaitMs);
		this.#consumer.drain();
		this.#serve();
	}

	/** Answers those who wait, as far as there is something to answer with. */
	#serve(): void {
		while (this.#waiting.length > 0) {
			const event = this.#state === 'open' ? this.#consumer.take()?.event : undefined;
			// Taking may have ended it.
			if (event === undefined && (this.#state as string) === 'open') return;
			const waiting = this.#waiting.shift();
			if (waiting === undefined) return;
			const error = this.#error;
			this.#error = undefined;
			if (event !== undefined) waiting.resolve({ value: event, done: false });
			else if (error !== undefined) waiting.reject(error);
			else waiting.resolve(DONE);
		}
	}
}
