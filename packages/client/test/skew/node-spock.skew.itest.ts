import { waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { type Build, SkewSite } from './skew-site.ts';
import { checkWork, registerOwn, work } from './skew-work.ts';
import { TlsPlace } from './tls-place.ts';

const OLD = 'a-token-of-the-pod';
const NEW = 'the-next-of-the-pod';

// Side by side: they wait for what a sidecar does after seconds.

/** What is below the node Spock: apps of both builds, or a sidecar, which they are at. */
const BELOW: readonly (readonly [string, readonly Build[]])[] = [
	['apps', []],
	['a sidecar of the earlier build', ['earlier']],
];

describe.concurrent.each(BELOW)('a node Spock of the current build over TLS, below it %s', (_name, below) => {
	it('that is asked to end hands over to the next one: no lookup fails, and what was registered stays', async () => {
		await using tls = await TlsPlace.open(OLD);
		await using site = await SkewSite.open([...below, 'current'], tls);
		await work(site);
		const log = await site.succeed('current');
		await checkWork(site);
		// They have left: no connection had to be closed.
		expect(log).toContain('"reason":"shutdown","count":');
		expect(log).not.toContain('closing their connections');
	});

	it('that is asked to end, and no other is there: no lookup fails, and they go on at the next one', async () => {
		await using tls = await TlsPlace.open(OLD);
		await using site = await SkewSite.open([...below, 'current'], tls);
		// Without verified lookups: while no node Spock answers, they fail.
		await work(site, false);
		const view = await site.set('known', [{ id: 'c', host: '10.0.0.3', port: 80 }]);
		await site.seen('known', view);
		await site.stop(below.length, 'SIGTERM');
		await site.seen('known', { ...view, source: 'last-known-good' });
		await site.start(below.length, 'current');
		await checkWork(site);
	});
});

const ROTATIONS: readonly (readonly [Build, Build])[] = [
	['earlier', 'current'],
	['current', 'earlier'],
];

describe.concurrent.each(ROTATIONS)(
	'a sidecar of the %s build with a token of a node Spock of the %s build',
	(asking, node) => {
		it('goes on when the token is replaced: no lookup fails, and apps can register', async () => {
			await using tls = await TlsPlace.open(OLD);
			await using site = await SkewSite.open([asking, node], tls);
			await work(site);
			await tls.accept(OLD, NEW);
			await tls.use(NEW);
			await tls.accept(NEW);
			// An earlier one leaves connections as they are.
			if (node === 'current')
				await waitFor('the goaway', () => site.log(1).includes('"reason":"token","count":1'), 30_000);
			for (const { ask } of site.apps) await ask({ kind: 'deregister' });
			await registerOwn(site);
			await checkWork(site);
			// Only the new token is any good there.
			await site.stop(1, 'SIGKILL');
			await site.start(1, node);
			const view = await site.set('known', [{ id: 'd', host: '10.0.0.4', port: 80 }]);
			await site.seen('known', view);
		});
	},
);
