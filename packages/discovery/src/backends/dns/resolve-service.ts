import type { ServiceInstance } from '@spock/protocol';

import type { DnsClient } from './dns-client.ts';
import { type Asked, instancesOf, negativeTtl, readAddresses, readSrv, type Timed } from './srv-instances.ts';

/** What DNS says of a service. */
export interface ResolvedService {
	/** Empty when there is no such name, or it has no SRV records. */
	readonly instances: readonly ServiceInstance[];
	/** How long that may be believed, in seconds; undefined when the server did not say. */
	readonly ttl: number | undefined;
}

/**
 * The instances of a name: its SRV records, and the addresses of their targets, which the server adds or which are asked
 * for. A target without an address is left out. Rejects with UNAVAILABLE or ABORTED.
 */
export async function resolveService(
	client: DnsClient,
	name: string,
	asked: Asked,
	signal: AbortSignal,
): Promise<ResolvedService> {
	const reply = await client.ask({ name, type: 'SRV' }, signal);
	const records = readSrv(reply, name);
	if (records.values.length === 0) return { instances: [], ttl: negativeTtl(reply) ?? records.ttl };
	const ttls = [records.ttl];
	const addresses = new Map<string, readonly string[]>();
	const targets = [...new Set(records.values.map(({ target }) => target))];
	await Promise.all(
		targets.map(async (target) => {
			const added = readAddresses(reply.additionals, target);
			const found = added.values.length > 0 ? added : await askAddresses(client, target, signal);
			addresses.set(target, found.values);
			ttls.push(found.ttl);
		}),
	);
	const known = ttls.filter((ttl) => ttl !== undefined);
	return { instances: instancesOf(records.values, addresses, asked), ttl: Math.min(...known) };
}

async function askAddresses(client: DnsClient, host: string, signal: AbortSignal): Promise<Timed<string>> {
	const v4 = await client.ask({ name: host, type: 'A' }, signal);
	const found = readAddresses(v4.answers, host);
	if (found.values.length > 0) return found;
	const v6 = await client.ask({ name: host, type: 'AAAA' }, signal);
	const other = readAddresses(v6.answers, host);
	return other.values.length > 0 ? other : { values: [], ttl: negativeTtl(v6) };
}
