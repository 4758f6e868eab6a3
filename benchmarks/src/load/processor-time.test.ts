import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { peakResidentMb, processorTimeUs, residentMb } from './processor-time.ts';

const PID = 4711;

let proc: string;

beforeEach(() => {
	proc = mkdtempSync(join(tmpdir(), 'spock-proc-'));
	mkdirSync(join(proc, String(PID), 'task'), { recursive: true });
});
afterEach(() => rmSync(proc, { recursive: true, force: true }));

function thread(id: number): string {
	const directory = join(proc, String(PID), 'task', String(id));
	mkdirSync(directory, { recursive: true });
	return join(directory, 'schedstat');
}

describe('processorTimeUs', () => {
	it('is the first figure of schedstat, in µs, summed over the threads', () => {
		writeFileSync(thread(PID), '1102276500 82835 17\n');
		writeFileSync(thread(PID + 1), '500 9999999999 3\n');
		expect(processorTimeUs(PID, proc)).toBe(1_102_277);
	});

	it('is 0 for threads that never ran', () => {
		writeFileSync(thread(PID), '0 0 0\n');
		expect(processorTimeUs(PID, proc)).toBe(0);
	});

	it('passes over a thread that has ended since it was listed', () => {
		writeFileSync(thread(PID), '2000 1 1\n');
		thread(PID + 1);
		expect(processorTimeUs(PID, proc)).toBe(2);
	});

	it('throws for a process that is not there, and for what it cannot read', () => {
		expect(() => processorTimeUs(PID + 1, proc)).toThrow('ENOENT');
		mkdirSync(thread(PID));
		expect(() => processorTimeUs(PID, proc)).toThrow('EISDIR');
	});
});

describe.skipIf(process.platform !== 'linux')('figures of this process', () => {
	it('grow with its work', () => {
		const beforeUs = processorTimeUs(process.pid);
		// The scheduler brings its count up to date at its own pace; reading it is work enough.
		let reads = 0;
		while (processorTimeUs(process.pid) === beforeUs && reads < 100_000) reads++;
		expect(processorTimeUs(process.pid)).toBeGreaterThan(beforeUs);
	});

	it('never have more memory resident than at the peak', () => {
		const mb = residentMb(process.pid);
		expect(mb).toBeGreaterThan(0);
		expect(peakResidentMb(process.pid)).toBeGreaterThanOrEqual(mb);
	});
});
