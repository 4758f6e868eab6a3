import { headers } from '@nats-io/transport-node';
import { encodeEvent } from '@spock/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { LogEvent } from '../../foundation/log-record.ts';
import { decodeMessage, encodeMessage, messageBytesMax, PARTITIONS, partitionOf, placeOf } from './event-message.ts';

const to = { subject: 'spock.orders.3.log', owner: 'log', isUnordered: false };

function eventOf(
	given: { readonly stream: string; readonly key?: string; readonly id?: string },
	text: string,
): LogEvent {
	const origin = { kind: 'event', producer: 'p', epoch: 2, seq: 9 } as const;
	return { ...origin, stream: given.stream, key: given.key, id: given.id, text, position: 7, time: 1000 };
}

describe('the message of an event', () => {
	it('is the event, whatever is in it, and takes no more bytes than was said', () => {
		const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 });
		const event = fc.record(
			{
				stream: fc.stringMatching(/^[A-Za-z0-9_.-]{1,128}$/),
				key: fc.oneof(text, fc.constant(',"payload":1,"headers":{"a":"b')),
				id: fc.oneof(text, fc.constant(' a\r\nb ')),
				headers: fc.dictionary(fc.oneof(text, fc.constant('payload')), fc.oneof(text, fc.constant('{}')), {
					maxKeys: 5,
				}),
				payload: fc.oneof(fc.jsonValue(), fc.constant({ headers: { payload: 1 }, payload: [] })),
			},
			{ requiredKeys: ['stream', 'payload'] },
		);
		fc.assert(
			fc.property(event, (given) => {
				const made = eventOf(given, encodeEvent(given));
				const message = encodeMessage(headers(), made, to);
				expect(message.payload).toBe(JSON.stringify(given.payload));
				const data = new TextEncoder().encode(message.payload);
				expect(decodeMessage({ data, headers: message.headers }, 41)).toEqual({ ...made, position: 41 });
				expect(placeOf(message)).toEqual({ position: 7, isUnordered: false });
				const bytes = data.length + Buffer.byteLength(String(message.headers));
				expect(messageBytesMax(made)).toBeGreaterThanOrEqual(bytes);
			}),
		);
	});

	it('has the id of the event, else one of its producer, else one of its log', () => {
		const idOf = (event: LogEvent): string => encodeMessage(headers(), event, to).headers.get('Nats-Msg-Id');
		const text = '{"stream":"orders","payload":1}';
		expect(idOf(eventOf({ stream: 'orders', id: 'o-1' }, text))).toBe('o-1');
		expect(idOf(eventOf({ stream: 'orders' }, text))).toBe('p:2:9');
		expect(idOf(eventOf({ stream: 'orders', id: ' o\n1' }, text))).toBe('%20o%0A1');
		expect(idOf({ ...eventOf({ stream: 'orders' }, text), producer: '' })).toBe('log:7');
	});

	it('of somebody else is no event', () => {
		const data = new Uint8Array();
		expect(decodeMessage({ data }, 1)).toBeUndefined();
		expect(decodeMessage({ data, headers: headers() }, 1)).toBeUndefined();
		expect(placeOf({ headers: headers() })).toBeUndefined();
	});

	it('is in the partition of its key, and keys are spread', () => {
		const partitions = Array.from({ length: 1000 }, (_, index) => partitionOf({ key: `c-${index}`, producer: 'p' }));
		const counts = Array.from({ length: PARTITIONS }, (_, each) => partitions.filter((one) => one === each).length);
		expect(Math.min(...counts)).toBeGreaterThan(20);
		expect(partitionOf({ key: 'c-1', producer: 'p' })).toBe(partitionOf({ key: 'c-1', producer: 'q' }));
		// For ever: it is in subjects.
		expect(partitionOf({ key: undefined, producer: 'p' })).toBe(partitionOf({ key: 'p', producer: '' }));
	});
});
