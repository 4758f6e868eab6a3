import { SpockError } from '../errors/spock-error.ts';
import { isDeeperThan } from '../foundation/json-depth.ts';
import { EVENT_BYTES_MAX, EVENT_ID_LENGTH_MAX, EVENT_KEY_LENGTH_MAX, JSON_DEPTH_MAX } from '../foundation/limits.ts';
import { isInteger, isObject } from '../foundation/values.ts';
import type { EventData, RefusedEvent } from './event-model.ts';
import { JsonText, memberText } from './member-text.ts';
import { validateEvent } from './validate-event.ts';

/** An event as it travels and is kept: the text of its data, and what must be known of it without parsing that. */
export interface EventText {
	readonly stream: string;
	readonly key: string | undefined;
	readonly id: string | undefined;
	/** JSON of an {@link EventData} in the order of its members, `payload` last. */
	readonly text: string;
}

/** A frame of an uplink: an event; one that takes its place in the sequence and nothing else; or no event at all. */
export type UplinkFrame =
	/** `bytes`: of its text, in UTF-8. */
	| ({ readonly kind: 'event'; readonly seq: number; readonly bytes: number } & EventText)
	| ({ readonly kind: 'refused' } & RefusedEvent)
	| { readonly kind: 'fault'; readonly message: string };

/** An event whose members may be given as undefined. */
type GivenEvent = { readonly [Member in keyof EventData]: EventData[Member] | undefined };

/** The text of an event: a member that is not given does not appear. Throws a TypeError for what JSON cannot carry. */
export function encodeEvent(event: GivenEvent): string {
	const { payload } = event;
	const text = payload instanceof JsonText ? payload.text : (JSON.stringify(payload) as string | undefined);
	if (text === undefined) throw new TypeError(`payload must be a JSON value, not ${typeof payload}`);
	return encodeMembers(event, text);
}

function encodeMembers(
	{ stream, key, id, at, version, encoding, traceparent, headers }: GivenEvent,
	payload: string,
): string {
	let head = `{"stream":"${stream}"`;
	if (key !== undefined) head += `,"key":${JSON.stringify(key)}`;
	if (id !== undefined) head += `,"id":${JSON.stringify(id)}`;
	if (at !== undefined) head += `,"at":${at}`;
	if (version !== undefined) head += `,"version":${version}`;
	if (encoding !== undefined) head += `,"encoding":"${encoding}"`;
	if (traceparent !== undefined) head += `,"traceparent":"${traceparent}"`;
	if (headers !== undefined) head += `,"headers":${JSON.stringify(headers)}`;
	return `${head},"payload":${payload}}`;
}

/** The line of an event on an uplink, from its text. */
export function encodeEventLine(seq: number, text: string): string {
	return `{"seq":${seq},"func":"event","data":${text}}\n`;
}

/** As every writer of this project makes it: without headers, and without an escape in front of the payload. */
const HEAD =
	/\{"seq":([1-9][0-9]{0,14}),"func":"event","data":(?=(\{"stream":"([A-Za-z0-9_.-]{1,128})"(?:,"key":"([^"\\\p{Cc}\p{Cs}]{1,512})")?(?:,"id":"([^"\\\p{Cc}\p{Cs}]{1,128})")?(?:,"at":(?:0|[1-9][0-9]{0,14}))?(?:,"version":[1-9][0-9]{0,8})?(,"encoding":"base64")?(?:,"traceparent":"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")?,"payload":))/uy;
const DATA_MEMBER = ',"func":"event","data":';
const QUOTE = 0x22;

/** Reads one frame of an uplink. `frameBytes`: its length in UTF-8, where that is known. Never throws. */
export function readUplinkFrame(text: string, frameBytes: number = Buffer.byteLength(text)): UplinkFrame {
	HEAD.lastIndex = 0;
	const match = HEAD.exec(text);
	if (match === null || !text.endsWith('}}')) return readAnyFrame(text);
	const [, digits = '', head = '', stream = '', key, id, encoding] = match;
	const dataAt = '{"seq":'.length + digits.length + DATA_MEMBER.length;
	const payload = text.slice(dataAt + head.length, -2);
	// The expression counts code points, the limits UTF-16 units.
	const isLong = (key?.length ?? 0) > EVENT_KEY_LENGTH_MAX || (id?.length ?? 0) > EVENT_ID_LENGTH_MAX;
	const isNoText = encoding !== undefined && payload.charCodeAt(0) !== QUOTE;
	if (isLong || isNoText || isDeeperThan(payload, JSON_DEPTH_MAX - 2) || !isJson(payload)) return readAnyFrame(text);
	// What stands around the data is ASCII.
	const data = { stream, key, id, text: text.slice(dataAt, -1) };
	return sized(Number(digits), data, frameBytes - dataAt - 1);
}

/** The long way, for what other writers make. */
function readAnyFrame(text: string): UplinkFrame {
	if (isDeeperThan(text, JSON_DEPTH_MAX)) {
		return { kind: 'fault', message: `the frame nests deeper than ${JSON_DEPTH_MAX} levels` };
	}
	let members: unknown;
	try {
		members = JSON.parse(text);
	} catch {
		// V8's message quotes the text, which is not repeated to a peer.
		return { kind: 'fault', message: 'the frame is not JSON' };
	}
	if (!isObject(members) || members['func'] !== 'event' || members['id'] !== undefined) {
		return { kind: 'fault', message: 'an uplink carries events alone' };
	}
	const { seq, data } = members;
	if (!isInteger(seq, 1, Number.MAX_SAFE_INTEGER)) {
		return { kind: 'fault', message: 'an event on an uplink requires seq, an integer from 1' };
	}
	try {
		const event = validateEvent(data);
		const { stream, key, id } = event;
		// As it came: printed again, a number that no double holds would be another one.
		const payload = memberText(memberText(text, 'data'), 'payload');
		const whole = encodeMembers(event, payload);
		return sized(seq, { stream, key, id, text: whole }, Buffer.byteLength(whole));
	} catch (error) {
		const { code, message } = SpockError.from(error).toWire();
		return { kind: 'refused', seq, code, message };
	}
}

function sized(seq: number, { stream, key, id, text }: EventText, bytes: number): UplinkFrame {
	if (bytes <= EVENT_BYTES_MAX) return { kind: 'event', seq, stream, key, id, text, bytes };
	const message = `the event has ${bytes} bytes, more than ${EVENT_BYTES_MAX}: split it, or keep its content elsewhere`;
	return { kind: 'refused', seq, code: 'FRAME_TOO_LARGE', message };
}

function isJson(text: string): boolean {
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
}
