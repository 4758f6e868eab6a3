import { EVENT_BYTES_MAX, type EventWindow, type RefusedEvent, SpockError } from '@spock/protocol';
import { isInteger, isObject, stringOrNull } from '@spock/protocol/internal';
import type { Opened, Progress } from './outbox.ts';

type Members = Readonly<Record<string, unknown>>;

/** What may be sent and not persisted. */
interface GivenWindow {
	readonly window: EventWindow;
	/** Why it is 0; null while it is not, or for an unknown reason. */
	readonly reason: string | null;
}

/** The answer to `openProducer`, checked. */
export interface OpenedProducer extends Opened, GivenWindow {
	readonly epoch: number;
	readonly ticket: string;
	/** Longest text of an event's data, in bytes. */
	readonly eventBytesMax: number;
	/** Of the last event that an earlier epoch of this name left in the log. */
	readonly lastId: string | undefined;
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
	const { epoch, window: given, eventBytesMax, ticket, lastId } = membersOf(data);
	const progress = readAcked(data);
	const window = readWindow(given);
	if (!isInteger(epoch, 1) || typeof ticket !== 'string' || ticket === '' || !progress || !window) {
		throw impossible('the answer has the wrong shape');
	}
	const { persisted } = progress;
	if (known.epoch !== undefined && epoch !== known.epoch) {
		throw impossible(`this producer has the epoch ${known.epoch}, not ${epoch}`);
	}
	if (persisted < known.persisted) {
		throw impossible(`events up to ${known.persisted} were persisted and are forgotten here, but it has ${persisted}`);
	}
	if (persisted > known.last) throw impossible(`it has events up to ${persisted}, but ${known.last} were emitted`);
	return {
		...progress,
		...window,
		epoch,
		eventBytesMax: isInteger(eventBytesMax, 1) ? Math.min(eventBytesMax, EVENT_BYTES_MAX) : EVENT_BYTES_MAX,
		ticket,
		lastId: stringOrNull(lastId) ?? undefined,
	};
}

/** Whose push it is; undefined for data of another shape. */
export function ownerOf(data: unknown): { readonly producer: string; readonly epoch: number } | undefined {
	const { producer, epoch } = membersOf(data);
	return typeof producer === 'string' && isInteger(epoch, 1) ? { producer, epoch } : undefined;
}

/** The data of `acked`; undefined for another shape. */
export function readAcked(data: unknown): Progress | undefined {
	const { persisted, stored, refused, refusedByStore } = membersOf(data);
	if (!isInteger(persisted, 0)) return undefined;
	return {
		persisted,
		stored: numbersOf(stored),
		refused: refusalsOf(refused),
		refusedByStore: refusalsOf(refusedByStore),
	};
}

/** The data of `eventWindow`; undefined for another shape. */
export function readWindow(data: unknown): GivenWindow | undefined {
	const { bytes, events, reason } = membersOf(data);
	if (!isInteger(bytes, 0) || !isInteger(events, 0)) return undefined;
	return { window: { bytes, events }, reason: stringOrNull(reason) };
}

/** Why an event was refused, by the sidecar or by the store of its stream. */
export function refusedError(refusal: RefusedEvent, stream: string): SpockError {
	const { seq, code, message } = refusal;
	const details = { stream, seq };
	return SpockError.fromWire({ code, message: `an event was refused: ${message}`, details });
}

function membersOf(data: unknown): Members {
	return isObject(data) ? data : {};
}

function numbersOf(data: unknown): Readonly<Record<string, number>> | undefined {
	const entries = Object.entries(membersOf(data)).filter((entry): entry is [string, number] => isInteger(entry[1], 0));
	return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function refusalsOf(data: unknown): readonly RefusedEvent[] | undefined {
	if (!Array.isArray(data)) return undefined;
	return data.filter(isObject).flatMap(({ seq, code, message }) => {
		if (!isInteger(seq, 1)) return [];
		return [{ seq, code: stringOrNull(code) ?? 'INTERNAL', message: stringOrNull(message) ?? 'no reason was given' }];
	});
}

function impossible(why: string): SpockError {
	return new SpockError('PROTOCOL', `openProducer: ${why}`);
}
