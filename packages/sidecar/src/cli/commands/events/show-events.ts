import { type EventsStatus, type GroupStatus, SpockError, type StoreFault, type StreamStatus } from '@spock/protocol';

import type { ClientFlags } from '../../client/sidecar-target.ts';
import { withClient } from '../../client/with-client.ts';
import { typedAdvice } from '../../output/command-name.ts';
import { formatCount, formatDuration } from '../../output/figures.ts';
import { CommandError, EXIT, print, printable } from '../../output/output.ts';

const MIB = 1_048_576;

/** `sidecar events status` */
export async function eventsStatus(flags: ClientFlags): Promise<void> {
	await withClient(flags, async (client, options) => {
		const events = expectEvents((await client.request('status', null, options)).events);
		print(flags.json ? JSON.stringify(events) : formatEvents(events, Date.now()));
	});
}

/** What is known of events. Throws UNKNOWN_FUNC where the sidecar takes none. */
export function expectEvents(events: EventsStatus | undefined): EventsStatus {
	if (events !== undefined) return events;
	throw new SpockError('UNKNOWN_FUNC', 'this sidecar takes no events: start it with --events DIRECTORY');
}

/** A wrong place in a stream: `first`, `new`, a position, or a time as ISO 8601 writes it. */
export function placeOf(flag: string, text: string): 'first' | 'new' | { position: number } | { time: number } {
	if (text === 'first' || text === 'new') return text;
	if (/^\d{1,15}$/.test(text)) return { position: Number(text) };
	const time = Date.parse(text);
	if (!Number.isNaN(time) && time >= 0) return { time };
	const expected = 'must be first, new, a position such as 1200, or a time such as 2026-01-31T12:00:00Z';
	throw new CommandError(EXIT.usage, `${flag} ${expected}, not ${JSON.stringify(text)}`);
}

/** A page of text for people. `now` in milliseconds since 1970. */
export function formatEvents(events: EventsStatus, now: number): string {
	const { state, reason, directory, bytes, bytesMax, producers, unstored, oldestUnstoredMs, damaged } = events;
	const oldest = oldestUnstoredMs === null ? '' : `, the oldest for ${formatDuration(oldestUnstoredMs)}`;
	return [
		`log          ${state}, ${mebibytes(bytes)} of ${mebibytes(bytesMax)} in ${directory}`,
		...(reason === null ? [] : [`             ${typedAdvice(reason)}`]),
		...(damaged === 0 ? [] : [`             ${formatCount(damaged, 'damaged record')} skipped`]),
		`producers    ${producers}; ${formatCount(unstored, 'event')} not stored yet${oldest}`,
		`streams      ${events.streams.length}`,
		...events.streams.map((stream) => formatStream(stream, now)),
		...(events.storeFaults ?? []).map((fault) => `  ${formatFault(fault)}`),
		`groups       ${events.groups.length}`,
		...events.groups.map((group) => `  ${formatGroup(group)}`),
	]
		.map(printable)
		.join('\n');
}

function formatStream(status: StreamStatus, now: number): string {
	const { stream, store, first, last, events, bytes, lastAt, unstored } = status;
	const places = first === null ? '' : `, positions ${first} to ${last}`;
	const age = lastAt === null ? '' : `, last ${formatDuration(now - lastAt)} ago`;
	const waiting = unstored === 0 ? '' : `, ${unstored} not stored yet`;
	return `  ${stream}  ${store}, ${formatCount(events, 'event')}, ${mebibytes(bytes)}${places}${age}${waiting}`;
}

/** A store that cannot be used now. */
function formatFault({ stream, store, doing, reason, forMs }: StoreFault): string {
	const what = doing === 'sending' ? `cannot be sent to ${store}` : `cannot be read from ${store}`;
	return `${stream}  ${what} for ${formatDuration(forMs)}: ${reason}`;
}

/** A line of text for people. */
export function formatGroup(status: GroupStatus): string {
	const { stream, group, order, consumers, position, lag, out, backingOff, oldestUnackedMs } = status;
	const oldest = oldestUnackedMs === null ? '' : ` (the oldest for ${formatDuration(oldestUnackedMs)})`;
	const retries = backingOff === 0 ? '' : `, ${backingOff} backing off`;
	const ordered = order === 'none' ? '' : `, order ${order}`;
	const left = lag === null ? '' : `, lag ${lag}`;
	return `${stream} ${group}  at ${position}${left}, ${out} out${oldest}${retries}, ${formatCount(consumers, 'consumer')}${ordered}`;
}

function mebibytes(bytes: number): string {
	return `${(bytes / MIB).toFixed(1)} MiB`;
}
