import { expect, it } from 'vitest';

import type { ClientFacts } from '../connection/connection-facts.ts';
import { ConnectionRows } from './connection-rows.ts';

const AT = 1_800_000_000_000;

const time = (nowMs: number, at: number) => ({ nowMs, at, grpc: 0 });

function facts(id: number, requests: number, members: Partial<ClientFacts> = {}): ClientFacts {
	const counts = { requests, bytesRead: requests * 10, bytesWritten: requests * 20 };
	return {
		...{
			id,
			client: null,
			library: null,
			pid: null,
			transport: 'unix',
			address: null,
			certificate: null,
			openedAtMs: 0,
		},
		...{
			subscriptions: 0,
			subscriptionsRevision: 0,
			keys: 0,
			inFlight: 0,
			outputBytes: 0,
			oversize: 0,
			registered: [],
		},
		...{ isSlow: false, isSilent: false, isNarrowed: false },
		...counts,
		...members,
	};
}

it('rates are what was done from one sample to the next, by time', () => {
	const rates = new ConnectionRows();
	expect(rates.sample([facts(1, 500)], time(1000, AT)).rows).toMatchObject([{ id: 1, requests: 500, rates: null }]);
	const { rows } = rates.sample([facts(1, 600), facts(2, 50)], time(3000, AT + 2000));
	expect(rows.map(({ id, rates: each }) => [id, each])).toEqual([
		[1, { requests: 50, bytesRead: 500, bytesWritten: 1000 }],
		[2, null],
	]);
});

it('a sample of long ago says nothing about now', () => {
	const rates = new ConnectionRows();
	rates.sample([facts(1, 0)], time(0, AT));
	expect(rates.sample([facts(1, 1_000_000)], time(40_000, AT + 40_000)).rows[0]?.rates).toBeNull();
});

it('bytes of all connections never go back, whoever leaves', () => {
	const rates = new ConnectionRows();
	rates.sample([facts(1, 100), facts(2, 100)], time(0, AT));
	expect(rates.bytesRead).toBe(2000);
	rates.sample([facts(2, 110)], time(1000, AT + 1000));
	rates.sample([], time(2000, AT + 2000));
	expect([rates.bytesRead, rates.bytesWritten]).toEqual([2100, 4200]);
});

it('of many connections the busiest are shown, and all are counted', () => {
	const rates = new ConnectionRows();
	const all = (scale: number) => Array.from({ length: 1000 }, (_, index) => facts(index + 1, index * scale));
	rates.sample(all(1), time(0, AT));
	const { count, rows } = rates.sample(all(2), time(1000, AT + 1000));
	expect([count, rows.length, rows[0]?.id, rows.at(-1)?.id]).toEqual([1000, 200, 1000, 801]);
});

it('when a connection was opened does not wander with the rounding of clocks', () => {
	const rates = new ConnectionRows();
	const opened = (nowMs: number, at: number) =>
		rates.sample([facts(1, 0, { openedAtMs: 100.4 })], time(nowMs, at)).rows[0]?.openedAt;
	expect(opened(1100.4, AT)).toBe(AT - 1000);
	expect(opened(2100.9, AT + 1001)).toBe(AT - 1000);
});

it('clients with a problem come before busier ones, and each problem is named, the worst first', () => {
	const rows = new ConnectionRows();
	const registered = [{ id: 'i', service: 'barista', instance: 'b1', state: 'pending', status: 'critical' }] as never;
	const all = [
		facts(1, 1000),
		facts(2, 0, { isSlow: true, isSilent: true, outputBytes: 9_000_000 }),
		facts(3, 0, { outputBytes: 2_000_000, oversize: 1, isNarrowed: true }),
		facts(4, 0, { registered, subscriptions: 5, subscriptionsRevision: 9, keys: 2 }),
	];
	rows.sample(all, time(0, AT));
	const view = rows.sample([facts(1, 2000), ...all.slice(1)], { nowMs: 1000, at: AT + 1000, grpc: 7 });
	expect(view.rows.map(({ id, problems }) => [id, problems])).toEqual([
		[2, ['silent', 'slow']],
		[3, ['behind', 'oversize', 'narrowed']],
		[4, ['not-registered', 'critical']],
		[1, []],
	]);
	expect(view).toMatchObject({ count: 4, problems: 3, grpc: 7 });
	expect(view.rows[2]).toMatchObject({
		services: 3,
		keys: 2,
		subscriptionsRevision: 9,
		registered: [{ id: 'i', service: 'barista' }],
		registeredCount: 1,
	});
});

it('of many registrations of one client the first are named, and all are counted', () => {
	const one = { service: 's', instance: 'i', state: 'registered', status: 'passing' } as never;
	const registered = Array.from({ length: 50 }, () => one);
	const [row] = new ConnectionRows().sample([facts(1, 0, { registered })], time(0, AT)).rows;
	expect([row?.registered.length, row?.registeredCount]).toEqual([20, 50]);
});
