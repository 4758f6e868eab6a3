import type { CallOptions, Diplomat, FuncName, KnownServiceQuery } from '@spock/client';
import { funcNames, type GetServiceData, SpockError } from '@spock/protocol';
import { nameHint, queryMembers } from '@spock/protocol/internal';
import { formatAddress } from '@spock/protocol/node';
import { type ViewFlags, viewOf } from '../client/client-view.ts';
import { asCommandError } from '../client/failures.ts';
import type { ClientFlags } from '../client/sidecar-target.ts';
import { withClient } from '../client/with-client.ts';
import { formatDuration } from '../output/figures.ts';
import { CommandError, EXIT, print, printable } from '../output/output.ts';
import { lookOf } from '../output/page.ts';
import { durationMessage, readDurationMs } from '../settings/setting.ts';
import { nextStep } from './next-step.ts';

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
			// A client that picks has asked for the names itself.
			const isNamed = SpockError.is(error) && error.details['didYouMean'] !== undefined;
			throw asCommandError(error, isNamed ? '' : `; ${await nextStep(client, query, options)}`);
		});
		if (flags.json) print(JSON.stringify(found));
		else print(printable(formatAddress(found)));
		if (found.stale && !flags.json) warnStale(found.ageMs ?? 0);
	};
	await withClient(flags, command, view);
}

/** Says on stderr that an answer is not live. */
export function warnStale(ageMs: number): void {
	const text = `not live: last confirmed by the registry ${formatDuration(ageMs)} ago`;
	process.stderr.write(`${lookOf(process.stderr).paint('warning', text)}\n`);
}

function maxAgeOf({ maxAgeMs }: GetFlags): { readonly maxAgeMs?: number } {
	if (maxAgeMs === undefined) return {};
	const value = readDurationMs(maxAgeMs);
	if (value !== undefined) return { maxAgeMs: value };
	throw new CommandError(EXIT.usage, durationMessage('--max-age-ms', maxAgeMs));
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
