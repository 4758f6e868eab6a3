import { createHash } from 'node:crypto';

import type { ServiceSnapshot } from '@spock/protocol';

/** What a snapshot shows, small enough to pass between processes. */
export interface View {
	readonly source: ServiceSnapshot['source'];
	readonly oversize: boolean;
	readonly count: number;
	/** Of every instance: its name, place, tags and status. */
	readonly digest: string;
}

/** The view of a list of instances. */
export function viewOf(
	instances: readonly {
		readonly instance: string;
		readonly host: string;
		readonly port: number;
		readonly tags: readonly string[];
		readonly status: string;
	}[],
	{ source, oversize = false }: { readonly source: ServiceSnapshot['source']; readonly oversize?: boolean },
): View {
	const hash = createHash('sha256');
	for (const { instance, host, port, tags, status } of instances)
		hash.update(JSON.stringify([instance, host, port, tags, status]));
	return { source, oversize, count: instances.length, digest: hash.digest('hex').slice(0, 16) };
}
