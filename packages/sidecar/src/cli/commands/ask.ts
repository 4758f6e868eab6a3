import { type GetServiceData, type ServiceQuery, SpockError, TIMEOUT_MS_MAX } from '@spock/protocol';
import { nearestName } from '@spock/protocol/internal';
import { formatAddress } from '@spock/protocol/node';

import type { WireClient } from '../client/wire-client.ts';
import { asCommandError, type ClientFlags, withClient } from '../client/with-client.ts';
import { CommandError, EXIT } from '../output/exit-codes.ts';
import { print, printable } from '../output/output.ts';

/** The flags that make a query of a service. */
export interface QueryFlags {
	readonly tag?: readonly string[];
	readonly datacenter?: string;
	/** Each `name=value`. */
	readonly meta?: readonly string[];
	readonly peer?: string;
}

interface GetFlags extends ClientFlags, QueryFlags {
	readonly key?: string;
	readonly maxAgeMs?: string;
}

const NO_INSTANCE = ['NO_SUCH_SERVICE', 'NO_HEALTHY_INSTANCE'] as const;

/** The query that --tag, --datacenter, --meta, --peer and --key make. Throws a CommandError for a --meta without `=`. */
export function queryOf(service: string, flags: QueryFlags & { readonly key?: string }): GetServiceData {
	const { tag, datacenter, meta, peer, key } = flags;
	return {
		service,
		...(tag && { tags: tag }),
		...(datacenter !== undefined && { datacenter }),
		...(meta && { meta: Object.fromEntries(meta.map(readCondition)) }),
		...(peer !== undefined && { peer }),
		...(key !== undefined && { key }),
	};
}

function readCondition(text: string): [name: string, value: string] {
	const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
	if (name === undefined || value === undefined) {
		throw new CommandError(EXIT.usage, `--meta must be name=value, not ${JSON.stringify(text)}`);
	}
	return [name, value];
}

/** `sidecar get SERVICE` */
export async function get(service: string, flags: GetFlags): Promise<void> {
	await withClient(flags, async (client, timeoutMs) => {
		const query = { ...queryOf(service, flags), ...maxAgeOf(flags) };
		const found = await client.request('getService', query, timeoutMs).catch(async (error: unknown) => {
			if (!NO_INSTANCE.some((code) => SpockError.is(error, code))) throw error;
			throw asCommandError(error, `. ${await nextStep(client, query, timeoutMs)}`);
		});
		if (flags.json) print(JSON.stringify(found));
		else print(printable(formatAddress(found)));
		if (found.stale && !flags.json) {
			const seconds = Math.round((found.ageMs ?? 0) / 1000);
			process.stderr.write(`not live: the registry confirmed it last ${seconds} s ago\n`);
		}
	});
}

function maxAgeOf({ maxAgeMs }: GetFlags): { readonly maxAgeMs?: number } {
	if (maxAgeMs === undefined) return {};
	const value = Number(maxAgeMs);
	if (!/^\d+$/.test(maxAgeMs) || value > TIMEOUT_MS_MAX) {
		throw new CommandError(EXIT.usage, `--max-age-ms must be a whole number of milliseconds, not ${maxAgeMs}`);
	}
	return { maxAgeMs: value };
}

const NOTHING =
	'no names: nothing is registered there, or its token may read none; `sidecar status` shows where the sidecar asks\n';

/** `sidecar list` */
export async function list(flags: ClientFlags & { readonly datacenter?: string }): Promise<void> {
	await withClient(flags, async (client, timeoutMs) => {
		const { datacenter } = flags;
		const reply = await client.request('listServices', datacenter === undefined ? {} : { datacenter }, timeoutMs);
		if (flags.json) {
			print(JSON.stringify(reply));
			return;
		}
		if (reply.services.length === 0) process.stderr.write(NOTHING);
		for (const { name, tags } of reply.services)
			print(printable(tags.length === 0 ? name : `${name}  ${tags.join(',')}`));
	});
}

/**
 * What to do where a service has no instance: the name that was most likely meant, and the command that tells more. One list is asked
 * for, and only so many names of it are looked at. Never rejects.
 */
export async function nextStep(
	client: WireClient,
	{ service, tags, meta, datacenter, peer }: ServiceQuery,
	timeoutMs: number,
): Promise<string> {
	const hasConditions = tags !== undefined || meta !== undefined;
	// What a peer exports is in no list here.
	if (peer !== undefined) return '`sidecar explain`, with the same flags, says why';
	const names = await client
		.request('listServices', datacenter === undefined ? {} : { datacenter }, timeoutMs)
		.then(({ services }) => services.map(({ name }) => name))
		.catch((): string[] => []);
	if (names.includes(service)) {
		const explain = `\`sidecar explain ${printable(service)}\``;
		return hasConditions ? `${explain}, without --tag and --meta, shows all there are` : `${explain} says why`;
	}
	const meant = nearestName(service, names);
	const question = meant === undefined ? '' : `did you mean ${printable(meant)}? `;
	return `${question}\`sidecar list\` shows the names${tags === undefined ? '' : ' and their tags'}`;
}

/** `sidecar call FUNC [JSON]` */
export async function call(func: string, text: string | undefined, flags: ClientFlags): Promise<void> {
	let data: unknown = null;
	try {
		if (text !== undefined) data = JSON.parse(text);
	} catch (error) {
		const message = `the data is not JSON: ${(error as Error).message}. Quote it: sidecar call ping '{"a":1}'`;
		throw new CommandError(EXIT.usage, message, { cause: error });
	}
	await withClient(flags, async (client, timeoutMs) => {
		const reply = await client.call(func, data, timeoutMs);
		print(flags.json ? JSON.stringify(reply) : JSON.stringify(reply, null, 2));
	});
}
