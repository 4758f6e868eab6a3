import type { CallOptions, Diplomat, FuncName, KnownServiceQuery } from '@spock/client';
import { funcNames, type GetServiceData, type ServiceQuery, SpockError } from '@spock/protocol';
import { nameHint, nearestName, queryMembers } from '@spock/protocol/internal';
import { formatAddress } from '@spock/protocol/node';
import { type ViewFlags, viewOf } from '../client/client-view.ts';
import { asCommandError } from '../client/failures.ts';
import type { ClientFlags } from '../client/sidecar-target.ts';
import { withClient } from '../client/with-client.ts';
import { CommandError, EXIT, print, printable } from '../output/output.ts';
import { durationMessage, readDurationMs } from '../settings/setting.ts';

interface GetFlags extends ClientFlags, ViewFlags {
	readonly key?: string;
	readonly maxAgeMs?: string;
}

const NO_INSTANCE = ['NO_SUCH_SERVICE', 'NO_HEALTHY_INSTANCE'] as const;

/** The query that the flags make, and --key. Throws a CommandError for a flag that wants `name=value` and has no `=`. */
export function queryOf(service: string, flags: object): GetServiceData {
	const given = flags as Readonly<Record<string, string | readonly string[] | undefined>>;
	const query: Record<string, unknown> = { service };
	for (const { name, kind, flag } of queryMembers) {
		// As commander names an option of several words.
		const value = given[flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())];
		if (value === undefined) continue;
		const texts = value as readonly string[];
		query[name] = kind === 'pairs' ? Object.fromEntries(texts.map((text) => readPair(flag, text))) : value;
	}
	return { ...query, ...(given['key'] !== undefined && { key: given['key'] }) } as unknown as GetServiceData;
}

function readPair(flag: string, text: string): [name: string, value: string] {
	const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
	if (name === undefined || value === undefined) {
		throw new CommandError(EXIT.usage, `--${flag} must be name=value, not ${JSON.stringify(text)}`);
	}
	return [name, value];
}

/** `sidecar get SERVICE` */
export async function get(service: string, flags: GetFlags): Promise<void> {
	const view = viewOf(flags);
	const command = async (client: Diplomat, options: CallOptions): Promise<void> => {
		const { key, ...asked } = queryOf(service, flags);
		const age = maxAgeOf(flags);
		const keyed = key === undefined ? {} : { key };
		const query = { ...asked, ...keyed, ...age };
		// With a view the client picks, and not the sidecar, which does not know whom it would pick for.
		const looked = view
			? client.getService(asked as KnownServiceQuery, { ...options, ...keyed, ...age })
			: client.request('getService', query, options);
		const found = await looked.catch(async (error: unknown) => {
			if (!NO_INSTANCE.some((code) => SpockError.is(error, code))) throw error;
			throw asCommandError(error, `; ${await nextStep(client, query, options)}`);
		});
		if (flags.json) print(JSON.stringify(found));
		else print(printable(formatAddress(found)));
		if (found.stale && !flags.json) {
			const seconds = Math.round((found.ageMs ?? 0) / 1000);
			process.stderr.write(`not live: last confirmed by the registry ${seconds} s ago\n`);
		}
	};
	await withClient(flags, command, view);
}

function maxAgeOf({ maxAgeMs }: GetFlags): { readonly maxAgeMs?: number } {
	if (maxAgeMs === undefined) return {};
	const value = readDurationMs(maxAgeMs);
	if (value !== undefined) return { maxAgeMs: value };
	throw new CommandError(EXIT.usage, durationMessage('--max-age-ms', maxAgeMs));
}

const NOTHING =
	'no services: none is registered, or the ACL token may not read any; `sidecar status` shows which registry is asked\n';

/** `sidecar list` */
export async function list(flags: ClientFlags & { readonly datacenter?: string }): Promise<void> {
	await withClient(flags, async (client, options) => {
		const { datacenter } = flags;
		const reply = await client.request('listServices', datacenter === undefined ? {} : { datacenter }, options);
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
 * What to do where a service has no instance: the name that was most likely meant, and the command that shows more. Requests one list
 * of services, or two if the query names a datacenter, and reads a limited number of names. Never rejects.
 */
export async function nextStep(client: Diplomat, query: ServiceQuery, options: CallOptions): Promise<string> {
	const { service, tags, datacenter, peer } = query;
	// What a peer exports is in no list here.
	if (peer !== undefined) return '`sidecar explain`, with the same flags, shows why';
	const namesIn = (where: { readonly datacenter?: string }): Promise<string[]> =>
		client
			.request('listServices', where, options)
			.then(({ services }) => services.map(({ name }) => name))
			.catch(() => []);
	const names = await namesIn(datacenter === undefined ? {} : { datacenter });
	const explain = `\`sidecar explain ${printable(service)}\``;
	if (names.includes(service)) {
		const given = queryMembers.filter(({ role, of }) => role === 'condition' && of(query) !== undefined);
		const flags = given.map(({ flag }) => `--${flag}`);
		return flags.length > 0
			? `${explain}, without ${flags.join(' and ')}, shows all instances`
			: `${explain} shows why`;
	}
	if (datacenter !== undefined && (await namesIn({})).includes(service)) {
		return `${explain}, without --datacenter, shows where it is known`;
	}
	const meant = nearestName(service, names);
	const question = meant === undefined ? '' : `did you mean "${printable(meant)}"? `;
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
	await withClient(flags, async (client, options) => {
		const reply = await client.request(func as FuncName, data as never, options).catch((error: unknown) => {
			// A known function may be unknown to this registry, which the error says.
			const isKnown = (funcNames as readonly string[]).includes(func);
			throw SpockError.is(error, 'UNKNOWN_FUNC') && !isKnown
				? asCommandError(error, `; ${nameHint(func, funcNames)}`)
				: error;
		});
		print(flags.json ? JSON.stringify(reply) : JSON.stringify(reply, null, 2));
	});
}
