import type { Delivery } from '@spock/events';
import {
	type AckedData,
	type EventWindowData,
	encodePayload,
	encodePush,
	fitsFrame,
	type RefusedEvent,
	type SpockError,
} from '@spock/protocol';

/** Of a text that would be too long for its frame, so many characters fit into the shortest frame there is. */
const TEXT_LENGTH_MAX = 128;

/**
 * The pushes that tell a producer what has become of its events: one, or several where one does not fit. Each says no more than that
 * `persisted` up to which its refused events are told, so that none counts as persisted before it is known to be refused.
 */
export function ackedLines(data: AckedData, frameBytesMax: number): string[] {
	const line = encodePush('acked', encodePayload(data));
	if (fitsFrame(line, frameBytesMax)) return [line];
	const { refused = [], stored, ...rest } = data;
	if (stored !== undefined && (refused.length > 0 || Object.keys(stored).length > 1)) {
		const parts = halves(Object.entries(stored)).map((part) => ({ ...rest, stored: Object.fromEntries(part) }));
		const first: AckedData = { ...rest, refused };
		return [...(refused.length > 0 ? [first] : []), ...parts].flatMap((one) => ackedLines(one, frameBytesMax));
	}
	if (refused.length > 1) {
		const [before, behind] = halves(refused) as [RefusedEvent[], RefusedEvent[]];
		const persisted = Math.min(rest.persisted, (behind[0] as RefusedEvent).seq - 1);
		return [
			{ ...rest, persisted, refused: before },
			{ ...rest, refused: behind },
		].flatMap((one) => ackedLines(one, frameBytesMax));
	}
	const shorter = refused.map((one) => ({ ...one, message: one.message.slice(0, TEXT_LENGTH_MAX) }));
	return [encodePush('acked', encodePayload({ ...rest, ...(shorter.length > 0 && { refused: shorter }) }))];
}

/** The push of a producer's window, with fewer words where they do not fit. */
export function windowLine(data: EventWindowData, frameBytesMax: number): string {
	const line = encodePush('eventWindow', encodePayload(data));
	if (fitsFrame(line, frameBytesMax) || data.reason === undefined) return line;
	return encodePush('eventWindow', encodePayload({ ...data, reason: data.reason.slice(0, TEXT_LENGTH_MAX) }));
}

/** The push that ends a consumer. */
export function consumerClosedLine(consumer: number, error: SpockError, frameBytesMax: number): string {
	const { code, message, retryable, details } = error.toWire();
	const line = encodePush('consumerClosed', encodePayload({ consumer, error: { code, message, retryable, details } }));
	if (fitsFrame(line, frameBytesMax)) return line;
	const shorter = { code, message: message.slice(0, TEXT_LENGTH_MAX), retryable, details: {} };
	return encodePush('consumerClosed', encodePayload({ consumer, error: shorter }));
}

/** Pushes of deliveries, and what did not fit. */
export interface DeliverLines {
	readonly lines: readonly string[];
	/** The first event that is too long for a frame of this client by itself, and how long its frame would be, in bytes. */
	readonly oversize: { readonly delivery: Delivery; readonly frameBytes: number } | undefined;
}

const TAIL = ']}}\n';
/** Of a line that has so many bytes or more another one begins: the client works on the first meanwhile. */
const LINE_BYTES = 65_536;

/**
 * The pushes that deliver events, as many to a line as fit. The text of an event stands in its line as its producer wrote it: it is not
 * parsed here, and not printed again. Nothing behind an event that is too long is in the lines.
 */
export function deliverLines(
	{ consumer, rewinds }: { readonly consumer: number; readonly rewinds: number },
	deliveries: readonly Delivery[],
	frameBytesMax: number,
): DeliverLines {
	const lines: string[] = [];
	const name = rewinds === 0 ? `${consumer}` : `${consumer},"rewinds":${rewinds}`;
	const head = `{"event":"deliver","data":{"consumer":${name},"events":[`;
	// LF is not counted.
	const around = head.length + TAIL.length - 1;
	let line = '';
	let bytes = around;
	for (const delivery of deliveries) {
		const { n, event } = delivery;
		const text = `{"n":${n},"delivery":${delivery.delivery},"position":${event.position},"time":${event.time},"event":${event.text}}`;
		const textBytes = Buffer.byteLength(text);
		if (line !== '' && (bytes + 1 + textBytes > frameBytesMax || bytes >= LINE_BYTES)) {
			lines.push(head + line + TAIL);
			line = '';
			bytes = around;
		}
		if (around + textBytes > frameBytesMax) return { lines, oversize: { delivery, frameBytes: around + textBytes } };
		bytes += textBytes + (line === '' ? 0 : 1);
		line += line === '' ? text : `,${text}`;
	}
	if (line !== '') lines.push(head + line + TAIL);
	return { lines, oversize: undefined };
}

function halves<T>(list: readonly T[]): [T[], T[]] {
	const middle = list.length >> 1;
	return [list.slice(0, middle), list.slice(middle)];
}
