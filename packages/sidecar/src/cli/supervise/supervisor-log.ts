import { LogOutput } from '../log-output.ts';
import type { CrashReport } from './supervisor.ts';

/** From the one that tells most to the one that tells nothing. */
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/** The few lines of a supervisor, in the form of the worker's log: the logger itself takes more memory than all the rest. */
export class SupervisorLog {
	readonly #level: number;
	readonly #isPretty: boolean;
	readonly #output = new LogOutput({ back: (dropped) => this.#write('warn', { dropped }, 'log lines dropped') });
	#acceptsFailed = 0;

	constructor(level: string, isPretty: boolean) {
		this.#level = LEVELS.indexOf(level);
		this.#isPretty = isPretty;
	}

	crashed({ pid, code, signal, restarts, restartMs, hasStandby }: CrashReport): void {
		const how = signal ?? `exit code ${code}`;
		const next =
			restartMs > 0
				? `it crashes at once again: the next one starts in ${restartMs} ms`
				: hasStandby
					? 'the standby takes its place'
					: 'the next one starts';
		this.#write('error', { worker: pid, code, signal, restarts, restartMs }, `the worker has ended (${how}); ${next}`);
	}

	prepared(pid: number): void {
		this.#write('debug', { standby: pid }, 'a standby is ready');
	}

	hung(pid: number): void {
		this.#write('error', { worker: pid }, 'the worker does not answer: it is killed');
	}

	/** So many connections since the start. */
	dropped(count: number): void {
		this.#write('error', { dropped: count }, 'too many connections wait for a worker: the latest are dropped');
	}

	/** Out of files it may fail a thousand times a second: the 1st, 10th, 100th, … is told. */
	acceptFailed(error: Error): void {
		this.#acceptsFailed++;
		if (!Number.isInteger(Math.log10(this.#acceptsFailed))) return;
		const facts = { failed: this.#acceptsFailed, error: error.message };
		this.#write('error', facts, 'a connection could not be accepted');
	}

	#write(level: string, facts: object, msg: string): void {
		if (LEVELS.indexOf(level) < this.#level) return;
		const time = new Date().toISOString();
		const line = this.#isPretty
			? `[${time.slice(11, 23)}] ${level.toUpperCase()}: ${msg} ${JSON.stringify(facts)}`
			: JSON.stringify({ level, time, pid: process.pid, ...facts, msg });
		this.#output.write(`${line}\n`);
	}
}
