import type { RefusedEvent } from '@spock/protocol';

/**
 * What the log notes of producers besides their events: an epoch that began, with the `seq` that it goes on from; a `seq` that was
 * taken by a repetition; one that was refused.
 */
export type ProducerNote =
	| { readonly kind: 'opened'; readonly producer: string; readonly epoch: number; readonly persisted: number }
	| { readonly kind: 'repeated'; readonly producer: string; readonly epoch: number; readonly seq: number }
	| ({ readonly kind: 'refused'; readonly producer: string; readonly epoch: number } & RefusedEvent);

export function encodeNote(note: ProducerNote): string {
	return JSON.stringify(note);
}

/** Its own writing of an earlier time, so it is not checked. Kinds of a later version are undefined. */
export function decodeNote(text: string): ProducerNote | undefined {
	const note = JSON.parse(text) as ProducerNote;
	return note.kind === 'opened' || note.kind === 'repeated' || note.kind === 'refused' ? note : undefined;
}
