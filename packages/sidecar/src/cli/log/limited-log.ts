import { type Clock, systemClock, type TimerHandle } from '@spock/protocol/internal';
import type { Logger } from 'pino';

/** Lines of one kind in one second: what a client or an outage causes must not fill the log, nor make it a second victim. */
export const LINES_PER_SECOND_MAX = 10;
const SECOND_MS = 1000;

type Write = (facts: object, message: string) => void;

/** The part of a logger that writes events. */
export type LogLines = Readonly<Record<'trace' | 'debug' | 'info' | 'warn' | 'error', Write>>;

interface Kind {
	readonly lines: LogLines;
	/** Of the present second. */
	written: number;
	leftOut: number;
	timer: TimerHandle | undefined;
}

/**
 * A log that writes at most {@link LINES_PER_SECOND_MAX} lines of one kind in a second, and at the end of it how many it has left
 * out. Levels below `info` are written whole: nobody turns them on but to see everything.
 */
export class LimitedLog {
	/** Lines that were left out since the start. */
	leftOut = 0;
	readonly #log: Logger;
	readonly #clock: Clock;
	readonly #kinds = new Map<string, Kind>();

	constructor(log: Logger, clock: Clock = systemClock) {
		this.#log = log;
		this.#clock = clock;
	}

	/** For the lines of one kind. Kinds are named in the code, never by what a client says. */
	of(name: string): LogLines {
		let kind = this.#kinds.get(name);
		if (kind === undefined) {
			kind = { lines: this.#linesOf(name), written: 0, leftOut: 0, timer: undefined };
			this.#kinds.set(name, kind);
		}
		return kind.lines;
	}

	/** Writes at once what was left out, and ends its timers. */
	close(): void {
		for (const [name, kind] of this.#kinds) {
			this.#clock.clearTimeout(kind.timer);
			this.#endSecond(name, kind);
		}
	}

	#linesOf(name: string): LogLines {
		const whole = (level: keyof LogLines): Write => {
			return (facts, message) => this.#log[level](facts, message);
		};
		const limited = (level: keyof LogLines): Write => {
			return (facts, message) => {
				if (this.#mayWrite(name)) this.#log[level](facts, message);
			};
		};
		return {
			trace: whole('trace'),
			debug: whole('debug'),
			info: limited('info'),
			warn: limited('warn'),
			error: limited('error'),
		};
	}

	#mayWrite(name: string): boolean {
		const kind = this.#kinds.get(name) as Kind;
		if (kind.timer === undefined) {
			kind.timer = this.#clock.setTimeout(() => this.#endSecond(name, kind), SECOND_MS);
			kind.timer.unref?.();
		}
		if (++kind.written <= LINES_PER_SECOND_MAX) return true;
		kind.leftOut++;
		this.leftOut++;
		return false;
	}

	#endSecond(name: string, kind: Kind): void {
		const { leftOut } = kind;
		kind.timer = undefined;
		kind.written = 0;
		kind.leftOut = 0;
		const log = this.#log;
		if (leftOut > 0) log.warn({ kind: name, leftOut }, 'too many log lines; some left out');
	}
}
