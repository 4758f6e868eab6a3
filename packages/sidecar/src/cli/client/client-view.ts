import type { DiplomatOptions } from '@spock/client';

import { CommandError, EXIT } from '../output/output.ts';

/** Flags of the commands that answer as a client sees it. */
export interface ViewFlags {
	readonly zone?: string;
	readonly subset?: string;
	readonly subsetKey?: string;
}

/** Most instances of a subset: as the option of the client. */
const SUBSET_MAX = 2 ** 24;

/**
 * The options of a client that has this view; undefined if no flag asks for one. Throws a CommandError that names the flag. Two processes
 * have the same subset only with the same key, so it must be given.
 */
export function viewOf({ zone, subset, subsetKey }: ViewFlags): DiplomatOptions | undefined {
	if (zone === undefined && subset === undefined && subsetKey === undefined) return undefined;
	if (zone === '') throw new CommandError(EXIT.usage, '--zone must be the name of a zone, such as eu-1a, not ""');
	if ((subset === undefined) !== (subsetKey === undefined) || subsetKey === '') {
		throw new CommandError(EXIT.usage, 'give --subset COUNT and --subset-key KEY together: the key of the client');
	}
	const count = Number(subset ?? 0);
	if (!/^\d+$/.test(subset ?? '0') || count > SUBSET_MAX) {
		throw new CommandError(EXIT.usage, `--subset must be a number of instances, not ${JSON.stringify(subset)}`);
	}
	return {
		...(zone !== undefined && { zone, zonePolicy: 'prefer' }),
		...(subsetKey !== undefined && { subset: count, subsetKey }),
	};
}
