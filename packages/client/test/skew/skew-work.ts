import { expect } from 'vitest';

import type { LoadResult } from './skew-messages.ts';
import { BUILDS, type SkewSite } from './skew-site.ts';
import { viewOf } from './skew-view.ts';

const PLACE = { host: '10.9.0.1', port: 81, tags: [], status: 'passing' } as const;
const known = [{ id: 'a', host: '10.0.0.1', port: 80 }];

/** Both apps watch, have registered an instance of `own`, and look `known` up, if `fresh` at their sidecar. */
export async function work(site: SkewSite, fresh = true): Promise<void> {
	const view = await site.set('known', known);
	for (const service of ['known', 'own']) await site.both({ kind: 'watch', service });
	await site.seen('known', view);
	await registerOwn(site);
	await site.both({ kind: 'load', service: 'known', fresh });
}

/** Each app registers an instance of `own`. */
export async function registerOwn(site: SkewSite): Promise<void> {
	for (const { build, ask } of site.apps)
		await ask({ kind: 'register', registration: { service: 'own', id: build, ...PLACE } });
}

/** The lookups have not failed, what the apps have registered is there, and changes come. */
export async function checkWork(site: SkewSite): Promise<void> {
	await site.seen('known', await site.set('known', [...known, { id: 'b', host: '10.0.0.2', port: 80 }]));
	const own = [...BUILDS].sort().map((build) => ({ instance: build, ...PLACE }));
	await site.seen('own', viewOf(own, { source: 'live' }));
	for (const { lookups, failures } of await site.both<LoadResult>({ kind: 'loaded' })) {
		expect(failures).toEqual([]);
		expect(lookups).toBeGreaterThan(0);
	}
}
