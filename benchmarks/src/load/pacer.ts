import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

import type { Arrivals } from './open-loop.ts';

/** Time between the order and the first arrival. */
const LEAD_MS = 50;

/** Pairs of readings of the two clocks, of which the closest is taken. */
const READINGS = 20;

/** The process of a pacer: takes `START <t0> <rate> <count>`, and writes a byte for each arrival. */
export interface PacerProcess {
	readonly stdin: Writable;
	readonly stdout: Readable;
	once(event: 'exit', listener: () => void): unknown;
	off(event: 'exit', listener: () => void): unknown;
}

/**
 * The clock of open loops: a process of its own that writes one byte for each call that is due. Node's timers step in
 * milliseconds, and a loop that spins would use up the processor that it measures; a byte on a pipe wakes the client as
 * the request of a real user would.
 */
export class Pacer implements Arrivals {
	readonly #process: PacerProcess;

	/** The process belongs to the pacer, which ends it by the end of its input. */
	constructor(process: PacerProcess) {
		this.#process = process;
	}

	/** Starts one; `binary` is the program built from native/. */
	static start(binary: string): Pacer {
		return new Pacer(spawn(binary, ['pacer'], { stdio: ['pipe', 'pipe', 'inherit'] }));
	}

	/** Calls `due` for each of `count` arrivals, with the moment it was due on performance.now's clock. */
	async run(rate: number, count: number, due: (dueMs: number) => void): Promise<void> {
		const { stdin, stdout } = this.#process;
		const moment = momentOnBothClocks();
		const startNs = moment.ns + BigInt(LEAD_MS * 1e6);
		const startMs = moment.ms + LEAD_MS;
		let arrived = 0;
		await new Promise<void>((resolve, reject) => {
			const onData = (chunk: Buffer): void => {
				for (let index = 0; index < chunk.length; index++) {
					due(startMs + (arrived * 1000) / rate);
					arrived++;
				}
				if (arrived < count) return;
				stdout.off('data', onData);
				this.#process.off('exit', onExit);
				resolve();
			};
			const onExit = (): void => {
				stdout.off('data', onData);
				reject(new Error('the pacer has ended'));
			};
			this.#process.once('exit', onExit);
			stdout.on('data', onData);
			stdin.write(`START ${startNs} ${rate} ${count}\n`);
		});
	}

	close(): void {
		this.#process.stdin.end();
	}
}

/**
 * One moment on the pacer's clock and on performance.now's, which run alike and began at different times. A reading that
 * is interrupted, or the first of a process, can take a millisecond; calls would then be due that much late by the one
 * clock, and their latencies too small by as much, even negative.
 */
function momentOnBothClocks(): { readonly ns: bigint; readonly ms: number } {
	let closest = { ns: 0n, ms: 0, apartMs: Number.POSITIVE_INFINITY };
	for (let reading = 0; reading < READINGS; reading++) {
		const beforeMs = performance.now();
		const ns = process.hrtime.bigint();
		const apartMs = performance.now() - beforeMs;
		if (apartMs < closest.apartMs) closest = { ns, ms: beforeMs + apartMs / 2, apartMs };
	}
	return closest;
}
