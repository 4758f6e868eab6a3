import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

import type { Clock } from '@spock/protocol/internal';

/** What a process holds at one moment, after a forced collection. Each is a count but for the bytes. */
export interface ProcessFigures {
	readonly heapBytes: number;
	/** Open file descriptors. */
	readonly fds: number;
	/** Timers of the clock that were set and have neither fired nor been cleared, those that hold nothing alive too. */
	readonly timers: number;
	/** Listeners of the process and of what else lives as long as it. */
	readonly listeners: number;
	/** What keeps the process alive, as Node counts it. */
	readonly resources: number;
	/** Subscriptions, watches, registrations, connections, calls: what the part under test itself says that it has. */
	readonly held: number;
}

/** The clock of the process, which knows how many timers run. */
export class CountingClock implements Clock {
	readonly #timers = new Set<NodeJS.Timeout>();

	/** Timers that run. */
	get count(): number {
		return this.#timers.size;
	}

	now(): number {
		return performance.now();
	}

	wallNow(): number {
		return Date.now();
	}

	setTimeout(callback: () => void, delayMs: number): NodeJS.Timeout {
		const timer = setTimeout(() => {
			this.#timers.delete(timer);
			callback();
		}, delayMs);
		this.#timers.add(timer);
		return timer;
	}

	clearTimeout(timer: NodeJS.Timeout | undefined): void {
		if (timer === undefined) return;
		this.#timers.delete(timer);
		clearTimeout(timer);
	}
}

/** Between two collections: what was about to be let go, a socket that closes, is gone at the next. */
const SETTLE_MS = 10;
const COLLECTIONS = 3;

/** What is held when the process has come to rest. Needs `--expose-gc`. */
export async function figuresOfProcess(clock: CountingClock, listeners: number, held: number): Promise<ProcessFigures> {
	const { gc } = globalThis;
	if (gc === undefined) throw new Error('start this process with --expose-gc');
	let heapBytes = Number.POSITIVE_INFINITY;
	for (let collection = 0; collection < COLLECTIONS; collection++) {
		await delay(SETTLE_MS);
		gc();
		heapBytes = Math.min(heapBytes, process.memoryUsage().heapUsed);
	}
	return {
		heapBytes,
		fds: readdirSync('/proc/self/fd').length,
		timers: clock.count,
		listeners: listeners + process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
		resources: process.getActiveResourcesInfo().length,
		held,
	};
}
