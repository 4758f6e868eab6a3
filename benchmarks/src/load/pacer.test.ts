import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';

import { settle } from '@spock/testkit';
import { describe, expect, it, vi } from 'vitest';

import { Pacer, type PacerProcess } from './pacer.ts';

const RATE = 2000;
const GAP_MS: number = 1000 / RATE;

/** A pacer's process that writes when the test says so. */
class FakePacerProcess extends EventEmitter implements PacerProcess {
	readonly stdin: PassThrough = new PassThrough();
	readonly stdout: PassThrough = new PassThrough();

	async arrive(count: number): Promise<void> {
		this.stdout.write(Buffer.alloc(count, '.'));
		await settle();
	}
}

describe('Pacer', () => {
	it('orders the arrivals, beginning a little later, and gives each its moment on the clock of the load', async () => {
		const process = new FakePacerProcess();
		const orderedMs = performance.now();
		const dues: number[] = [];
		const run = new Pacer(process).run(RATE, 5, (dueMs) => dues.push(dueMs));
		expect(String(process.stdin.read())).toMatch(new RegExp(`^START \\d+ ${RATE} 5\n$`));
		await process.arrive(5);
		await run;
		const [firstMs = 0] = dues;
		expect(firstMs).toBeGreaterThan(orderedMs);
		dues.forEach((dueMs, index) => {
			expect(dueMs - firstMs).toBeCloseTo(index * GAP_MS, 6);
		});
	});

	it('means the same moment on its own clock and on that of the load, although reading a clock may take long', async () => {
		// One time, read through two clocks; two readings in seven are quick.
		let nowUs = 5_000_000;
		let readings = 0;
		const read = (): number => {
			nowUs += readings++ % 7 < 5 ? 1500 : 0;
			return nowUs;
		};
		vi.spyOn(performance, 'now').mockImplementation(() => read() / 1000);
		vi.spyOn(globalThis.process.hrtime, 'bigint').mockImplementation(() => BigInt(read() * 1000));
		const process = new FakePacerProcess();
		const dues: number[] = [];
		const run = new Pacer(process).run(RATE, 1, (dueMs) => dues.push(dueMs));
		vi.restoreAllMocks();
		const startNs = /^START (\d+) /.exec(String(process.stdin.read()))?.[1];
		await process.arrive(1);
		await run;
		expect(dues).toEqual([Number(startNs) / 1e6]);
	});

	it('gives arrivals that come late and in one piece the moments at which they were due', async () => {
		const process = new FakePacerProcess();
		const dues: number[] = [];
		const run = new Pacer(process).run(RATE, 10, (dueMs) => dues.push(dueMs));
		await process.arrive(1);
		await process.arrive(7);
		expect(dues).toHaveLength(8);
		await process.arrive(2);
		await run;
		const gaps = dues.slice(1).map((dueMs, index) => dueMs - (dues[index] ?? 0));
		for (const gap of gaps) expect(gap).toBeCloseTo(GAP_MS, 6);
	});

	it('runs again, and leaves no listener behind', async () => {
		const process = new FakePacerProcess();
		const pacer = new Pacer(process);
		for (let round = 0; round < 3; round++) {
			let count = 0;
			const run = pacer.run(RATE, 2, () => count++);
			await process.arrive(2);
			await run;
			expect(count).toBe(2);
		}
		expect([process.listenerCount('exit'), process.stdout.listenerCount('data')]).toEqual([0, 0]);
	});

	it('rejects when its process ends before all have arrived', async () => {
		const process = new FakePacerProcess();
		const run = new Pacer(process).run(RATE, 2, () => undefined);
		await process.arrive(1);
		process.emit('exit');
		await expect(run).rejects.toThrow('the pacer has ended');
		expect(process.stdout.listenerCount('data')).toBe(0);
	});

	it('ends its process by the end of the input', async () => {
		const process = new FakePacerProcess();
		new Pacer(process).close();
		expect(process.stdin.writableEnded).toBe(true);
	});
});
