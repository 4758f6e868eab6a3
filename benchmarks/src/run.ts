import type { Toolbox } from './toolbox.ts';

/** What every section of a run shares. */
export interface Run {
	readonly tools: Toolbox;
	readonly quick: boolean;
	/** Tells the person who waits. */
	say(line: string): void;
	/** Notes what cannot be run here; told at the end and in the report. */
	leaveOut(what: string, why: string): void;
}

/** Prints a line for the person who waits. */
export function say(line: string): void {
	process.stdout.write(`${line}\n`);
}

/** The same, with the seconds since this was called. */
export function sayWithTime(): (line: string) => void {
	const startedMs = performance.now();
	return (line) => say(`${Math.round((performance.now() - startedMs) / 1000)} s  ${line}`);
}
