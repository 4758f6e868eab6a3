import { describe, expect, it } from 'vitest';

import { runClosedLoop } from './closed-loop.ts';
import { FakeInstruments, StallingServer } from './fake-instruments.ts';
import type { ClosedLoad, LoadReport, LoadTarget } from './load.ts';

const SERVER_PID = 2;
const LOAD: ClosedLoad = { kind: 'closed', inFlight: 4, warmupMs: 100, durationMs: 1000, sampleEvery: 1 };

async function run(
	instruments: FakeInstruments,
	target: Omit<LoadTarget, 'close'>,
	load: Partial<ClosedLoad> = {},
): Promise<LoadReport> {
	const report = runClosedLoop({ ...target, close: () => undefined }, { ...LOAD, ...load }, SERVER_PID, instruments);
	await instruments.clock.advance(5000);
	return report;
}

/** The two ways to call one server. */
const WAYS: readonly (readonly [string, (server: StallingServer) => Omit<LoadTarget, 'close'>])[] = [
	['promises', (server) => ({ call: () => server.call() })],
	[
		'callbacks',
		(server) => ({
			send: (done) => {
				server.call().then(done, done);
			},
		}),
	],
];

describe.each(WAYS)('a closed loop with %s', (_, targetOf) => {
	it('keeps its number of calls in flight, no more and no fewer, and ends with none', async () => {
		const instruments = new FakeInstruments();
		const server = new StallingServer(instruments, 10);
		const report = runClosedLoop({ ...targetOf(server), close: () => undefined }, LOAD, SERVER_PID, instruments);
		for (let turn = 0; turn < 100; turn++) {
			await instruments.clock.advance(10);
			expect(server.inFlight).toBe(LOAD.inFlight);
		}
		await instruments.clock.advance(5000);
		await report;
		expect([server.inFlight, server.inFlightMost]).toEqual([0, LOAD.inFlight]);
	});

	it('counts the calls of its window alone, with the processor time of both sides', async () => {
		const instruments = new FakeInstruments();
		const report = await run(instruments, targetOf(new StallingServer(instruments, 8)));
		// The answers at 104, 112, … 1096, each of four callers; those of the warm-up and of the end are not counted.
		expect(report).toEqual({
			calls: 4 * 125,
			errors: 0,
			elapsedMs: 1000,
			p50Us: 8000,
			p99Us: 8000,
			p999Us: 8000,
			maxUs: 8000,
			clientCpuUs: 400_000,
			serverCpuUs: 250_000,
		});
	});

	it('takes the latency of every n-th call, and counts all of them', async () => {
		const instruments = new FakeInstruments();
		let made = 0;
		// Every third call is slow, and these are the ones that are sampled.
		const target = targetOf({ call: () => instruments.sleep(made++ % 3 === 0 ? 30 : 5) } as StallingServer);
		const report = await run(instruments, target, { inFlight: 1, sampleEvery: 3 });
		expect(report).toMatchObject({ calls: 75, p50Us: 30_000, maxUs: 30_000 });
	});
});

describe('a closed loop', () => {
	it('counts failures apart from answers, and goes on', async () => {
		const instruments = new FakeInstruments();
		let made = 0;
		const call = async (): Promise<void> => {
			const isBad = made++ % 5 === 4;
			await instruments.sleep(8);
			if (isBad) throw new Error('refused');
		};
		const report = await run(instruments, { call }, { inFlight: 1 });
		expect(report).toMatchObject({ calls: 100, errors: 25 });
	});

	it('lets time go on when every call fails at once', async () => {
		const instruments = new FakeInstruments();
		const report = await run(instruments, { call: () => Promise.reject(new Error('refused')) });
		expect(report.calls).toBe(0);
		expect(report.errors).toBeGreaterThan(0);
		expect(report.p99Us).toBe(0);
	});
});
