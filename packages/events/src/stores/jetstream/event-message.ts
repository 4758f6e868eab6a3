import type { MsgHdrs } from '@nats-io/transport-node';
import { SpockError } from '@spock/protocol';

import type { LogEvent } from '../../foundation/log-record.ts';

/** Order within a stream is kept by partition where a server has no fast ingest. A number for ever: it is in subjects. */
export const PARTITIONS = 16;

const MESSAGE_ID = 'Nats-Msg-Id';
/** The event without its payload, as JSON: stream, key, id, headers and so on. */
const EVENT = 'Spock-Event';
/** Position and time in the log that fed it, the epoch and number of its producer, and its producer. */
const ORIGIN = 'Spock-Origin';
/** It was sent beside others, so that events before it may not be stored. */
const UNORDERED = 'Spock-Unordered';
const PAYLOAD = ',"payload":';

/** A message for the server. */
export interface EventMessage {
	readonly subject: string;
	readonly headers: MsgHdrs;
	readonly payload: string;
}

/** A message as the server gives it. */
export interface StoredMessage {
	readonly data: Uint8Array;
	readonly headers?: MsgHdrs | undefined;
}

/** Where in its log a stored event came from. */
export interface EventPlace {
	readonly position: number;
	readonly isUnordered: boolean;
}

/** Events of a key are in one partition, and those without one in that of their producer. */
export function partitionOf({ key, producer }: Pick<LogEvent, 'key' | 'producer'>): number {
	// FNV-1a: short, and spread well enough over sixteen.
	let hash = 0x811c9dc5;
	const text = key ?? producer;
	for (let index = 0; index < text.length; index++) {
		hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
	}
	return ((hash >>> 16) ^ hash) & (PARTITIONS - 1);
}

/**
 * The payload is the data of the message, as it came, so that other clients of NATS read it without knowing of us; everything else is headers.
 * Its id is that of the event, else `<producer>:<epoch>:<seq>`; what came by `publish` has its position instead.
 */
export function encodeMessage(
	headers: MsgHdrs,
	event: LogEvent,
	to: { readonly subject: string; readonly owner: string; readonly isUnordered: boolean },
): EventMessage {
	const { position, time, producer, epoch, seq, id, text } = event;
	const at = payloadAt(text);
	const own = producer === '' ? `${to.owner}:${position}` : `${producer}:${epoch}:${seq}`;
	headers.set(MESSAGE_ID, id === undefined ? own : headerOf(id));
	headers.set(EVENT, `${text.slice(0, at)}}`);
	headers.set(ORIGIN, `${position} ${time} ${epoch} ${seq} ${producer}`);
	if (to.isUnordered) headers.set(UNORDERED, '1');
	return { subject: to.subject, headers, payload: text.slice(at + PAYLOAD.length, -1) };
}

/** The event that a message is, at this position; undefined for one that somebody else has written. */
export function decodeMessage({ data, headers }: StoredMessage, position: number): LogEvent | undefined {
	const head = headers?.get(EVENT);
	const origin = readOrigin(headers?.get(ORIGIN));
	if (head === undefined || !head.endsWith('}') || origin === undefined) return undefined;
	const { stream, key, id } = JSON.parse(head) as Partial<Pick<LogEvent, 'stream' | 'key' | 'id'>>;
	if (stream === undefined) return undefined;
	const text = `${head.slice(0, -1)}${PAYLOAD}${new TextDecoder().decode(data)}}`;
	const { time, epoch, seq, producer } = origin;
	return { kind: 'event', producer, epoch, seq, stream, key, id, text, position, time };
}

export function placeOf({ headers }: Pick<StoredMessage, 'headers'>): EventPlace | undefined {
	const origin = readOrigin(headers?.get(ORIGIN));
	if (origin === undefined) return undefined;
	return { position: origin.position, isUnordered: headers?.has(UNORDERED) === true };
}

/** More than the message has, headers included. */
export function messageBytesMax({ text, producer, id }: LogEvent): number {
	return Buffer.byteLength(text) + Buffer.byteLength(producer) + 3 * Buffer.byteLength(id ?? producer) + 256;
}

/** A header has no line breaks, and loses spaces at its ends. Two ids stay two. */
function headerOf(id: string): string {
	return /^[^\s\p{Cc}%]+$/u.test(id) ? id : encodeURIComponent(id);
}

interface Origin {
	readonly position: number;
	readonly time: number;
	readonly epoch: number;
	readonly seq: number;
	readonly producer: string;
}

function readOrigin(text: string | undefined): Origin | undefined {
	const match = /^(\d+) (\d+) (\d+) (\d+) ?(.*)$/s.exec(text ?? '');
	if (match === null) return undefined;
	const [position = 0, time = 0, epoch = 0, seq = 0] = match.slice(1, 5).map(Number);
	return { position, time, epoch, seq, producer: match[5] ?? '' };
}

/** Where the payload begins in a text as {@link encodeEvent} makes it. Within a string the quotes of the mark would have backslashes. */
function payloadAt(text: string): number {
	let at = text.indexOf(PAYLOAD);
	// Only among headers another member can have this name.
	if (at !== -1 && text.lastIndexOf('"headers":{', at) !== -1) {
		while (at !== -1 && !isWhole(`${text.slice(0, at)}}`)) at = text.indexOf(PAYLOAD, at + 1);
	}
	if (at === -1) throw new SpockError('INTERNAL', 'the text of an event has no payload');
	return at;
}

function isWhole(text: string): boolean {
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
}
