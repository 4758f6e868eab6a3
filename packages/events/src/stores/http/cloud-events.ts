import type { EventData } from '@spock/protocol';
import { memberText } from '@spock/protocol/internal';

import type { LogEvent } from '../../foundation/log-record.ts';

export const BATCH_TYPE = 'application/cloudevents-batch+json; charset=UTF-8';

/** The end of the year 9999: RFC 3339 has no later times. */
const TIME_MAX = 253_402_300_799_999;

/** An id that no other event has: the one that its producer gave, else where it comes from. */
function idOf({ id, producer, epoch, seq, position }: LogEvent, owner: string): string {
	if (id !== undefined) return id;
	return producer === '' ? `${owner}:${position}` : `${producer}:${epoch}:${seq}`;
}

/**
 * An event in the JSON format of CloudEvents 1.0. Its payload is the text that came: as an object it would be parsed, and
 * numbers of many digits would be others.
 */
export function cloudEvent(event: LogEvent, owner: string): string {
	const { headers, at, key, version, encoding, traceparent } = JSON.parse(event.text) as EventData;
	const attributes = JSON.stringify({
		specversion: '1.0',
		id: idOf(event, owner),
		// With the stream, as ids are those of one stream: events with the same source and id are one and the same to who takes them.
		source: `urn:spock:${owner}:${event.stream}`,
		type: event.stream,
		...((at ?? event.time) <= TIME_MAX && { time: new Date(at ?? event.time).toISOString() }),
		partitionkey: key,
		traceparent,
		dataversion: version,
		// Extension attributes are texts, and their names are of letters and digits.
		spockheaders: headers && JSON.stringify(headers),
		datacontenttype: encoding === 'base64' ? 'application/octet-stream' : 'application/json',
	});
	const data = encoding === 'base64' ? 'data_base64' : 'data';
	return `${attributes.slice(0, -1)},"${data}":${memberText(event.text, 'payload')}}`;
}
