import { wrongType } from '@spock/protocol/internal';

import type { RetryOptions } from '../../connection/retry-schedule.ts';
import { type ConsumeOptions, type HandleOptions, resolveConsume, resolveHandle } from './consume-options.ts';
import type { ConsumerContext } from './consumer.ts';
import { Downlink, type DownlinkPort } from './downlink.ts';
import { EventIterator, type RunningConsumer, type RunningConsumers } from './event-iterator.ts';
import type { EventShapes } from './event-shapes.ts';
import { type EventHandler, HandlerPool } from './handler-pool.ts';

/** The consumers of a client, and their end. */
export class Consumers implements RunningConsumers {
	readonly #context: ConsumerContext;
	readonly #running = new Set<RunningConsumer>();
	#isOpen = true;

	constructor(port: DownlinkPort, options: RetryOptions, shapes: EventShapes) {
		this.#context = { downlink: new Downlink(port), shapes, retry: options };
	}

	/** Consumers that have not ended. */
	get count(): number {
		return this.#running.size;
	}

	get isOpen(): boolean {
		return this.#isOpen;
	}

	/** One has begun. */
	add(consumer: RunningConsumer): void {
		this.#running.add(consumer);
	}

	/** One has ended. */
	delete(consumer: RunningConsumer): void {
		this.#running.delete(consumer);
	}

	/** Throws for a wrong option. */
	consume<T>(stream: string, options: ConsumeOptions): EventIterator<T> {
		return new EventIterator<T>(resolveConsume(stream, options), this.#context, this);
	}

	/** Throws for a wrong option. */
	handle<T>(stream: string, options: HandleOptions, handler: EventHandler<T>): Promise<void> {
		if (typeof handler !== 'function') throw wrongType('handler', 'a function', handler);
		const pool = new HandlerPool<T>(resolveHandle(stream, options), handler, this.#context, this);
		pool.start();
		return pool.done;
	}

	/** None takes events any more; resolves when what the app had is settled, and the connection is gone. Idempotent. */
	async drain(): Promise<void> {
		this.#isOpen = false;
		await Promise.all([...this.#running].map((consumer) => consumer.drain()));
		await this.#context.downlink.ended();
	}

	/** Ends them at once. Idempotent; also cuts a drain short. */
	async close(): Promise<void> {
		this.#isOpen = false;
		for (const consumer of [...this.#running]) consumer.close();
		await this.#context.downlink.close();
	}
}
