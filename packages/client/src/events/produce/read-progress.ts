import { EVENT_BYTES_MAX, type EventWindowData, type RefusedEvent, SpockError } from '@spock/protocol';
import { isInteger, isObject, stringOrNull } from '@spock/protocol/internal';
import type { Opened, Progress } from './outbox.ts';

type Members = Readonly<Record<string, unknown>>;

/** The answer to `openProducer`, checked. */
export interface OpenedProducer extends Opened {
	readonly epoch: number;
	readonly ticket: string;
	/** Why the window is 0; null while it is not, or for an unknown reason. */
	readonly reason: string | null;
	/** Longest text of an event's data, in bytes. */
	readonly eventBytesMax: number;
}

/**
 * Reads the answer to `openProducer`. Throws PROTOCOL for another shape, and for numbers that cannot be: an epoch that is not this
 * producer's, events that it has never emitted, or fewer than it has forgotten.
 *
 * @param known What the producer knows of itself.
 */
export function readOpened(
	data: unknown,
	known: { readonly epoch: number | undefined; readonly persisted: number; readonly last: number },
): OpenedProducer {
	const { epoch, persisted, stored, window, eventBytesMax, ticket, refused } = membersOf(data);
	const { bytes, events, reason } = membersOf(window);
	if (!isInteger(epoch, 1) || !isInteger(persisted, 0) || typeof ticket !== 'string' || ticket === '')
		throw wrongShape();
	if (!isInteger(bytes, 0) || !isInteger(events, 0)) throw wrongShape();
	if (known.epoch !== undefined && epoch !== known.epoch) {
		throw impossible(`this producer has the epoch ${known.epoch}, not ${epoch}`);
	}
	if (persisted < known.persisted) {
		throw impossible(`events up to ${known.persisted} were persisted and are forgotten here, but it has ${persisted}`);
	}
	if (persisted > known.last) throw impossible(`it has events up to ${persisted}, but ${known.last} were emitted`);
	return {
		epoch,
		persisted,
		stored: numbersOf(stored),
		refused: refusalsOf(refused),
		window: { bytes, events },
		eventBytesMax: isInteger(eventBytesMax, 1) ? Math.min(eventBytesMax, EVENT_BYTES_MAX) : EVENT_BYTES_MAX,
		ticket,
		reason: stringOrNull(reason),
	};
}

/** Whose push it is; undefined for data of another shape. */
export function ownerOf(data: unknown): { readonly producer: string; readonly epoch: number } | undefined {
	const { producer, epoch } = membersOf(data);
	return typeof producer === 'string' && isInteger(epoch, 1) ? { producer, epoch } : undefined;
}

/** The data of `acked`; undefined for another shape. */
export function readAcked(data: unknown): Progress | undefined {
	const { persisted, stored, refused } = membersOf(data);
	if (!isInteger(persisted, 0)) return undefined;
	return { persisted, stored: numbersOf(stored), refused: refusalsOf(refused) };
}

/** The data of `eventWindow`; undefined for another shape. */
export function readWindow(data: unknown): Pick<EventWindowData, 'bytes' | 'events' | 'reason'> | undefined {
	const { bytes, events, reason } = membersOf(data);
	if (!isInteger(bytes, 0) || !isInteger(events, 0)) return undefined;
	return { bytes, events, ...(typeof reason === 'string' && { reason }) };
}

/** Why an event was refused. */
export function refusedError(refusal: RefusedEvent, stream: string): SpockError {
	const { seq, code, message } = refusal;
	const details = { stream, seq };
	return SpockError.fromWire({ code, message: `the sidecar refused an event: ${message}`, details });
}

function membersOf(data: unknown): Members {
	return isObject(data) ? data : {};
}

function numbersOf(data: unknown): Readonly<Record<string, number>> | undefined {
	const entries = Object.entries(membersOf(data)).filter((entry): entry is [string, number] => isInteger(entry[1], 0));
	return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function refusalsOf(data: unknown): readonly RefusedEvent[] | undefined {
	if (!Array.isArray(data) || data.length === 0) return undefined;
	return data.filter(isObject).flatMap(({ seq, code, message }) => {
		if (!isInteger(seq, 1)) return [];
		return [{ seq, code: stringOrNull(code) ?? 'INTERNAL', message: stringOrNull(message) ?? 'no reason was given' }];
	});
}

function wrongShape(): SpockError {
	return impossible('the answer has the wrong shape');
}

function impossible(why: string): SpockError {
	return new SpockError('PROTOCOL', `openProducer: ${why}`);
}
