import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { InFlightGate } from './in-flight-gate.ts';

const LIMIT = 32;

/** A gate, the names of those that have had their turn, and how each was refused. */
function gate() {
	const clock = new FakeClock();
	const one = new InFlightGate(clock);
	const turns: string[] = [];
	const refused: string[] = [];
	const ends = new Map<string, () => void>();
	return {
		clock,
		gate: one,
		turns,
		refused,
		enter: (name: string, { isFirst = false, withinMs = 2000, signal }: Partial<Entry> = {}) => {
			const turn = { isFirst, untilMs: clock.now() + withinMs, taken: () => turns.push(name) };
			Promise.resolve(one.enter(turn, signal)).then(
				(end) => ends.set(name, end),
				(error: { code: string; message: string }) => refused.push(`${name} ${error.code}: ${error.message}`),
			);
		},
		end: async (name: string): Promise<void> => {
			await settle();
			ends.get(name)?.();
			await settle();
		},
	};
}

interface Entry {
	readonly isFirst: boolean;
	readonly withinMs: number;
	readonly signal: AbortSignal;
}

/** With as many in flight as there may be. */
function full() {
	const one = gate();
	for (let number = 0; number < LIMIT; number++) one.enter(`held-${number}`);
	one.turns.length = 0;
	return one;
}

describe('queries that do not block', () => {
	it('are sent at once while few are in flight; the next one when one has ended', async () => {
		const { enter, end, turns } = full();
		enter('a');
		enter('b');
		await end('held-0');
		expect(turns).toEqual(['a']);
		await end('held-0');
		expect(turns).toEqual(['a']);
		await end('a');
		expect(turns).toEqual(['a', 'b']);
	});

	it('for which a client waits go first, and the others have every fourth turn', async () => {
		const { enter, end, turns } = full();
		for (const name of ['again-1', 'again-2']) enter(name);
		for (const name of ['a', 'b', 'c', 'd', 'e']) enter(name, { isFirst: true });
		for (let number = 0; number < 7; number++) await end(`held-${number}`);
		expect(turns).toEqual(['a', 'b', 'c', 'again-1', 'd', 'e', 'again-2']);
	});

	it('are not kept waiting by slow ones', async () => {
		const { enter, turns, clock } = full();
		for (let number = 0; number < 40; number++) enter(`${number}`);
		await clock.advance(99);
		expect(turns).toEqual([]);
		await clock.advance(1);
		expect(turns).toHaveLength(32);
		await clock.advance(100);
		expect(turns).toHaveLength(40);
	});

	it('that have no turn in time are refused, and no address is blamed', async () => {
		const { enter, refused, clock } = full();
		enter('late', { withinMs: 50 });
		await clock.advance(50);
		await settle();
		expect(refused).toEqual(['late UNAVAILABLE: not sent to Consul within 50 ms: 1 queries wait for their turn']);
	});

	it('whose caller gives up leave the queue', async () => {
		const { enter, end, refused, turns, clock, gate: one } = full();
		const given = new AbortController();
		enter('gone', { signal: given.signal });
		enter('next');
		given.abort();
		await end('held-0');
		expect([refused, turns]).toEqual([['gone ABORTED: the call to Consul was aborted'], ['next']]);
		enter('never', { signal: AbortSignal.abort() });
		await settle();
		expect(one.waiting).toBe(0);
		expect(clock.pendingTimers).toBe(0);
	});

	it('wait no more, and leave no timer, once it is closed', async () => {
		const { enter, refused, clock, gate: one } = full();
		enter('a');
		enter('b', { isFirst: true });
		one.close();
		await settle();
		expect(refused.map((text) => text.slice(0, 8)).sort()).toEqual(['a CLOSED', 'b CLOSED']);
		expect(clock.pendingTimers).toBe(0);
	});
});
