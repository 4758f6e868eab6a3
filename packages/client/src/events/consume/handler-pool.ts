import { type DeliveredEvent, SpockError } from '@spock/protocol';
import { durationMsOption, inNeutralContext, isError, offAbort, onAbort } from '@spock/protocol/internal';

import { closedError } from '../../foundation/errors.ts';
import { DeadlineTimer, OneTimer } from '../../foundation/timers.ts';
import type { ResolvedHandle } from './consume-options.ts';
import { Consumer, type ConsumerContext, type ConsumerSink, type TakenEvent } from './consumer.ts';
import { ConsumerReport } from './consumer-report.ts';
import type { RunningConsumer, RunningConsumers } from './event-iterator.ts';
import { ACK, type Delivery, type DeliveryHandle, type ReceivedEvent, termination } from './received-event.ts';

/** What a handler is given besides its event. */
export interface HandlerContext {
	/** Aborts when the handler has run for `handlerTimeoutMs`, and when the client is closed. */
	readonly signal: AbortSignal;
}

/** Called for each event. When it has returned, or its promise has resolved, the event is acked; when it fails, it is nacked. */
export type EventHandler<T> = (event: ReceivedEvent<T>, context: HandlerContext) => unknown;

/** One run of the handler. */
class HandlerRun implements HandlerContext {
	readonly handle: DeliveryHandle;
	readonly deadlineMs: number;
	/** True once nothing depends on how it ends. */
	isAbandoned = false;
	#abort: AbortController | undefined;
	#reason: Error | undefined;

	constructor(handle: DeliveryHandle, deadlineMs: number) {
		this.handle = handle;
		this.deadlineMs = deadlineMs;
	}

	/** Made when it is first asked for: most handlers do not. */
	get signal(): AbortSignal {
		if (this.#abort === undefined) {
			this.#abort = new AbortController();
			if (this.#reason !== undefined) this.#abort.abort(this.#reason);
		}
		return this.#abort.signal;
	}

	/** What comes of it does not matter any more. */
	abandon(reason: Error): void {
		this.isAbandoned = true;
		this.#reason = reason;
		this.#abort?.abort(reason);
	}
}

/**
 * Runs a handler for each event of a consumer, at most `concurrency` at once, and says what has become of it. Of what has an order, no
 * two run at once.
 */
export class HandlerPool<T> implements ConsumerSink, RunningConsumer {
	/** Settles when it was stopped and the last handler has ended; rejects with what waiting cannot mend. */
	readonly done: Promise<void>;
	readonly #options: ResolvedHandle;
	readonly #handler: EventHandler<T>;
	readonly #running: RunningConsumers;
	readonly #consumer: Consumer<T>;
	readonly #report: ConsumerReport;
	readonly #now: () => number;
	/** By position. */
	readonly #runs = new Map<number, HandlerRun>();
	/** What has an order: keys of the runs. */
	readonly #busy = new Set<string>();
	readonly #deadlines: DeadlineTimer;
	readonly #extendTimer: OneTimer;
	#resolve: () => void = () => undefined;
	#reject: (error: Error) => void = () => undefined;
	/** The fault of a function of the app other than the handler. */
	#failure: Error | undefined;
	#hasEnded = false;

	constructor(options: ResolvedHandle, handler: EventHandler<T>, context: ConsumerContext, running: RunningConsumers) {
		const { clock } = context.retry;
		this.#options = options;
		this.#handler = handler;
		this.#running = running;
		this.#now = () => clock.now();
		this.#report = new ConsumerReport(options.open);
		this.#consumer = new Consumer(options.open, context, this.#report, this);
		this.#deadlines = new DeadlineTimer(clock, (isDue) => {
			for (const run of this.#runs.values()) if (!run.isAbandoned && isDue(run.deadlineMs)) this.#overdue(run);
		});
		this.#extendTimer = new OneTimer(clock, () => this.#extend());
		this.done = new Promise((resolve, reject) => {
			this.#resolve = resolve;
			this.#reject = reject;
		});
	}

	/** Begins. To be called once. */
	start(): void {
		const { signal } = this.#options;
		if (!this.#running.isOpen) {
			this.#reject(closedError());
			return;
		}
		if (signal?.aborted) {
			this.#resolve();
			return;
		}
		this.#running.add(this);
		if (signal !== undefined) onAbort(signal, this.#stop);
		inNeutralContext(() => this.#consumer.start());
	}

	async drain(): Promise<void> {
		this.#stop();
		// The caller of `handle` is told why it failed.
		await Promise.allSettled([this.done]);
	}

	close(): void {
		for (const run of this.#runs.values()) run.abandon(closedError());
		this.#consumer.close();
		this.#settle();
	}

	arrived(): void {
		if (!this.#extendTimer.pending) this.#extendTimer.arm(this.#extendMs);
		this.#fill();
	}

	/** A delivery that was lost with its connection comes again while its handler runs: one run is enough for both. */
	takesOver(delivery: Delivery): boolean {
		const run = this.#runs.get(delivery.delivered.position);
		if (run === undefined || run.isAbandoned || run.handle.isDecided) return false;
		if (!isRepetition(delivery, run.handle.delivery)) return false;
		run.handle.delivery = delivery;
		this.#extendTimer.arm(this.#extendMs);
		return true;
	}

	ended(error: Error | undefined): void {
		this.#hasEnded = true;
		this.#extendTimer.cancel();
		offAbort(this.#options.signal, this.#stop);
		this.#running.delete(this);
		if (error !== undefined) this.#reject(error);
		if (this.#runs.size === 0) this.#settle();
	}

	get #extendMs(): number {
		return Math.max(1, Math.floor(this.#options.open.ackWaitMs / 2));
	}

	readonly #stop = (): void => this.#consumer.drain();

	#settle(): void {
		this.#deadlines.clear();
		this.#resolve();
	}

	/** Begins as many as may run. */
	#fill(): void {
		while (this.#runs.size < this.#options.concurrency) {
			const taken = this.#consumer.take(this.#isFree);
			if (taken === undefined) return;
			this.#begin(taken);
		}
	}

	readonly #isFree = (event: DeliveredEvent): boolean => {
		const lane = this.#laneOf(event);
		return !this.#runs.has(event.position) && (lane === undefined || !this.#busy.has(lane));
	};

	/** Events of one lane run one after the other. */
	#laneOf({ event }: DeliveredEvent): string | undefined {
		const { order } = this.#options.open;
		if (order === 'stream') return '';
		return order === 'key' ? event.key : undefined;
	}

	#begin({ event, handle }: TakenEvent<T>): void {
		const { handlerTimeoutMs } = this.#options;
		const { delivered } = handle.delivery;
		const deadlineMs = handlerTimeoutMs === undefined ? Number.POSITIVE_INFINITY : this.#now() + handlerTimeoutMs;
		const run = new HandlerRun(handle, deadlineMs);
		const lane = this.#laneOf(delivered);
		this.#runs.set(delivered.position, run);
		if (lane !== undefined) this.#busy.add(lane);
		if (handlerTimeoutMs !== undefined) this.#deadlines.arm(deadlineMs);
		const over = (settle: () => void) => (): void => {
			this.#runs.delete(delivered.position);
			if (lane !== undefined) this.#busy.delete(lane);
			if (!run.isAbandoned && !run.handle.isDecided) settle();
			if (this.#hasEnded) {
				if (this.#runs.size === 0) this.#settle();
			} else this.#fill();
		};
		this.#report
			.run(delivered, this.#now, () => this.#handler(event, run))
			.then(
				over(() => this.#succeeded(run)),
				(error: unknown) => over(() => this.#failed(run, error))(),
			);
	}

	#succeeded({ handle: { delivery } }: HandlerRun): void {
		// It was done, whether the sidecar can be told now or when it delivers it again.
		if (!this.#consumer.settle(delivery, ACK)) this.#consumer.doneWithoutAck(delivery);
	}

	#failed({ handle: { delivery } }: HandlerRun, error: unknown): void {
		const { attempts } = this.#options.open;
		const number = delivery.delivered.delivery;
		if (attempts > 0 && number >= attempts) {
			const reason = isError(error) ? error.message : String(error);
			this.#consumer.settle(delivery, termination(reason));
			return;
		}
		const delayMs = this.#retryDelayMs(number);
		this.#consumer.settle(delivery, { kind: 'nack', delayMs });
		if (this.#failure !== undefined) this.#consumer.fail(this.#failure);
	}

	/** A function of the app that fails ends the pool: its fault would otherwise be one of each event. */
	#retryDelayMs(delivery: number): number | undefined {
		const { retryDelayMs } = this.#options;
		if (retryDelayMs === undefined) return undefined;
		try {
			return durationMsOption('the result of retryDelayMs', retryDelayMs(delivery), 0);
		} catch (error) {
			this.#failure = error as Error;
			return undefined;
		}
	}

	#overdue(run: HandlerRun): void {
		const { handlerTimeoutMs = 0 } = this.#options;
		const { position } = run.handle.delivery.delivered;
		const { stream } = this.#options.open;
		const message = `the handler of ${stream} ran for ${handlerTimeoutMs} ms`;
		const error = new SpockError('TIMEOUT', message, { details: { stream, position, handlerTimeoutMs } });
		if (!run.handle.isDecided) this.#failed(run, error);
		run.abandon(error);
	}

	/** Also of those that wait for a handler: they must not go elsewhere while this process has them. */
	#extend(): void {
		if (this.#consumer.extendAll()) this.#extendTimer.arm(this.#extendMs);
	}
}

/** The time tells it from an event of another log that has its position; after a rewind somebody wants it done again. */
function isRepetition(delivery: Delivery, of: Delivery): boolean {
	return delivery.delivered.time === of.delivered.time && delivery.rewinds === of.rewinds;
}
