import type { placeOf } from './event-message.ts';
import type { StreamState } from './stream-config.ts';

/** How far a log was stored: its last events may be no more in the stream, or were recognised as stored by another log. */
export interface OwnerPlace {
	readonly position: number;
	/** At the newest event of this log in the stream at that time. While the stream reaches that far, it holds. */
	readonly sequence: number;
}

/** The newest event of a log in a stream. */
export interface NewestEvent {
	readonly sequence: number;
	readonly place: ReturnType<typeof placeOf>;
}

/** A stream that was set back, or made anew, is shorter than it was. One that has deleted its oldest events is not. */
export function isTrue(place: OwnerPlace | undefined, { first, last }: StreamState, newest: number): boolean {
	if (place === undefined) return false;
	const { sequence } = place;
	return newest >= sequence || (sequence < first && sequence <= last);
}

/** Up to where everything is stored, as the newest event says; 0 where it says nothing. */
export function orderedPosition(newest: NewestEvent | undefined): number {
	return newest?.place?.isUnordered === false ? newest.place.position : 0;
}
