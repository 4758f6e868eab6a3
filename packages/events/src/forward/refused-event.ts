import { SpockError } from '@spock/protocol';

import type { LogEvent, NewEvent } from '../foundation/log-record.ts';
import { movedEvent, REFUSED_SUFFIX } from '../foundation/moved-event.ts';

const MESSAGE_LENGTH_MAX = 512;

/** True for an error of one event, which the store will never take. Any other one is of the store as a whole. */
export function isRefusal(error: SpockError): boolean {
	return error.code === 'BAD_REQUEST' || error.code === 'FRAME_TOO_LARGE';
}

/**
 * A refused event, for the stream where it is parked. Its `seq` is the position of the refused one: so a restart finds from this
 * record alone that it was parked, and no crash between two records can lose or repeat it.
 */
export function refusedEventOf(event: LogEvent, { code, message }: SpockError): NewEvent {
	const moved = movedEvent(event, event.stream + REFUSED_SUFFIX, {
		'spock-refused-code': code,
		'spock-refused-message': message.slice(0, MESSAGE_LENGTH_MAX),
		'spock-refused-stream': event.stream,
		'spock-refused-position': String(event.position),
	});
	return { ...moved, seq: event.position };
}

/** Of an event that was refused before, for whoever waits until it is stored. */
export function parkedError(stream: string): SpockError {
	const message = `the store of stream "${stream}" has refused the event: it is in the stream "${stream}${REFUSED_SUFFIX}"`;
	return new SpockError('BAD_REQUEST', message, { isStackless: true });
}
