import {
	type ConsumeOrder,
	type EventData,
	type EventFilter,
	type OpenConsumerData,
	SpockError,
} from '@spock/protocol';
import type { Random } from '@spock/protocol/internal';

import type { LogEvent } from '../foundation/log-record.ts';
import { CONSUMED_NAME_LENGTH_MAX } from '../foundation/moved-event.ts';
import { isDeadStream } from './dead-letter.ts';

const DEFAULT_ATTEMPTS = 5;
const RETRY_DELAY_MS_MIN = 1000;
const RETRY_DELAY_MS_MAX = 5 * 60_000;

/** What all members of a group agree on. */
export interface GroupTerms {
	readonly stream: string;
	/** Undefined: a reader of its own. */
	readonly group: string | undefined;
	readonly order: ConsumeOrder;
	/** Deliveries of an event before it becomes a dead letter; 0: without end. */
	readonly attempts: number;
	readonly filter: EventFilter;
}

/** Throws BAD_REQUEST for a stream whose dead letters could have no name. */
export function groupTerms({ stream, group, order, attempts, filter }: OpenConsumerData): GroupTerms {
	if (stream.length > CONSUMED_NAME_LENGTH_MAX && !isDeadStream(stream)) {
		const rule = `expected at most ${CONSUMED_NAME_LENGTH_MAX}, so that its dead letters have a name; use a shorter one`;
		throw new SpockError('BAD_REQUEST', `the stream's name has ${stream.length} characters; ${rule}`, {
			details: { path: 'stream' },
		});
	}
	return { stream, group, order: order ?? 'none', attempts: attempts ?? DEFAULT_ATTEMPTS, filter: filter ?? {} };
}

/** Throws BAD_REQUEST, naming both, where a new member wants other terms than the group's present ones. */
export function requireSameTerms(present: GroupTerms, wanted: GroupTerms): void {
	const refuse = (name: string, has: string, wants: string): never => {
		const facts = `${name} ${has}, and the new member wants ${wants}`;
		const message = `group "${present.group}" of stream "${present.stream}" has ${facts}; use the same, or another group`;
		throw new SpockError('BAD_REQUEST', message, { details: { path: name } });
	};
	if (present.order !== wanted.order) refuse('order', `"${present.order}"`, `"${wanted.order}"`);
	if (present.attempts !== wanted.attempts) refuse('attempts', String(present.attempts), String(wanted.attempts));
	if (filterKey(present.filter) === filterKey(wanted.filter)) return;
	refuse('filter', shorten(present.filter), shorten(wanted.filter));
}

export type EventMatcher = (event: LogEvent) => boolean;

/** Stands in the text of every event that has headers, as `encodeEvent` writes it; elsewhere in a payload at most. */
const HEADERS_MEMBER = ',"headers":';

/** Whether an event passes a filter. Headers stand in the event's text, which is parsed only where the filter names some and it may have some. */
export function eventMatcher({ keys, headers }: EventFilter): EventMatcher {
	const wantedKeys = keys && new Set(keys);
	const wantedHeaders = Object.entries(headers ?? {});
	return (event) => {
		if (wantedKeys !== undefined && (event.key === undefined || !wantedKeys.has(event.key))) return false;
		if (wantedHeaders.length === 0) return true;
		if (!event.text.includes(HEADERS_MEMBER)) return false;
		const { headers: given = {} } = JSON.parse(event.text) as EventData;
		return wantedHeaders.every(([name, value]) => Object.hasOwn(given, name) && given[name] === value);
	};
}

/** One text for each filter, however it is written: two of the same text let the same events pass. */
function filterKey({ keys, headers }: EventFilter): string {
	const names = Object.entries(headers ?? {}).sort(([left], [right]) => (left < right ? -1 : 1));
	return JSON.stringify([keys === undefined ? null : [...new Set(keys)].sort(), names]);
}

/** How long to wait for the delivery after so many: 1 s doubled up to 5 min, of which the second half is random. */
export function retryDelayMs(deliveries: number, random: Random): number {
	// 2^30 times the first is past the ceiling; the cap keeps the power exact.
	const ceilingMs = Math.min(RETRY_DELAY_MS_MAX, RETRY_DELAY_MS_MIN * 2 ** Math.min(deliveries - 1, 30));
	return Math.round((ceilingMs * (1 + random())) / 2);
}

const SHOWN_LENGTH_MAX = 200;

function shorten(filter: EventFilter): string {
	const text = JSON.stringify(filter);
	return text.length <= SHOWN_LENGTH_MAX ? text : `${text.slice(0, SHOWN_LENGTH_MAX)}…`;
}
