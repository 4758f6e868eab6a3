import { connect } from '@spock/client';
import { measure } from 'mitata';

import { SERVICE } from '../servers/catalogue.ts';

/** Lookups that a pushed snapshot answers within the process. Argument: the sidecar's socket. Prints one line of JSON. */
export async function probeLookups([path = '']: readonly string[]): Promise<void> {
	const diplomat = await connect({ path });
	await diplomat.getService(SERVICE);
	const figures: { what: string; ns: number }[] = [];
	const take = async (what: string, lookup: () => unknown): Promise<void> => {
		figures.push({ what, ns: (await measure(lookup)).p50 });
	};
	await take('pick()', () => diplomat.pick(SERVICE));
	await using zonal = await connect({ path, zone: 'a', zonePolicy: 'prefer', subset: 20, subsetKey: 'bench' });
	await zonal.getService(SERVICE);
	await take('pick() with zones and a subset', () => zonal.pick(SERVICE));
	await take('pick({ key })', () => diplomat.pick(SERVICE, { key: 'user-4711' }));
	await take('await getService()', async () => await diplomat.getService(SERVICE));
	await take('await getInstances()', async () => await diplomat.getInstances(SERVICE));
	process.stdout.write(`${JSON.stringify(figures)}\n`);
	await diplomat.close();
}
