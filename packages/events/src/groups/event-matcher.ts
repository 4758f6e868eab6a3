import type { EventData, EventFilter } from '@spock/protocol';

import type { LogEvent } from '../foundation/log-record.ts';

/** Stands in the text of every event that has headers, as `encodeEvent` writes it; elsewhere in a payload at most. */
const HEADERS_MEMBER = ',"headers":';

export type EventMatcher = (event: LogEvent) => boolean;

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
export function filterKey({ keys, headers }: EventFilter): string {
	const names = Object.entries(headers ?? {}).sort(([left], [right]) => (left < right ? -1 : 1));
	return JSON.stringify([keys === undefined ? null : [...new Set(keys)].sort(), names]);
}
