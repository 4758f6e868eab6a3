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
