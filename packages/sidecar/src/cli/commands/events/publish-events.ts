import { createInterface } from 'node:readline';

import type { CallOptions, Diplomat } from '@spock/client';
import { type PublishData, SpockError } from '@spock/protocol';

import type { ClientFlags } from '../../client/sidecar-target.ts';
import { withClient } from '../../client/with-client.ts';
import { commandLine } from '../../output/command-name.ts';
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
	const outcomes = new LineOutcomes();
	try {
		await withClient(flags, async (client, options) => {
			await tellNewStream(client, stream, options);
			await publishLines(client, shared, { flags, outcomes }, options);
		});
	} catch (error) {
		if (!(error instanceof CommandError)) throw error;
		throw new CommandError(error.exitCode, `${error.message}; ${outcomes}`, { cause: error });
	}
}

/** A stream begins with its first event, so that a misspelt name is one, too. */
async function tellNewStream(client: Diplomat, stream: string, options: CallOptions): Promise<void> {
	const events = await askEvents(client, options);
	const meant = isKnownStream(stream, events) ? undefined : meantStream(stream, events);
	if (meant !== undefined) process.stderr.write(`${printable(`${stream} is a new stream; ${meant}`)}\n`);
}

/** What has become of the lines: so many are kept as are on their way at once, and the ends of those in front of them. */
class LineOutcomes {
	/** Lines up to this one were published, as far as they are events; 0 for none. */
	#publishedTo = 0;
	readonly #later = new Map<number, 'sent' | 'published' | 'refused'>();
	#last = 0;

	/** Lines that are not known to be published, or are behind one that is not. */
	get pending(): number {
		return this.#later.size;
	}

	set(line: number, outcome: 'sent' | 'published' | 'refused'): void {
		this.#last = Math.max(this.#last, line);
		this.#later.set(line, outcome);
		for (const [first, known] of this.#later) {
			if (known !== 'published') break;
			this.#later.delete(first);
			this.#publishedTo = first;
		}
	}

	/** For the end of a message. */
	toString(): string {
		const later = (outcome: string): number[] =>
			[...this.#later].flatMap(([line, one]) => (one === outcome ? [line] : []));
		const to = this.#publishedTo;
		const published = [...(to === 0 ? [] : [to === 1 ? 'line 1' : `lines 1 to ${to}`]), ...listOf(later('published'))];
		return [
			published.length === 0 ? 'no line was published' : `published: ${published.join(', ')}`,
			...listOf(later('sent')).map((lines) => `perhaps published: ${lines}`),
			`not published: ${[...listOf(later('refused')), `what follows line ${this.#last}`].join(', ')}`,
		].join('; ');
	}
}

function listOf(lines: readonly number[]): string[] {
	return lines.length === 0 ? [] : [`${lines.length === 1 ? 'line' : 'lines'} ${lines.join(', ')}`];
}

/** In the order of the lines: a connection's requests are taken in the order in which they come. */
async function publishLines(
	client: Diplomat,
	shared: Omit<PublishData, 'payload'>,
	{ flags, outcomes }: { readonly flags: PublishFlags; readonly outcomes: LineOutcomes },
	options: CallOptions,
): Promise<void> {
	const pending: Promise<void>[] = [];
	let failure: { readonly error: unknown } | undefined;
	let number = 0;
	for await (const text of createInterface({ input: process.stdin })) {
		if (failure !== undefined) break;
		const line = ++number;
		if (text.trim() === '') continue;
		let payload: unknown;
		try {
			payload = readJson(text, `line ${line}`);
		} catch (error) {
			outcomes.set(line, 'refused');
			failure = { error };
			break;
		}
		outcomes.set(line, 'sent');
		const published = client.request('publish', { ...shared, payload }, options).then(
			(reply) => {
				outcomes.set(line, 'published');
				show(reply, flags);
			},
			(error: unknown) => {
				if (!mayBePublished(error)) outcomes.set(line, 'refused');
				failure ??= { error };
			},
		);
		pending.push(published);
		if (outcomes.pending >= IN_FLIGHT_MAX) await Promise.all(pending.splice(0));
	}
	await Promise.all(pending);
	if (failure !== undefined) throw failure.error;
}

/** No answer came: the sidecar may have taken it. */
function mayBePublished(error: unknown): boolean {
	return SpockError.is(error) && ['DISCONNECTED', 'TIMEOUT', 'ABORTED', 'CLOSED'].includes(error.code);
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
		const message = `${what} is not JSON: ${(error as Error).message}. Quote it: ${commandLine('events', 'publish', 'orders', '{"total":5}')}`;
		throw new CommandError(EXIT.usage, message, { cause: error });
	}
}

function readHeader(text: string): [name: string, value: string] {
	const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
	if (name !== undefined && value !== undefined) return [name, value];
	throw new CommandError(EXIT.usage, `--header must be name=value, not ${JSON.stringify(text)}`);
}
