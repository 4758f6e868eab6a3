import { badMember, badValue } from '../errors/spock-error.ts';
import {
	CONSUMER_IN_FLIGHT_MAX,
	EVENT_HEADERS_MAX,
	EVENT_ID_LENGTH_MAX,
	EVENT_KEY_LENGTH_MAX,
	FILTER_KEYS_MAX,
	NAME_LENGTH_MAX,
	NOTE_LENGTH_MAX,
	PRODUCER_NUMBER_MAX,
	STREAM_NAME_LENGTH_MAX,
	TIMEOUT_MS_MAX,
} from '../foundation/limits.ts';
import { nameHint } from '../foundation/nearest-name.ts';
import { isInteger, isObject, isText } from '../foundation/values.ts';
import type {
	AckData,
	CloseConsumerData,
	ConsumeFrom,
	ConsumeOrder,
	DeleteGroupData,
	EventData,
	EventFilter,
	EventLevel,
	NackData,
	OpenConsumerData,
	OpenProducerData,
	PublishData,
	RewindGroupData,
	TermData,
} from './event-model.ts';
import { JsonText } from './member-text.ts';

type Members = Readonly<Record<string, unknown>>;

const STREAM_NAME = /^[A-Za-z0-9_.-]+$/;
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const LEVELS: readonly EventLevel[] = ['persisted', 'stored'];
const ORDERS: readonly ConsumeOrder[] = ['none', 'key', 'stream'];
const VERSION_MAX = 1_000_000_000;

/** True for a name of a stream, a group or a producer. */
export function isStreamName(value: unknown): value is string {
	return typeof value === 'string' && value.length <= STREAM_NAME_LENGTH_MAX && STREAM_NAME.test(value);
}

/** An event, checked, with unknown members left out. Throws BAD_REQUEST. */
export function validateEvent(data: unknown): EventData {
	const members = objectOf(data, '');
	const { payload, encoding } = members;
	if (payload === undefined) throw badMember('payload', 'is missing: give the event, or null');
	if (encoding !== undefined && encoding !== null) {
		if (encoding !== 'base64') throw badValue('encoding', 'must be "base64"', encoding);
		const isString = payload instanceof JsonText ? payload.text.startsWith('"') : typeof payload === 'string';
		if (!isString) throw badMember('payload', 'must be a string where encoding is "base64"');
	}
	const { key, id, at, version, traceparent, headers } = members;
	return {
		stream: streamName(members, 'stream'),
		...(isGiven(key) && { key: textOf(key, 'key', EVENT_KEY_LENGTH_MAX) }),
		...(isGiven(id) && { id: textOf(id, 'id', EVENT_ID_LENGTH_MAX) }),
		...(isGiven(at) && { at: integerOf(at, 'at', 0, Number.MAX_SAFE_INTEGER) }),
		...(isGiven(version) && { version: integerOf(version, 'version', 1, VERSION_MAX) }),
		...(encoding === 'base64' && { encoding }),
		// A bad one is ignored, as W3C has it.
		...(typeof traceparent === 'string' && TRACEPARENT.test(traceparent) && { traceparent }),
		...(isGiven(headers) && { headers: headersOf(headers, 'headers') }),
		payload,
	};
}

/** The data of `publish`. Throws BAD_REQUEST. */
export function validatePublish(data: unknown): PublishData {
	const { until } = objectOf(data, '');
	const event = validateEvent(data);
	return isGiven(until) ? { ...event, until: oneOf(until, 'until', LEVELS) } : event;
}

/** The data of `openProducer`. Throws BAD_REQUEST. */
export function validateOpenProducer(data: unknown): OpenProducerData {
	const members = objectOf(data, '');
	const { epoch, persisted, gaps } = members;
	return {
		producer: streamName(members, 'producer'),
		...(isGiven(epoch) && { epoch: integerOf(epoch, 'epoch', 1, PRODUCER_NUMBER_MAX) }),
		...(isGiven(persisted) && { persisted: integerOf(persisted, 'persisted', 0, PRODUCER_NUMBER_MAX) }),
		...(isGiven(gaps) && { gaps: booleanOf(gaps, 'gaps') }),
	};
}

/** The data of `openConsumer`. Throws BAD_REQUEST. */
export function validateOpenConsumer(data: unknown): OpenConsumerData {
	const members = objectOf(data, '');
	const { group, from, inFlightMax, ackWaitMs, attempts, order, filter } = members;
	return {
		stream: streamName(members, 'stream'),
		...(isGiven(group) && { group: streamName(members, 'group') }),
		...(isGiven(from) && { from: consumeFrom(from, 'from') }),
		...(isGiven(inFlightMax) && { inFlightMax: integerOf(inFlightMax, 'inFlightMax', 1, CONSUMER_IN_FLIGHT_MAX) }),
		...(isGiven(ackWaitMs) && { ackWaitMs: integerOf(ackWaitMs, 'ackWaitMs', 1, TIMEOUT_MS_MAX) }),
		...(isGiven(attempts) && { attempts: integerOf(attempts, 'attempts', 0, Number.MAX_SAFE_INTEGER) }),
		...(isGiven(order) && { order: oneOf(order, 'order', ORDERS) }),
		...(isGiven(filter) && { filter: filterOf(filter) }),
	};
}

/** The data of `closeConsumer`. Throws BAD_REQUEST. */
export function validateCloseConsumer(data: unknown): CloseConsumerData {
	const { consumer, handed } = objectOf(data, '');
	return {
		consumer: integerOf(consumer, 'consumer', 0, Number.MAX_SAFE_INTEGER),
		...(isGiven(handed) && { handed: deliveriesOf(handed, 'handed') }),
	};
}

/** The data of `rewindGroup`. Throws BAD_REQUEST. */
export function validateRewindGroup(data: unknown): RewindGroupData {
	const members = objectOf(data, '');
	return {
		stream: streamName(members, 'stream'),
		group: streamName(members, 'group'),
		to: consumeFrom(members['to'], 'to'),
	};
}

/** The data of `deleteGroup`. Throws BAD_REQUEST. */
export function validateDeleteGroup(data: unknown): DeleteGroupData {
	const members = objectOf(data, '');
	return { stream: streamName(members, 'stream'), group: streamName(members, 'group') };
}

/** The ticket in the notice `uplink`. Throws BAD_REQUEST. */
export function validateUplink(data: unknown): string {
	return textOf(objectOf(data, '')['ticket'], 'ticket', NAME_LENGTH_MAX);
}

/** The data of the notices `ack` and `extend`. Throws BAD_REQUEST. */
export function validateAck(data: unknown): AckData {
	const { consumer, n } = objectOf(data, '');
	const deliveries = deliveriesOf(n, 'n');
	return { consumer: integerOf(consumer, 'consumer', 0, Number.MAX_SAFE_INTEGER), n: deliveries };
}

/** The data of the notice `nack`. Throws BAD_REQUEST. */
export function validateNack(data: unknown): NackData {
	const { delayMs } = objectOf(data, '');
	const ack = validateAck(data);
	return isGiven(delayMs) ? { ...ack, delayMs: integerOf(delayMs, 'delayMs', 0, TIMEOUT_MS_MAX) } : ack;
}

/** The data of the notice `term`. Throws BAD_REQUEST. */
export function validateTerm(data: unknown): TermData {
	const { reason } = objectOf(data, '');
	const ack = validateAck(data);
	return isGiven(reason) ? { ...ack, reason: textOf(reason, 'reason', NOTE_LENGTH_MAX) } : ack;
}

function deliveriesOf(value: unknown, path: string): readonly number[] {
	const isGood =
		Array.isArray(value) &&
		value.length <= CONSUMER_IN_FLIGHT_MAX &&
		value.every((one) => isInteger(one, 0, Number.MAX_SAFE_INTEGER));
	if (!isGood) throw badMember(path, `must be a list of at most ${CONSUMER_IN_FLIGHT_MAX} numbers of deliveries`);
	return value;
}

function consumeFrom(value: unknown, path: string): ConsumeFrom {
	if (value === 'new' || value === 'first') return value;
	if (isObject(value) && Object.keys(value).every((name) => name === 'position' || name === 'time')) {
		const { position, time } = value;
		if (isGiven(position) && !isGiven(time)) {
			return { position: integerOf(position, `${path}.position`, 0, Number.MAX_SAFE_INTEGER) };
		}
		if (isGiven(time) && !isGiven(position)) {
			return { time: integerOf(time, `${path}.time`, 0, Number.MAX_SAFE_INTEGER) };
		}
	}
	throw badValue(path, 'must be "new", "first", {"position": N} or {"time": N}', value);
}

/** Unknown members are refused: a condition that is left out would give events that were not asked for. */
function filterOf(value: unknown): EventFilter {
	const { keys, headers, ...others } = objectOf(value, 'filter');
	for (const name of Object.keys(others)) {
		throw badMember(`filter.${name}`, `is no condition; ${nameHint(name, ['keys', 'headers'])}`);
	}
	if (isGiven(keys)) {
		const isGood =
			Array.isArray(keys) && keys.length <= FILTER_KEYS_MAX && keys.every((key) => isText(key, EVENT_KEY_LENGTH_MAX));
		if (!isGood) {
			const rule = `must be at most ${FILTER_KEYS_MAX} strings of 1 to ${EVENT_KEY_LENGTH_MAX} characters`;
			throw badMember('filter.keys', rule);
		}
	}
	return {
		...(isGiven(keys) && { keys: keys as readonly string[] }),
		...(isGiven(headers) && { headers: headersOf(headers, 'filter.headers') }),
	};
}

function headersOf(value: unknown, path: string): Readonly<Record<string, string>> {
	const entries = Object.entries(objectOf(value, path));
	if (entries.length > EVENT_HEADERS_MAX) {
		throw badMember(path, `must have at most ${EVENT_HEADERS_MAX} members, not ${entries.length}`);
	}
	for (const [name, text] of entries) {
		if (!isText(name)) throw badMember(path, 'must have names of 1 to 512 characters');
		if (typeof text !== 'string') throw badValue(`${path}.${name}`, 'must be a string', text);
	}
	return Object.fromEntries(entries) as Record<string, string>;
}

function streamName(members: Members, path: string): string {
	const value = members[path];
	if (isStreamName(value)) return value;
	const rule = `must be 1 to ${STREAM_NAME_LENGTH_MAX} letters, digits, "_", "." or "-"`;
	throw badValue(path, rule, value);
}

function textOf(value: unknown, path: string, lengthMax: number): string {
	if (isText(value, lengthMax)) return value;
	throw badValue(path, `must be a string of 1 to ${lengthMax} characters`, value);
}

function integerOf(value: unknown, path: string, min: number, max: number): number {
	if (isInteger(value, min, max)) return value;
	throw badValue(path, `must be an integer from ${min} to ${max}`, value);
}

function booleanOf(value: unknown, path: string): boolean {
	if (typeof value === 'boolean') return value;
	throw badValue(path, 'must be true or false', value);
}

function oneOf<T extends string>(value: unknown, path: string, values: readonly T[]): T {
	const found = values.find((one) => one === value);
	if (found !== undefined) return found;
	throw badValue(path, `must be ${values.map((one) => JSON.stringify(one)).join(' or ')}`, value);
}

function objectOf(value: unknown, path: string): Members {
	if (isObject(value)) return value;
	throw badMember(path, 'must be an object');
}

function isGiven(value: unknown): boolean {
	return value !== undefined && value !== null;
}
