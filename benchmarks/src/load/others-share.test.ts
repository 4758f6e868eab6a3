import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { busySeconds, familySeconds } from './others-share.ts';

describe('who used the processors', () => {
	let proc = '';
	beforeEach(() => {
		proc = mkdtempSync(join(tmpdir(), 'spock-proc-'));
	});
	afterEach(() => rmSync(proc, { recursive: true }));

	/** A process with one thread that has run for so many seconds. */
	function addProcess(pid: number, parent: number, seconds: number, name = 'node', endedTicks = 0): void {
		mkdirSync(join(proc, `${pid}/task/${pid}`), { recursive: true });
		writeFileSync(
			join(proc, `${pid}/stat`),
			`${pid} (${name}) S ${parent} 1 1 0 -1 0 0 0 0 0 7 7 ${endedTicks} ${endedTicks} 20`,
		);
		writeFileSync(join(proc, `${pid}/task/${pid}/schedstat`), `${seconds * 1e9} 0 1\n`);
	}

	it('counts a process, what it has started, and what that has started, whatever their names are', () => {
		addProcess(10, 1, 1);
		addProcess(11, 10, 2, 'a) S 1 (b');
		addProcess(12, 11, 4);
		addProcess(13, 1, 8);
		expect(familySeconds(10, proc)).toBe(7);
	});

	it('counts children that have ended, of this process and of those that it has started', () => {
		addProcess(10, 1, 1, 'node', 100);
		addProcess(11, 10, 2, 'node', 200);
		addProcess(12, 1, 8, 'node', 400);
		expect(familySeconds(10, proc)).toBe(9);
	});

	it('leaves out a process that ends while it is read', () => {
		addProcess(10, 1, 1);
		mkdirSync(join(proc, '11'));
		expect(familySeconds(10, proc)).toBe(1);
		expect(familySeconds(99, proc)).toBe(0);
	});

	it('counts what the machine did, without idling and waiting', () => {
		writeFileSync(join(proc, 'stat'), 'cpu  100 200 300 5000 6000 10 20 0 0 0\ncpu0 1 1 1\n');
		expect(busySeconds(proc)).toBe(6.3);
	});
});
