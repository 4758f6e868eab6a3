import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { type EndTurn, InFlightGate } from './in-flight-gate.ts';

const LIMIT = 32;

/** A gate, the names of those that have had their turn, and how each was refused. */
function gate(room?: () => number) {
	const clock = new FakeClock();
	const one = new InFlightGate(clock, room);
	const turns: string[] = [];
	const refused: string[] = [];
	const ends = new Map<string, EndTurn>();
	return {
		clock,
		gate: one,
		turns,
		refused,
		enter: (name: string, { isFirst = false, withinMs = 2000, signal, datacenter }: Partial<Entry> = {}) => {
			const turn = { isFirst, untilMs: clock.now() + withinMs, taken: () => turns.push(name), datacenter };
			Promise.resolve(one.enter(turn, signal)).then(
				(end) => ends.set(name, end),
				(error: { code: string; message: string }) => refused.push(`${name} ${error.code}: ${error.message}`),
			);
		},
		end: async (name: string, isAnswered?: boolean): Promise<void> => {
			await settle();
			ends.get(name)?.(isAnswered);
			await settle();
		},
	};
}

interface Entry {
	readonly isFirst: boolean;
	readonly withinMs: number;
	readonly signal: AbortSignal;
	readonly datacenter: string;
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

	describe('of other datacenters', () => {
		it('are two at once to one that has not answered, and leave room for the own and for others', async () => {
			const { enter, turns } = gate();
			for (let number = 0; number < 100; number++) enter(`hung-${number}`, { datacenter: 'hung' });
			enter('dc2', { datacenter: 'dc2' });
			enter('own');
			expect(turns).toEqual(['hung-0', 'hung-1', 'dc2', 'own']);
		});

		it('count until they end, however long they take', async () => {
			const { enter, end, turns, clock } = gate();
			for (const name of ['a', 'b', 'c']) enter(name, { datacenter: 'hung', withinMs: 60_000 });
			await clock.advance(30_000);
			expect(turns).toEqual(['a', 'b']);
			await end('a');
			expect(turns).toEqual(['a', 'b', 'c']);
		});

		it('that do not answer have eight at once, all together', async () => {
			const { enter, turns } = gate();
			for (let number = 0; number < 40; number++) enter(`${number}`, { datacenter: `hung-${number}` });
			expect(turns).toHaveLength(8);
		});

		it('are many more once it has answered, until one hangs', async () => {
			const { enter, end, turns, clock } = gate();
			enter('first', { datacenter: 'dc2' });
			await end('first', true);
			for (let number = 0; number < 50; number++) enter(`${number}`, { datacenter: 'dc2', withinMs: 60_000 });
			expect(turns).toHaveLength(1 + 24);
			await clock.advance(5000);
			await end('0', false);
			expect(turns).toHaveLength(1 + 24);
		});

		it('leave connections to the own one where few are free', async () => {
			const { enter, turns } = gate(() => 12);
			for (let number = 0; number < 40; number++) enter(`${number}`, { datacenter: `hung-${number}` });
			expect(turns).toHaveLength(3);
		});
	});

	it('of the own datacenter that hang are 96 at once', async () => {
		const { enter, turns, clock } = gate();
		for (let number = 0; number < 200; number++) enter(`${number}`, { withinMs: 60_000 });
		for (let number = 0; number < 20; number++) await clock.advance(100);
		expect(turns).toHaveLength(96);
	});
});
