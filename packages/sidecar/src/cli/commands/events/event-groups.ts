import type { CallOptions, Diplomat } from '@spock/client';
import { type EventsStatus, SpockError } from '@spock/protocol';
import { nearestName } from '@spock/protocol/internal';

import type { ClientFlags } from '../../client/sidecar-target.ts';
import { withClient } from '../../client/with-client.ts';
import { commandLine } from '../../output/command-name.ts';
import { CommandError, EXIT, print, printable } from '../../output/output.ts';
import { expectEvents, formatGroup, placeOf } from './show-events.ts';

/** So many streams, and groups, stand in the answer to `status`: of more nothing is known here. */
const LISTED_MAX = 256;

/** `sidecar events groups` */
export async function eventGroups(stream: string | undefined, flags: ClientFlags): Promise<void> {
	await withClient(flags, async (client, options) => {
		const events = await askOpenLog(client, options);
		const { groups } = events;
		const shown = groups.filter((group) => stream === undefined || group.stream === stream);
		if (shown.length === 0 && stream !== undefined) requireStream(stream, events);
		if (flags.json) print(JSON.stringify(shown));
		else for (const group of shown) print(printable(`${formatGroup(group)}${unusedHint(group.stream, events)}`));
		if (shown.length === 0 && !flags.json) process.stderr.write('no group has consumed it yet\n');
	});
}

/** A group of a misspelt stream waits for ever, so that it is said where a stream has no events. */
function unusedHint(stream: string, events: EventsStatus): string {
	if (isKnownStream(stream, events)) return '';
	const meant = meantStream(stream, events);
	return `; no events in this stream${meant === undefined ? '' : `: ${meant}`}`;
}

/** `sidecar events rewind STREAM GROUP --to PLACE`: prints where the group is, and what it has to do from there. */
export async function rewindGroup(
	stream: string,
	group: string,
	flags: ClientFlags & { readonly to: string },
): Promise<void> {
	const to = placeOf('--to', flags.to);
	await withClient(flags, async (client, options) => {
		const reply = await client
			.request('rewindGroup', { stream, group, to }, options)
			.catch((error: unknown) => refusedGroup(error, stream, group, client, options));
		if (flags.json) {
			print(JSON.stringify(reply));
			return;
		}
		const { groups } = await askOpenLog(client, options);
		const lag = groups.find((known) => known.stream === stream && known.group === group)?.lag;
		const left = lag === undefined || lag === null ? '' : `, ${lag === 0 ? 'behind every event' : `lag ${lag}`}`;
		print(printable(`group ${group} of stream ${stream} is at ${reply.position}${left}`));
	});
}

/** `sidecar events delete-group STREAM GROUP`: the events that were kept for it alone may be deleted from then on. */
export async function deleteGroup(stream: string, group: string, flags: ClientFlags): Promise<void> {
	await withClient(flags, async (client, options) => {
		await client
			.request('deleteGroup', { stream, group }, options)
			.catch((error: unknown) => refusedGroup(error, stream, group, client, options));
		print(flags.json ? JSON.stringify({ stream, group }) : printable(`deleted group ${group} of stream ${stream}`));
	});
}

/** What the sidecar knows of events. Throws UNKNOWN_FUNC where it takes none. */
export async function askEvents(client: Diplomat, options: CallOptions): Promise<EventsStatus> {
	return expectEvents((await client.request('status', null, options)).events);
}

/** As `askEvents`. Throws UNAVAILABLE, and why, while the log is not open: then no stream is known, and no group. */
export async function askOpenLog(client: Diplomat, options: CallOptions): Promise<EventsStatus> {
	const events = await askEvents(client, options);
	if (isOpen(events)) return events;
	throw new SpockError('UNAVAILABLE', events.reason ?? 'the log of events is being opened; try again');
}

/** Throws where nothing is known of a stream; a name that is almost the same is a hint. */
export function requireStream(stream: string, events: EventsStatus): void {
	if (isKnownStream(stream, events)) return;
	const hint = meantStream(stream, events) ?? `\`${commandLine('events', 'status')}\` shows the streams`;
	throw new CommandError(EXIT.failure, printable(`no such stream: ${stream}; ${hint}`));
}

/** True also where there may be more streams than are listed. */
export function isKnownStream(stream: string, events: EventsStatus): boolean {
	const { streams } = events;
	return !isOpen(events) || streams.length >= LISTED_MAX || streams.some((known) => known.stream === stream);
}

/** `did you mean …?`, where a stream has almost the same name. */
export function meantStream(stream: string, { streams }: EventsStatus): string | undefined {
	const names = streams.map((known) => known.stream);
	const meant = nearestName(stream, names);
	return meant === undefined ? undefined : printable(`did you mean ${meant}?`);
}

/** The first position is 1. */
function isOpen({ next }: EventsStatus): boolean {
	return next > 0;
}

/** For a name that the sidecar does not know; it may know groups that it does not list, as those of a store elsewhere. */
async function refusedGroup(
	error: unknown,
	stream: string,
	group: string,
	client: Diplomat,
	options: CallOptions,
): Promise<never> {
	const isUnknown = SpockError.is(error, 'BAD_REQUEST') && error.message.includes('unknown group');
	if (isUnknown) requireGroup(stream, group, await askOpenLog(client, options));
	throw error;
}

function requireGroup(stream: string, group: string, events: EventsStatus): void {
	const { groups } = events;
	const isThis = (known: { readonly stream: string; readonly group: string }): boolean =>
		known.stream === stream && known.group === group;
	if (groups.length >= LISTED_MAX || groups.some(isThis)) return;
	const ofStream = groups.filter((known) => known.stream === stream);
	if (ofStream.length === 0) requireStream(stream, events);
	const names = ofStream.map((known) => known.group);
	const meant = nearestName(group, names);
	const hint = meant === undefined ? `\`${commandLine('events', 'groups')}\` shows them` : `did you mean ${meant}?`;
	throw new CommandError(EXIT.failure, printable(`no such group of stream ${stream}: ${group}; ${hint}`));
}
