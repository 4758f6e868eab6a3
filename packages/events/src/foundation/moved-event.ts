import { type EventData, encodeEvent, STREAM_NAME_LENGTH_MAX } from '@spock/protocol';

import type { LogEvent, NewEvent } from './log-record.ts';

/** What the name of a stream of dead letters ends with. */
export const DEAD_SUFFIX = '.dead';
/** What the name of a stream of refused events ends with. Such a stream is always in the sidecar's own log. */
export const REFUSED_SUFFIX = '.refused';
/** Longest name of a stream that may have dead letters. */
export const CONSUMED_NAME_LENGTH_MAX: number = STREAM_NAME_LENGTH_MAX - DEAD_SUFFIX.length;
/**
 * Longest name of a stream that goes to a store elsewhere, `.dead` at its end not counted: its refused dead letters are in `x.dead.refused`,
 * which can be consumed as every other stream.
 */
export const FORWARDED_NAME_LENGTH_MAX: number = CONSUMED_NAME_LENGTH_MAX - DEAD_SUFFIX.length - REFUSED_SUFFIX.length;

const NO_PAYLOAD = 'null}';

/** An event as its producer gave it, for another stream, with headers besides its own. It may be longer than EVENT_BYTES_MAX by those. */
export function movedEvent(event: LogEvent, stream: string, headers: Readonly<Record<string, string>>): NewEvent {
	const data = JSON.parse(event.text) as EventData;
	const moved = { ...data, stream, headers: { ...data.headers, ...headers } };
	const text = headOf(moved) + payloadOf(event.text, data);
	return { kind: 'event', producer: '', epoch: 0, seq: 0, stream, key: event.key, id: event.id, text };
}

/** The text of an event up to its payload. */
function headOf(data: EventData): string {
	return encodeEvent({ ...data, payload: null }).slice(0, -NO_PAYLOAD.length);
}

/** The rest of it, as it came: parsed and written again, a number of many digits would be another one. */
function payloadOf(text: string, data: EventData): string {
	const head = headOf(data);
	return text.startsWith(head) ? text.slice(head.length) : `${JSON.stringify(data.payload)}}`;
}
