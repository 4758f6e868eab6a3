import type { CallOptions, Diplomat } from '@spock/client';
import { openEvents, type ReceivedEvent } from '@spock/client/events';

import type { ConsumeFrom } from '@spock/protocol';

import type { ClientFlags } from '../../client/sidecar-target.ts';
import { withClient } from '../../client/with-client.ts';
import { print, printable } from '../../output/output.ts';
import { expectEvents, requireStream } from './show-events.ts';
import { formatEvent } from './tail-events.ts';

/** What keeps the place of those that were published again. */
const GROUP = 'sidecar-events-dead';
/** Shown at once: as many as one consumer may hold. */
const SHOWN_MAX = 4096;
const REASON = 'spock-dead-reason';
/** What the sidecar tells of a dead event: not for the event that is made of it. */
const OWN_HEADER = /^spock-dead-/;

/** `sidecar events dead STREAM`: what was given up and why; with --retry each is published again, and is dead no more. */
export async function deadEvents(stream: string, flags: ClientFlags & { readonly retry?: boolean }): Promise<void> {
	await withClient(flags, async (client, options, given) => {
		const { left, from } = await deadOf(client, stream, options);
		let shown = 0;
		if (left > 0) {
			const events = openEvents({ diplomat: client });
			// Looking must not make a group: what a group has not done is kept for it, until the log is full.
			const group = flags.retry ? { group: GROUP, attempts: 0 } : {};
			const consuming = events.consume(`${stream}.dead`, { ...group, from, inFlightMax: SHOWN_MAX });
			for await (const event of consuming) {
				print(flags.json ? JSON.stringify(event) : `${formatEvent(event)}  ${printable(reasonOf(event))}`);
				if (flags.retry) await client.request('publish', againOf(stream, event), options);
				event.ack();
				if (++shown < left) continue;
				given();
				break;
			}
			await events.drain();
		}
		if (!flags.json) process.stderr.write(`${summary(stream, shown, left, flags.retry === true)}\n`);
	});
}

/** How many there are that were not published again, as many as can be shown, and where they begin. */
async function deadOf(
	client: Diplomat,
	stream: string,
	options: CallOptions,
): Promise<{ readonly left: number; readonly from: ConsumeFrom }> {
	const { streams, groups } = expectEvents((await client.request('status', null, options)).events);
	const name = `${stream}.dead`;
	const events = streams.find((known) => known.stream === name)?.events ?? 0;
	if (events === 0) requireStream(stream, streams);
	const group = groups.find((known) => known.stream === name && known.group === GROUP);
	return {
		left: Math.min(group?.lag ?? events, SHOWN_MAX),
		from: group === undefined ? 'first' : { position: group.position },
	};
}

function reasonOf({ headers }: ReceivedEvent): string {
	return headers[REASON] ?? 'no reason was told';
}

function againOf(stream: string, { key, at, version, headers, data }: ReceivedEvent) {
	const kept = Object.entries(headers).filter(([name]) => !OWN_HEADER.test(name));
	const isBytes = data instanceof Uint8Array;
	return {
		stream,
		...(key !== undefined && { key }),
		...(at !== undefined && { at }),
		version,
		...(kept.length > 0 && { headers: Object.fromEntries(kept) }),
		...(isBytes && { encoding: 'base64' as const }),
		payload: isBytes ? Buffer.from(data).toString('base64') : data,
	};
}

function summary(stream: string, shown: number, left: number, isRetried: boolean): string {
	if (left === 0) return printable(`no dead event of ${stream}`);
	const done = isRetried ? 'published again' : '`--retry` publishes them again';
	return `${shown} dead event${shown === 1 ? '' : 's'}; ${done}`;
}
