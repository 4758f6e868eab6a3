/** How an app emits: `perTurn` events, then `everyMs` of rest (0: the next turn of the event loop). */
export interface EventAppSettings {
	readonly path: string;
	/** In every payload: differs for each process. */
	readonly run: string;
	/** Events go to these in turn. */
	readonly streams: readonly string[];
	readonly everyMs: number;
	readonly perTurn: number;
}

/** A line of an app: so many of its events have left it, or are on disk, from the first on. */
export const ACCEPTED = 'accepted';
export const PERSISTED = 'persisted';

/** What one app has told of its events. */
export interface Told {
	accepted: number;
	persisted: number;
}

/** Reads an app's lines; a last one without its end was never told. */
export function noteReport(told: Told, text: string): void {
	for (const line of text.split('\n')) {
		const [word, number] = line.split(' ');
		if (word === ACCEPTED) told.accepted = Math.max(told.accepted, Number(number));
		else if (word === PERSISTED) told.persisted = Math.max(told.persisted, Number(number));
	}
}
