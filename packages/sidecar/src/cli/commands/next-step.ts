import type { ServiceQuery } from '@spock/protocol';
import { nearestName } from '@spock/protocol/internal';

import type { WireClient } from '../client/wire-client.ts';
import { printable } from '../output/printable.ts';

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
