import {
	EVENT_HEADERS_MAX,
	EVENT_ID_LENGTH_MAX,
	EVENT_KEY_LENGTH_MAX,
	encodeEvent,
	isDeeperThan,
	JSON_DEPTH_MAX,
	readTraceContext,
	SpockError,
	type TraceContext,
} from '@spock/protocol';
import { integerOption, isObject, isText, knownMembers, wrongType } from '@spock/protocol/internal';
import { type EventEmittedMessage, eventEmittedChannel } from '../../foundation/event-diagnostics.ts';
import type { EventStream } from './event-stream.ts';
import type { EncodedEvent } from './event-waits.ts';

/** What an event may carry besides its payload. Wrong members throw at the call, naming the member and its value. */
export interface EmitOptions {
	/** Events of one key keep their order towards a group that asks for it. 1 to 512 characters. Default: none. */
	readonly key?: string;
	/**
	 * By it a repetition within two minutes is recognised and stored only once, also after a restart of this process. 1 to 128
	 * characters. Default: none.
	 */
	readonly id?: string;
	/** For programs between producer and consumer: at most 32, with names of 1 to 512 characters. Default: none. */
	readonly headers?: Readonly<Record<string, string>>;
	/** When it happened, in milliseconds since 1970. Default: not told; the sidecar notes when it came. */
	readonly at?: number;
	/** Version of the payload's shape, from 1. Default 1, which is not sent. */
	readonly version?: number;
}

export const EMIT_OPTION_NAMES: readonly (keyof EmitOptions)[] = ['key', 'id', 'headers', 'at', 'version'];
const VERSION_MAX = 1_000_000_000;
/** What stands around the payload: the data of the event, and its frame. */
const PAYLOAD_DEPTH_MAX: number = JSON_DEPTH_MAX - 2;
/** A nesting of so many levels needs so many characters. */
export const SHALLOW_LENGTH_MAX: number = 2 * PAYLOAD_DEPTH_MAX;

/** The text of a payload. Throws a TypeError for what is no JSON, a RangeError for what is nested too deep. */
export function encodeJson(payload: unknown): string {
	const text = JSON.stringify(payload) as string | undefined;
	if (text === undefined) throw wrongType('payload', 'a JSON value', payload);
	if (text.length > SHALLOW_LENGTH_MAX) checkDepth(text);
	return text;
}

/**
 * An event with everything that it may carry. Throws a TypeError or a RangeError that names the wrong member. An event that is
 * published about is given the trace of its caller.
 */
export function encodeWhole(
	producer: string,
	stream: EventStream,
	given: unknown,
	options: EmitOptions = {},
): EncodedEvent {
	checkEmitOptions(options);
	const { key, id, headers, at, version } = options;
	const isBytes = given instanceof Uint8Array;
	if (!isBytes && isBinary(given)) {
		throw wrongType('payload', 'a JSON value or a Uint8Array, such as new Uint8Array(buffer)', given);
	}
	const payload = isBytes ? base64Of(given) : given;
	const { name } = stream;
	let traceparent: string | undefined;
	if (eventEmittedChannel.hasSubscribers) {
		const trace: TraceContext | undefined = undefined;
		const message: EventEmittedMessage = { producer, stream: name, key: key ?? null, id: id ?? null, trace };
		eventEmittedChannel.publish(message);
		// A listener may set anything, which must break no frame.
		traceparent = readTraceContext(message.trace?.traceparent, undefined)?.traceparent;
	}
	const text = encodeEvent({
		stream: name,
		key,
		id,
		headers,
		at,
		traceparent,
		payload,
		version: version === 1 ? undefined : version,
		encoding: isBytes ? 'base64' : undefined,
	});
	if (text.length > SHALLOW_LENGTH_MAX) checkDepth(text.slice(text.indexOf(',"payload":')));
	return { stream, body: `,"func":"event","data":${text}}\n`, bytes: Buffer.byteLength(text) };
}

/** Bytes of any kind. Only those of a Uint8Array have an order of their own; as JSON the others would be objects, and some empty. */
export function isBinary(payload: unknown): boolean {
	return ArrayBuffer.isView(payload) || payload instanceof ArrayBuffer || payload instanceof SharedArrayBuffer;
}

/** FRAME_TOO_LARGE for an event that no sidecar would take. */
export function tooLargeError(stream: string, bytes: number, eventBytesMax: number): SpockError {
	const remedy = 'split it, or keep its content elsewhere and send where it is';
	const message = `an event of ${bytes} bytes for ${stream} is over the limit of ${eventBytesMax}: ${remedy}`;
	return new SpockError('FRAME_TOO_LARGE', message, { details: { stream, bytes, eventBytesMax } });
}

function checkEmitOptions(options: EmitOptions): void {
	knownMembers('option', options, EMIT_OPTION_NAMES);
	const { key, id, headers, at, version } = options;
	if (key !== undefined) textOption('key', key, EVENT_KEY_LENGTH_MAX);
	if (id !== undefined) textOption('id', id, EVENT_ID_LENGTH_MAX);
	if (at !== undefined) integerOption('at', at, 0, Number.MAX_SAFE_INTEGER);
	if (version !== undefined) integerOption('version', version, 1, VERSION_MAX);
	if (headers === undefined) return;
	if (!isObject(headers)) throw wrongType('headers', 'an object', headers);
	const entries = Object.entries(headers);
	if (entries.length > EVENT_HEADERS_MAX) {
		throw new RangeError(`headers must have at most ${EVENT_HEADERS_MAX} members, not ${entries.length}`);
	}
	for (const [name, value] of entries) {
		if (!isText(name)) throw wrongType('headers', 'an object with names of 1 to 512 characters', name);
		if (typeof value !== 'string') throw wrongType(`headers.${name}`, 'a string', value);
	}
}

function textOption(name: string, value: unknown, lengthMax: number): void {
	if (!isText(value, lengthMax)) throw wrongType(name, `a string of 1 to ${lengthMax} characters`, value);
}

function base64Of({ buffer, byteOffset, byteLength }: Uint8Array): string {
	return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}

function checkDepth(text: string): void {
	if (isDeeperThan(text, PAYLOAD_DEPTH_MAX)) {
		throw new RangeError(`payload must nest at most ${PAYLOAD_DEPTH_MAX} levels of objects and arrays`);
	}
}
