import { FakeClock } from '@spock/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { tick } from '../../../test/events/fake-downlink.ts';
import { ModelGroup } from '../../../test/events/model-group.ts';
import { Consumers } from './consumers.ts';
import type { ReceivedEvent } from './received-event.ts';

const KEYS = ['a', 'b', undefined] as const;
const ATTEMPTS = 4;
const ACK_WAIT_MS = 1000;

/** One thing that happens. Handlers are counted from the oldest that runs. */
type Step =
	| { readonly kind: 'emit'; readonly key: number }
	| { readonly kind: 'succeed' | 'fail'; readonly handler: number }
	| { readonly kind: 'lose' | 'kill' | 'connect' | 'store' | 'tick' }
	| { readonly kind: 'advance'; readonly ms: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
	fc.oneof(
		{ weight: 6, arbitrary: fc.record({ kind: fc.constant('emit' as const), key: fc.nat(2) }) },
		{ weight: 6, arbitrary: fc.record({ kind: fc.constant('succeed' as const), handler: fc.nat(5) }) },
		{ weight: 2, arbitrary: fc.record({ kind: fc.constant('fail' as const), handler: fc.nat(5) }) },
		{ weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('connect' as const, 'tick' as const) }) },
		{ weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('lose' as const, 'kill' as const, 'store' as const) }) },
		{
			weight: 2,
			arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 1500 }) }),
		},
	),
	{ minLength: 10, maxLength: 120 },
);

interface Running {
	readonly event: ReceivedEvent;
	end(error?: Error): void;
}

/** What handlers of one pool saw, and what may not be. */
class HandlerBook {
	readonly running: Running[] = [];
	readonly succeeded = new Set<number>();
	/** Why an invariant was broken. */
	readonly faults: string[] = [];
	readonly #concurrency: number;
	readonly #isOrdered: boolean;
	readonly #last = new Map<string, number>();

	constructor(concurrency: number, isOrdered: boolean) {
		this.#concurrency = concurrency;
		this.#isOrdered = isOrdered;
	}

	readonly handle = (event: ReceivedEvent): Promise<void> => {
		const { key, position } = event;
		if (this.succeeded.has(position)) this.faults.push(`${position} was done, and is handled again`);
		if (this.running.some((other) => other.event.position === position)) this.faults.push(`${position} runs twice`);
		if (this.#isOrdered && key !== undefined) {
			if (this.running.some((other) => other.event.key === key)) this.faults.push(`two of ${key} run at once`);
			if ((this.#last.get(key) ?? 0) > position) this.faults.push(`${position} of ${key} comes too late`);
			this.#last.set(key, position);
		}
		return new Promise((resolve, reject) => {
			const run: Running = {
				event,
				end: (error) => {
					this.running.splice(this.running.indexOf(run), 1);
					if (error === undefined) this.succeeded.add(position);
					if (error === undefined) resolve();
					else reject(error);
				},
			};
			this.running.push(run);
			if (this.running.length > this.#concurrency) this.faults.push(`${this.running.length} run at once`);
		});
	};
}

async function act(step: Step, sidecar: ModelGroup, book: HandlerBook, clock: FakeClock): Promise<void> {
	switch (step.kind) {
		case 'emit':
			return sidecar.emit(KEYS[step.key]);
		case 'succeed':
		case 'fail':
			return book.running[step.handler]?.end(step.kind === 'fail' ? new Error('scripted') : undefined);
		case 'advance':
			// In steps within which a pool that extends in time loses nothing.
			for (let left = step.ms; left > 0; left -= 100) {
				await clock.advance(Math.min(100, left));
				await tick();
				sidecar.pump();
			}
			return;
		case 'tick':
			await tick();
			return sidecar.pump();
		default:
			sidecar[step.kind]();
	}
}

/** Connected, with handlers that succeed, everything is done. */
async function finish(sidecar: ModelGroup, book: HandlerBook): Promise<void> {
	sidecar.connect();
	for (let round = 0; round < 1000 && !sidecar.isDone; round++) {
		await tick();
		for (const run of [...book.running]) run.end();
		await tick();
		sidecar.pump();
	}
}

describe('a pool, over a sidecar whose connection is lost and which is killed', () => {
	it.each([{ order: 'key' }, { order: 'none' }] as const)(
		'with order $order handles every event, none again that it has done, and ends',
		async ({ order }) => {
			await fc.assert(
				fc.asyncProperty(steps, fc.integer({ min: 1, max: 4 }), fc.boolean(), async (all, concurrency, isClosed) => {
					const clock = new FakeClock();
					const sidecar = new ModelGroup(clock);
					const retry = { clock, random: () => 0.5, retryDelayMsMin: 10, retryDelayMsMax: 1000, unref: false };
					const consumers = new Consumers(sidecar, retry, {});
					const book = new HandlerBook(concurrency, order === 'key');
					const options = {
						...{ group: 'billing', order, concurrency, attempts: ATTEMPTS },
						...{ inFlightMax: 6, ackWaitMs: ACK_WAIT_MS },
					};
					const done = consumers.handle('orders', options, book.handle);
					sidecar.connect();
					for (const step of all) await act(step, sidecar, book, clock);
					await finish(sidecar, book);

					expect(book.faults).toEqual([]);
					expect(sidecar.isDone).toBe(true);
					expect(sidecar.events.filter(({ state }) => state === 'done').map(({ position }) => position)).toEqual(
						[...book.succeeded].filter((position) => stateOf(sidecar, position) === 'done').sort((a, b) => a - b),
					);
					expect({ expired: sidecar.expired, faults: sidecar.faults }).toEqual({ expired: 0, faults: [] });
					expect(sidecar.outMax).toBeLessThanOrEqual(6);

					sidecar.emit('a');
					const ended = isClosed ? consumers.close() : consumers.drain();
					for (const run of [...book.running]) run.end();
					await Promise.all([ended, done]);
					expect([consumers.count, clock.pendingTimers, sidecar.isConnectionOpen]).toEqual([0, 0, false]);
				}),
				{ numRuns: 300 },
			);
		},
	);
});

function stateOf({ events }: ModelGroup, position: number): string | undefined {
	return events.find((event) => event.position === position)?.state;
}
