import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { EventStream } from '../../src/events/produce/event-stream.ts';
import { KeptLines } from '../../src/events/produce/kept-lines.ts';
import { OutboxModel, type OutboxStep } from './outbox-model.ts';

const size = fc.integer({ min: 1, max: 400 });
const count = fc.integer({ min: 1, max: 12 });
const until = fc.constantFrom('accepted' as const, 'persisted' as const, 'stored' as const);
const plain = <Does extends OutboxStep['does']>(...does: Does[]) => fc.record({ does: fc.constantFrom(...does) });

const step = fc.oneof(
	{ weight: 8, arbitrary: fc.record({ does: fc.constant('emit' as const), size }) },
	{ weight: 5, arbitrary: fc.record({ does: fc.constant('publish' as const), size, until }) },
	{ weight: 4, arbitrary: plain('adopt') },
	{ weight: 6, arbitrary: plain('open') },
	{ weight: 8, arbitrary: fc.record({ does: fc.constant('deliver' as const), count }) },
	{ weight: 6, arbitrary: fc.record({ does: fc.constant('persist' as const), count }) },
	{ weight: 1, arbitrary: fc.record({ does: fc.constant('refuse' as const), count }) },
	{
		weight: 3,
		arbitrary: fc.record({ does: fc.constant('window' as const), bytes: fc.constantFrom(0, 1, 100, 600, 5000) }),
	},
	{ weight: 4, arbitrary: plain('lose', 'crash', 'stall', 'store') },
	{ weight: 1, arbitrary: plain('drain') },
);
const steps = fc.array(step, { maxLength: 120 }) as fc.Arbitrary<OutboxStep[]>;

/** A story, and then the sidecar comes back. */
async function tell(story: readonly OutboxStep[], kept?: KeptLines<EventStream>): Promise<void> {
	const model = new OutboxModel(kept);
	for (const one of story) model.take(one);
	model.finish();
	model.checkAll();
	await Promise.resolve();
	await Promise.resolve();
	expect(model.settled).toBe(model.calls);
}

describe('an outbox and its sidecar, whatever happens', () => {
	it('every event comes exactly once and in order, none is forgotten before it is persisted, every call is settled once', async () => {
		await fc.assert(
			fc.asyncProperty(steps, (story) => tell(story)),
			{ numRuns: 500 },
		);
	});

	it('a close at any moment settles every call', async () => {
		const run = async (story: readonly OutboxStep[], later: readonly OutboxStep[]): Promise<void> => {
			const model = new OutboxModel();
			for (const one of [...story, { does: 'close' as const }, ...later]) model.take(one);
			await Promise.resolve();
			await Promise.resolve();
			expect([model.isEnded, model.settled]).toEqual([true, model.calls]);
		};
		await fc.assert(fc.asyncProperty(steps, steps, run), { numRuns: 200 });
	});

	/** Faults that these stories must find. */
	const FAULTS: Readonly<Record<string, () => KeptLines<EventStream>>> = {
		'what is sent again begins at the wrong end': () => {
			return new (class extends KeptLines<EventStream> {
				override rewind(): void {
					super.rewind();
					while (this.count - this.sentCount > 1) this.send();
				}
			})();
		},
		'what is sent is forgotten': () => {
			return new (class extends KeptLines<EventStream> {
				override send(): string {
					const line = super.send();
					this.forget();
					return line;
				}
			})();
		},
		'nothing is sent again': () => {
			return new (class extends KeptLines<EventStream> {
				override rewind(): void {
					// As if all had arrived.
				}
			})();
		},
		'what is sent does not count for the window': () => {
			return new (class extends KeptLines<EventStream> {
				override bytesOf(): number {
					return 0;
				}
			})();
		},
	};

	it.each(Object.keys(FAULTS))('are told apart from a fault: %s', async (name) => {
		const make = FAULTS[name] as () => KeptLines<EventStream>;
		const found = await fc.check(
			fc.asyncProperty(steps, (story) => tell(story, make())),
			{ numRuns: 5000, endOnFailure: true },
		);
		expect(found.failed, 'no story finds it').toBe(true);
	});
});
