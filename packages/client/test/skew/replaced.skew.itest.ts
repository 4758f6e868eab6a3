import { describe, expect, it } from 'vitest';

import { BUILDS, type Build, SkewSite } from './skew-site.ts';
import type { View } from './skew-view.ts';
import { checkWork, work } from './skew-work.ts';

const REPLACED: readonly (readonly [Build, Build])[] = [
	['earlier', 'current'],
	['current', 'earlier'],
];

const known = [{ id: 'a', host: '10.0.0.1', port: 80 }];

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
