/** How an app emits: `perTurn` events, then `everyMs` of rest (0: the next turn of the event loop). */
export interface EventAppSettings {
	readonly path: string;
	/** In every payload: differs for each process. */
	readonly run: string;
	/** Events go to these in turn. */
	readonly streams: readonly string[];
	readonly everyMs: number;
	readonly perTurn: number;
	/** How soon it finds out that a sidecar hangs. Default that of the client. */
	readonly heartbeatMs?: number;
}

/**
 * A line of an app: so many of its events have left it, or are on disk, from the first on. The second has the milliseconds since the
 * one before.
 */
export const ACCEPTED = 'accepted';
export const PERSISTED = 'persisted';

/** What one app has told of its events. */
export interface Told {
	accepted: number;
	persisted: number;
	/** The longest time between two events that were awaited, since it was last set to 0: nothing was known to be on disk meanwhile. */
	gapMs: number;
}

/** Reads an app's lines; a last one without its end was never told. */
export function noteReport(told: Told, text: string): void {
	for (const line of text.split('\n')) {
		const [word, number, gapMs] = line.split(' ');
		if (word === ACCEPTED) told.accepted = Math.max(told.accepted, Number(number));
		else if (word === PERSISTED) {
			told.persisted = Math.max(told.persisted, Number(number));
			told.gapMs = Math.max(told.gapMs, Number(gapMs));
		}
	}
}
