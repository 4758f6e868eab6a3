import { TIMEOUT_MS_MAX } from '@spock/protocol';
import { formatAddress } from '@spock/protocol/node';

import { CommandError, EXIT } from './exit-codes.ts';
import { type ClientFlags, print, withClient } from './with-client.ts';

interface GetFlags extends ClientFlags {
	readonly tag?: readonly string[];
	readonly datacenter?: string;
	readonly key?: string;
	readonly maxAgeMs?: string;
}

/** The query that --tag, --datacenter and --key make. */
export function queryOf(
	service: string,
	{ tag, datacenter, key }: { readonly tag?: readonly string[]; readonly datacenter?: string; readonly key?: string },
): { service: string; tags?: readonly string[]; datacenter?: string; key?: string } {
	return {
		service,
		...(tag && { tags: tag }),
		...(datacenter !== undefined && { datacenter }),
		...(key !== undefined && { key }),
	};
}

/** `sidecar get SERVICE` */
export async function get(service: string, flags: GetFlags): Promise<void> {
	await withClient(flags, async (client, timeoutMs) => {
		const maxAge = maxAgeOf(flags);
		const found = await client.request('getService', { ...queryOf(service, flags), ...maxAge }, timeoutMs);
		if (flags.json) print(JSON.stringify(found));
		else print(formatAddress(found));
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
