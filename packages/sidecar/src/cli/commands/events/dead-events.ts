import type { CallOptions, Diplomat } from '@spock/client';
import { openEvents, type ReceivedEvent } from '@spock/client/events';
import { type ConsumeFrom, DEAD_RETRY_GROUP, EVENT_HEADERS_MAX, SpockError } from '@spock/protocol';

import { type ClientFlags, timeoutOf } from '../../client/sidecar-target.ts';
import { withClient } from '../../client/with-client.ts';
import { formatCount } from '../../output/figures.ts';
import { print, printable } from '../../output/output.ts';
import { askOpenLog, isKnownStream, requireStream } from './event-groups.ts';
import { formatEvent } from './tail-events.ts';

/** As many as one consumer may hold. */
const IN_FLIGHT_MAX = 4096;
const REASON = 'spock-dead-reason';
/** The group that gave it up; absent for a reader without one. */
const GROUP = 'spock-dead-group';
const DIED_AT = 'spock-dead-position';
/** The `id` that an event which was published again had before it died for the first time. */
const RETRIED_ID = 'spock-retried-id';
/** What the sidecar tells of a dead event: not for the event that is made of it. */
const OWN_HEADER = /^spock-dead-/;

/** `sidecar events dead STREAM`: what was given up and why; with --retry each is published again, and is dead no more. */
export async function deadEvents(stream: string, flags: ClientFlags & { readonly retry?: boolean }): Promise<void> {
	await withClient(flags, async (client, options, given) => {
		const { from, last } = await deadOf(client, stream, options);
		let shown = 0;
		if (last !== undefined) {
			const events = openEvents({ diplomat: client });
			// Looking makes no group.
			const group = flags.retry ? { group: DEAD_RETRY_GROUP, attempts: 0 } : {};
			// How many there are is not known for sure: it ends with the last, or where nothing comes for the time of an answer.
			const quiet = new AbortController();
			const timer = setTimeout(() => quiet.abort(), timeoutOf(flags));
			const more = { from, inFlightMax: IN_FLIGHT_MAX, signal: quiet.signal };
			try {
				for await (const event of events.consume(`${stream}.dead`, { ...group, ...more })) {
					timer.refresh();
					print(flags.json ? JSON.stringify(event) : `${formatEvent(event)}  ${printable(reasonOf(event))}`);
					if (flags.retry) await publishAgain(client, stream, event, options);
					event.ack();
					shown++;
					if (event.position >= last) break;
				}
			} finally {
				clearTimeout(timer);
			}
			given();
			await events.drain();
		}
		if (!flags.json) process.stderr.write(`${summary(stream, shown, flags.retry === true)}\n`);
	});
}

/** Where those that were not published again begin, and the position of the last; undefined if there is none. */
async function deadOf(
	client: Diplomat,
	stream: string,
	options: CallOptions,
): Promise<{ readonly from: ConsumeFrom; readonly last: number | undefined }> {
	const events = await askOpenLog(client, options);
	const { streams, groups } = events;
	const name = `${stream}.dead`;
	const last = streams.find((known) => known.stream === name)?.last ?? undefined;
	if (last === undefined) {
		requireStream(stream, events);
		if (isKnownStream(name, events)) {
			// One of more streams than are listed: which is its last is not known, so it ends where nothing comes.
			return { from: 'first', last: Number.POSITIVE_INFINITY };
		}
	}
	const group = groups.find((known) => known.stream === name && known.group === DEAD_RETRY_GROUP);
	if (group === undefined) return { from: 'first', last };
	return { from: { position: group.position }, last: last !== undefined && last >= group.position ? last : undefined };
}

function reasonOf({ headers }: ReceivedEvent): string {
	const group = headers[GROUP];
	return `${group === undefined ? '' : `group ${group}: `}${headers[REASON] ?? 'no reason was told'}`;
}

/**
 * With an id of its own: so that one whose ack was lost is not there twice, if it is published again within the window of ids, and none is taken
 * for another one that had the same id. The id by which consumers knew it is in a header, where there is room for it.
 */
async function publishAgain(
	client: Diplomat,
	stream: string,
	event: ReceivedEvent,
	options: CallOptions,
): Promise<void> {
	const headers = Object.fromEntries(Object.entries(event.headers).filter(([name]) => !OWN_HEADER.test(name)));
	const again = againOf(stream, event);
	const hasRoom = Object.keys(headers).length < EVENT_HEADERS_MAX;
	const named = hasRoom ? { [RETRIED_ID]: knownId(stream, event), ...headers } : headers;
	try {
		await client.request('publish', { ...again, headers: named }, options);
	} catch (error) {
		// One of the greatest length has no room for the header.
		if (!SpockError.is(error, 'FRAME_TOO_LARGE')) throw error;
		await client.request('publish', { ...again, headers }, options);
	}
}

/** The `id` that the event had before it died, which is made of its place if its producer gave none. */
function knownId(stream: string, { id, stream: deadStream, position, headers }: ReceivedEvent): string {
	return id === `${deadStream}@${position}` ? `${stream}@${headers[DIED_AT] ?? position}` : id;
}

function againOf(stream: string, { key, at, version, data, position }: ReceivedEvent) {
	const isBytes = data instanceof Uint8Array;
	return {
		stream,
		id: `dead-${position}`,
		...(key !== undefined && { key }),
		...(at !== undefined && { at }),
		version,
		...(isBytes && { encoding: 'base64' as const }),
		payload: isBytes ? Buffer.from(data).toString('base64') : data,
	};
}

function summary(stream: string, shown: number, isRetried: boolean): string {
	if (shown === 0) return printable(`no dead event of ${stream}`);
	const done = isRetried ? 'published again' : '`--retry` publishes them again';
	return `${formatCount(shown, 'dead event')}; ${done}`;
}
