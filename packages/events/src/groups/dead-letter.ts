import type { LogEvent, NewEvent } from '../foundation/log-record.ts';
import { DEAD_SUFFIX, movedEvent } from '../foundation/moved-event.ts';

/** Longest reason in a dead letter's header; the rest is cut off. */
export const DEAD_REASON_LENGTH_MAX = 512;

/** Why an event died, and where. */
export interface Death {
	readonly reason: string;
	readonly group: string | undefined;
	readonly deliveries: number;
}

/**
 * True for a stream of dead letters. An event that dies there is where it belongs already: it is done and not written again, so that there
 * is no `x.dead.dead`, and no event that goes round in `x.dead`.
 */
export function isDeadStream(stream: string): boolean {
	return stream.endsWith(DEAD_SUFFIX);
}

/** The dead letter of an event: as its producer gave it, with the circumstances in its headers. */
export function deadLetterOf(event: LogEvent, { reason, group, deliveries }: Death): NewEvent {
	return movedEvent(event, event.stream + DEAD_SUFFIX, {
		'spock-dead-reason': reason.slice(0, DEAD_REASON_LENGTH_MAX),
		'spock-dead-stream': event.stream,
		'spock-dead-position': String(event.position),
		...(group !== undefined && { 'spock-dead-group': group }),
		'spock-dead-deliveries': String(deliveries),
	});
}
