import { describe, expect, it } from 'vitest';

import { runClosedLoop } from './closed-loop.ts';
import { FakeInstruments, StallingServer } from './fake-instruments.ts';
import type { LoadReport, LoadTarget, OpenLoad } from './load.ts';
import { type Arrivals, OUTSTANDING_MAX, runOpenLoop } from './open-loop.ts';

const SERVER_PID = 2;
const LOAD: OpenLoad = { kind: 'open', rate: 1000, warmupMs: 100, durationMs: 1000, sampleEvery: 1 };

/** Arrivals on a fake clock. `heldMs` is how long the client takes no notice of those within it: its thread was busy. */
function arrivalsOn(instruments: FakeInstruments, held?: { fromMs: number; untilMs: number }): Arrivals {
	return {
		async run(rate, count, due) {
			const { clock } = instruments;
			const startMs = clock.now();
			for (let index = 0; index < count; index++) {
				const dueMs = startMs + (index * 1000) / rate;
				const seenMs = held !== undefined && dueMs >= held.fromMs && dueMs < held.untilMs ? held.untilMs : dueMs;
				if (seenMs > clock.now()) await instruments.sleep(seenMs - clock.now());
				due(dueMs);
			}
		},
	};
}

async function run(
	instruments: FakeInstruments,
	target: Omit<LoadTarget, 'close'>,
	arrivals: Arrivals = arrivalsOn(instruments),
): Promise<LoadReport> {
	const report = runOpenLoop({ ...target, close: () => undefined }, LOAD, SERVER_PID, arrivals, instruments);
	await instruments.clock.advance(20_000);
	return report;
}

describe('an open loop', () => {
	it('makes calls at its rate, whatever became of those before', async () => {
		const instruments = new FakeInstruments();
		const server = new StallingServer(instruments, 50);
		const report = await run(instruments, { call: () => server.call() });
		expect(report).toMatchObject({ calls: 1000, errors: 0, elapsedMs: 1000, p50Us: 50_000, maxUs: 50_000 });
		expect(report).toMatchObject({ clientCpuUs: 400_000, serverCpuUs: 250_000 });
		expect([server.inFlightMost, server.inFlight]).toEqual([50, 0]);
	});

	it('shows a stall of the server in every call that was due meanwhile, where a closed loop shows one', async () => {
		// A fifth of the window.
		const stall = { fromMs: 400, untilMs: 600 };
		const instruments = new FakeInstruments();
		const server = new StallingServer(instruments, 1, stall);
		const open = await run(instruments, { call: () => server.call() });
		expect(open).toMatchObject({ calls: 1000, p50Us: 1000, maxUs: 201_000 });
		// Those due at 400, 401, … 599 took 201, 200, … 2 ms: ten of the thousand took longer than 191.
		expect(open.p99Us).toBe(191_000);

		const other = new FakeInstruments();
		const again = new StallingServer(other, 1, stall);
		const load = { ...LOAD, kind: 'closed', inFlight: 1 } as const;
		const target = { call: () => again.call(), close: () => undefined };
		const closed = runClosedLoop(target, load, SERVER_PID, other);
		await other.clock.advance(10_000);
		expect(await closed).toMatchObject({ p99Us: 1000, maxUs: 201_000 });
	});

	it('shows a stall that lasts beyond the end of the window', async () => {
		const instruments = new FakeInstruments();
		const server = new StallingServer(instruments, 1, { fromMs: 500, untilMs: 3000 });
		const report = await run(instruments, { call: () => server.call() });
		// Six in ten of the calls that were due in the window are answered behind it, and are latencies all the same.
		expect(report).toMatchObject({ p50Us: 2_001_000, maxUs: 2_501_000 });
		// What the server got done in the window, answers at 100, 101, … 500, is less.
		expect(report.calls).toBe(401);
	});

	it('leaves out calls that were due in the warm-up, however late they are answered', async () => {
		const instruments = new FakeInstruments();
		const server = new StallingServer(instruments, 1, { fromMs: 0, untilMs: 100 });
		const report = await run(instruments, { call: () => server.call() });
		expect(report.maxUs).toBe(1000);
	});

	it('shows a stall of its own process: calls that it makes late count from when they were due', async () => {
		const instruments = new FakeInstruments();
		const server = new StallingServer(instruments, 1);
		const arrivals = arrivalsOn(instruments, { fromMs: 400, untilMs: 600 });
		const report = await run(instruments, { call: () => server.call() }, arrivals);
		expect(report).toMatchObject({ calls: 1000, p50Us: 1000, p99Us: 191_000, maxUs: 201_000 });
	});

	it('counts failures that were due in its window, and is not held up by them', async () => {
		const instruments = new FakeInstruments();
		let made = 0;
		const call = async (): Promise<void> => {
			const isBad = made++ % 4 === 0;
			await instruments.sleep(1);
			if (isBad) throw new Error('refused');
		};
		expect(await run(instruments, { call })).toMatchObject({ calls: 750, errors: 250 });
	});

	it('measures calls without promises too', async () => {
		const instruments = new FakeInstruments();
		const server = new StallingServer(instruments, 2);
		const send = (done: () => void): void => {
			server.call().then(done, done);
		};
		expect(await run(instruments, { send })).toMatchObject({ calls: 1000, p50Us: 2000 });
	});

	it('rejects when its arrivals fail', async () => {
		const instruments = new FakeInstruments();
		const arrivals: Arrivals = { run: () => Promise.reject(new Error('the pacer has ended')) };
		const report = runOpenLoop({ close: () => undefined }, LOAD, SERVER_PID, arrivals, instruments);
		await expect(report).rejects.toThrow('the pacer has ended');
	});

	it('turns away, as failed, what is due while too many calls wait for their answers', async () => {
		const instruments = new FakeInstruments();
		const server = new StallingServer(instruments, 1, { fromMs: 0, untilMs: 9000 });
		const rate = 2 * OUTSTANDING_MAX;
		const load = { ...LOAD, rate, warmupMs: 0 };
		const target = { call: () => server.call(), close: () => undefined };
		const report = runOpenLoop(target, load, SERVER_PID, arrivalsOn(instruments), instruments);
		await instruments.clock.advance(20_000);
		expect(server.inFlightMost).toBe(OUTSTANDING_MAX);
		// Of a second's arrivals the first half was made, and is answered behind the window.
		expect(await report).toMatchObject({ calls: 0, errors: OUTSTANDING_MAX });
	});

	it('counts a call that is never answered as failed, and ends', async () => {
		const instruments = new FakeInstruments();
		let made = 0;
		const call = (): Promise<unknown> => (++made % 10 === 0 ? new Promise(() => {}) : Promise.resolve());
		const report = await run(instruments, { call });
		expect(report).toMatchObject({ calls: 900, errors: 100 });
	});
});
