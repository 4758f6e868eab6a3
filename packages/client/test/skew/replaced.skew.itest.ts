import { describe, expect, it } from 'vitest';

import type { LoadResult } from './skew-messages.ts';
import { BUILDS, type Build, SkewSite } from './skew-site.ts';
import { type View, viewOf } from './skew-view.ts';

const REPLACED: readonly (readonly [Build, Build])[] = [
	['earlier', 'current'],
	['current', 'earlier'],
];

const PLACE = { host: '10.9.0.1', port: 81, tags: [], status: 'passing' } as const;
const known = [{ id: 'a', host: '10.0.0.1', port: 80 }];

/** Both apps watch, have registered an instance of `own`, and look `known` up at their sidecar. */
async function work(site: SkewSite): Promise<void> {
	const view = await site.set('known', known);
	for (const service of ['known', 'own']) await site.both({ kind: 'watch', service });
	await site.seen('known', view);
	for (const { build, ask } of site.apps)
		await ask({ kind: 'register', registration: { service: 'own', id: build, ...PLACE } });
	await site.both({ kind: 'load', service: 'known', fresh: true });
}

/** The load has failed nothing, what the apps have registered is there, and changes come. */
async function checkWork(site: SkewSite): Promise<void> {
	await site.seen('known', await site.set('known', [...known, { id: 'b', host: '10.0.0.2', port: 80 }]));
	const own = [...BUILDS].sort().map((build) => ({ instance: build, ...PLACE }));
	await site.seen('own', viewOf(own, { source: 'live' }));
	for (const { lookups, failures } of await site.both<LoadResult>({ kind: 'loaded' })) {
		expect(failures).toEqual([]);
		expect(lookups).toBeGreaterThan(0);
	}
}

describe.each(REPLACED)('a sidecar of the %s build is replaced by one of the %s build', (from, to) => {
	it('by a take-over: no lookup of its apps fails, and what they have registered stays', async () => {
		await using site = await SkewSite.open([from]);
		await work(site);
		await site.takeOver(0, to);
		await checkWork(site);
		const statuses = await site.both({ kind: 'status' });
		expect(statuses).toEqual(BUILDS.map(() => expect.objectContaining({ protocolFaults: 0, reconnects: 1 })));
	});

	it.each(BUILDS)('by a take-over as the node Spock of a sidecar of the %s build: the same', async (sidecar) => {
		await using site = await SkewSite.open([sidecar, from]);
		await work(site);
		await site.takeOver(1, to);
		await checkWork(site);
	});

	it('and finds in the state directory what that one knew, with its age, while its node Spock is away', async () => {
		await using site = await SkewSite.open([from, 'current']);
		const view = await site.set('known', known);
		await site.both({ kind: 'watch', service: 'known' });
		await site.seen('known', view);
		await site.stop(1, 'SIGKILL');
		await site.seen('known', { ...view, source: 'last-known-good' });
		// By then it is lost for the sidecar, which rounds times.
		const lostBy = Date.now() + 1;
		await site.stopApps();
		await site.stop(0, 'SIGTERM');
		await site.start(0, to);
		await site.startApps();
		const askedAt = Date.now();
		for (const { ageMs, verifiedAt: _, ...seen } of await site.both<View & { ageMs: number; verifiedAt: number }>({
			kind: 'fetch',
			service: 'known',
		})) {
			expect(seen).toEqual({ ...view, source: 'last-known-good' });
			expect(ageMs).toBeGreaterThanOrEqual(askedAt - lostBy);
		}
	});
});
