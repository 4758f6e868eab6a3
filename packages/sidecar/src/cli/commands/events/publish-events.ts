import { createInterface } from 'node:readline';

import type { CallOptions, Diplomat } from '@spock/client';
import type { PublishData } from '@spock/protocol';

import type { ClientFlags } from '../../client/sidecar-target.ts';
import { withClient } from '../../client/with-client.ts';
import { CommandError, EXIT, print, printable } from '../../output/output.ts';
import { askEvents, isKnownStream, meantStream } from './event-groups.ts';
import { parseExactly } from './exact-json.ts';

interface PublishFlags extends ClientFlags {
	readonly key?: string;
	readonly id?: string;
	readonly header?: readonly string[];
}

/** Events of the input that are on their way at once. */
const IN_FLIGHT_MAX = 256;

/** `sidecar events publish STREAM [JSON]`: one event, or one for each line of the input. Prints the position of each. */
export async function publishEvents(stream: string, text: string | undefined, flags: PublishFlags): Promise<void> {
	const { key, id, header = [] } = flags;
	const headers = Object.fromEntries(header.map(readHeader));
	const shared = {
		stream,
		...(key !== undefined && { key }),
		...(header.length > 0 && { headers }),
	};
	if (text !== undefined) {
		const event = { ...shared, ...(id !== undefined && { id }), payload: readJson(text, 'the event') };
		await withClient(flags, async (client, options) => {
			await tellNewStream(client, stream, options);
			show(await client.request('publish', event, options), flags);
		});
		return;
	}
	if (id !== undefined) throw new CommandError(EXIT.usage, '--id names one event: give its JSON, too');
	await withClient(flags, async (client, options) => {
		await tellNewStream(client, stream, options);
		await publishLines(client, shared, flags, options);
	});
}

/** A stream begins with its first event, so that a misspelt name is one, too. */
async function tellNewStream(client: Diplomat, stream: string, options: CallOptions): Promise<void> {
	const events = await askEvents(client, options);
	const meant = isKnownStream(stream, events) ? undefined : meantStream(stream, events);
	if (meant !== undefined) process.stderr.write(`${printable(`${stream} is a new stream; ${meant}`)}\n`);
}

/** In the order of the lines: a connection's requests are taken in the order in which they come. */
async function publishLines(
	client: Diplomat,
	shared: Omit<PublishData, 'payload'>,
	flags: PublishFlags,
	options: CallOptions,
): Promise<void> {
	const pending: Promise<void>[] = [];
	let number = 0;
	for await (const line of createInterface({ input: process.stdin })) {
		number++;
		if (line.trim() === '') continue;
		let payload: unknown;
		try {
			payload = readJson(line, `line ${number}`);
		} catch (error) {
			// The lines above are published: their positions tell the caller where to go on.
			await Promise.all(pending);
			throw error;
		}
		const published = client.request('publish', { ...shared, payload }, options).then((reply) => show(reply, flags));
		// Whoever awaits it is told; until then it is nobody's.
		published.catch(() => undefined);
		pending.push(published);
		if (pending.length >= IN_FLIGHT_MAX) await pending.shift();
	}
	await Promise.all(pending);
}

function show(reply: { readonly position: number; readonly duplicate: boolean }, flags: ClientFlags): void {
	if (flags.json) print(JSON.stringify(reply));
	else print(`${reply.position}${reply.duplicate ? ' (an event with this id was there already)' : ''}`);
}

function readJson(text: string, what: string): unknown {
	try {
		return parseExactly(text);
	} catch (error) {
		if (error instanceof RangeError) throw new CommandError(EXIT.usage, `${what}: ${error.message}`, { cause: error });
		const message = `${what} is not JSON: ${(error as Error).message}. Quote it: sidecar events publish orders '{"total":5}'`;
		throw new CommandError(EXIT.usage, message, { cause: error });
	}
}

function readHeader(text: string): [name: string, value: string] {
	const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
	if (name !== undefined && value !== undefined) return [name, value];
	throw new CommandError(EXIT.usage, `--header must be name=value, not ${JSON.stringify(text)}`);
}
