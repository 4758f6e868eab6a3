import { expect, it } from 'vitest';

import type { ConnectionFacts } from '../connection/connection-facts.ts';
import { ConnectionRates } from './status-rows.ts';

const AT = 1_800_000_000_000;

function facts(id: number, requests: number, members: Partial<ConnectionFacts> = {}): ConnectionFacts {
	const counts = { requests, bytesRead: requests * 10, bytesWritten: requests * 20 };
	const rest = { client: null, pid: null, openedAtMs: 0, subscriptions: 0, inFlight: 0, outputBytes: 0 };
	return { id, ...rest, ...counts, ...members };
}

it('rates are what was done from one sample to the next, by time', () => {
	const rates = new ConnectionRates();
	expect(rates.sample([facts(1, 500)], 1000, AT).rows).toMatchObject([{ id: 1, requests: 500, rates: null }]);
	const { rows } = rates.sample([facts(1, 600), facts(2, 50)], 3000, AT + 2000);
	expect(rows.map(({ id, rates: each }) => [id, each])).toEqual([
		[1, { requests: 50, bytesRead: 500, bytesWritten: 1000 }],
		[2, null],
	]);
});

it('a sample of long ago says nothing about now', () => {
	const rates = new ConnectionRates();
	rates.sample([facts(1, 0)], 0, AT);
	expect(rates.sample([facts(1, 1_000_000)], 40_000, AT + 40_000).rows[0]?.rates).toBeNull();
});

it('bytes of all connections never go back, whoever leaves', () => {
	const rates = new ConnectionRates();
	rates.sample([facts(1, 100), facts(2, 100)], 0, AT);
	expect(rates.bytesRead).toBe(2000);
	rates.sample([facts(2, 110)], 1000, AT + 1000);
	rates.sample([], 2000, AT + 2000);
	expect([rates.bytesRead, rates.bytesWritten]).toEqual([2100, 4200]);
});

it('of many connections the busiest are shown, and all are counted', () => {
	const rates = new ConnectionRates();
	const all = (scale: number) => Array.from({ length: 1000 }, (_, index) => facts(index + 1, index * scale));
	rates.sample(all(1), 0, AT);
	const { count, rows } = rates.sample(all(2), 1000, AT + 1000);
	expect([count, rows.length, rows[0]?.id, rows.at(-1)?.id]).toEqual([1000, 200, 1000, 801]);
});

it('when a connection was opened does not wander with the rounding of clocks', () => {
	const rates = new ConnectionRates();
	const opened = (nowMs: number, at: number) =>
		rates.sample([facts(1, 0, { openedAtMs: 100.4 })], nowMs, at).rows[0]?.openedAt;
	expect(opened(1100.4, AT)).toBe(AT - 1000);
	expect(opened(2100.9, AT + 1001)).toBe(AT - 1000);
});
