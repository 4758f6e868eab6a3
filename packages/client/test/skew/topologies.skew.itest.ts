import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { LoadResult } from './skew-messages.ts';
import { BUILDS, type Build, SkewSite } from './skew-site.ts';
import { type View, viewOf } from './skew-view.ts';
import { TlsPlace } from './tls-place.ts';

type Way = 'a socket' | 'TLS with a token';

/** An app of each build is at the first sidecar; the last one reads the services file, and is asked this way. */
const TOPOLOGIES: readonly (readonly [Way, readonly Build[]])[] = [
	['a socket', ['current']],
	['a socket', ['earlier']],
	['a socket', ['earlier', 'current']],
	['a socket', ['current', 'earlier']],
	['a socket', ['current', 'current']],
	['TLS with a token', ['earlier', 'current']],
	['TLS with a token', ['current', 'earlier']],
];

/** Its changes go to those who know them as deltas. */
const LARGE = 1500;
/** Does not fit into a frame: those who know parts get them. */
const HUGE = 10_000;

/** Instances of a service, the first ones left out, one of them with a tag. */
function instances(count: number, { from = 0, tagged = -1 } = {}) {
	return Array.from({ length: count }, (_, at) => at + from).map((at) => ({
		id: `i-${String(at).padStart(5, '0')}`,
		host: `10.0.${at >> 8}.${at & 255}`,
		port: 8000,
		tags: at === tagged ? ['v2'] : ['v1'],
	}));
}

type Instances = ReturnType<typeof instances>;

describe.each(TOPOLOGIES.map(([way, sidecars]) => [sidecars.join(', which asks '), way, sidecars] as const))(
	'apps of both builds at a sidecar: %s; over %s',
	(_name, way, sidecars) => {
		let tls: TlsPlace | undefined;
		let site: SkewSite;
		beforeAll(async () => {
			tls = way === 'a socket' ? undefined : await TlsPlace.open('a-token-of-the-pod');
			site = await SkewSite.open(sidecars, tls);
		});
		afterAll(async () => {
			await site[Symbol.asyncDispose]();
			await tls?.[Symbol.asyncDispose]();
		});

		/** Sets a service again and again, and each time waits until both apps see just that. */
		const follow = async (service: string, changes: readonly Instances[]): Promise<View> => {
			let view = await site.set(service, []);
			await site.both({ kind: 'watch', service });
			for (const change of changes) {
				await site.seen(service, view);
				view = await site.set(service, change);
			}
			await site.seen(service, view);
			return view;
		};

		it.each([
			['small', [instances(2), instances(3, { tagged: 2 }), instances(0), instances(1, { from: 7 })]],
			['large', [instances(LARGE), instances(LARGE, { from: 2 }), instances(LARGE, { from: 2, tagged: 99 })]],
		])(
			'a %s service: each change is seen as the file has it, and so are verified lookups',
			async (service, changes) => {
				const view = await follow(service, changes);
				expect(await site.both({ kind: 'fetch', service, maxAgeMs: 0 })).toEqual(
					BUILDS.map(() => ({ ...view, ageMs: 0, verifiedAt: expect.any(Number) })),
				);
			},
		);

		it('a service that does not fit into a frame is seen whole, or marked as what it was before', async () => {
			const before = await follow('huge', [instances(LARGE)]);
			for (const from of [0, 5]) {
				const whole = await site.set('huge', instances(HUGE, { from }));
				await site.seen('huge', whole, before);
			}
			await follow('huge', [instances(3)]);
		});

		it('a key is read, and explain lists the instances and the way', async () => {
			await site.setKey('prices/espresso', '2.20');
			await site.set('explained', instances(3));
			await expect.poll(() => site.both({ kind: 'key', key: 'prices/espresso' })).toEqual(BUILDS.map(() => '2.20'));
			await expect
				.poll(() => site.both({ kind: 'explain', service: 'explained' }))
				.toEqual(BUILDS.map(() => ({ shown: 3, instanceCount: 3, hops: sidecars.length - 1 })));
		});

		it('what one app registers the other one sees, until it is deregistered', async () => {
			for (const { build, ask } of site.apps) {
				const none = await site.set(build, []);
				await site.both({ kind: 'watch', service: build });
				await site.seen(build, none);
				const place = { host: '10.9.0.1', port: 81, tags: ['own'] };
				expect(await ask({ kind: 'register', registration: { service: build, id: build, ...place } })).toBe(
					'registered',
				);
				await site.seen(build, viewOf([{ instance: build, ...place, status: 'passing' }], { source: 'live' }));
				await ask({ kind: 'deregister' });
				await site.seen(build, none);
			}
		});

		it('nothing was sent to an app or a sidecar that it could not read, and no connection was lost', async () => {
			expect(await site.both({ kind: 'status' })).toEqual(
				BUILDS.map(() => expect.objectContaining({ protocolFaults: 0, reconnects: 0, lastError: null })),
			);
			// What is too long is marked as such, with a warning. A busy machine is no fault of the builds.
			expect(site.warnings().filter((line) => !/"huge"|"loop-delay"/.test(line))).toEqual([]);
		});

		it('lookups go on with an honest age while the last sidecar is away, and are live again at one of the other build', async () => {
			const last = sidecars.length - 1;
			const view = await follow('known', [instances(4)]);
			const verifiedAt = Date.now();
			await site.both({ kind: 'fetch', service: 'known', maxAgeMs: 0 });
			await site.both({ kind: 'load', service: 'known', fresh: false });
			await site.stop(last, 'SIGKILL');
			await site.seen('known', { ...view, source: 'last-known-good' });
			// By then it is lost for each of them. An age is rounded at each hop.
			const lostBy = Date.now() + sidecars.length;
			// Each process rounds its age, the time when it was live and the wall clock, and takes what is 2 ms old for an answer of now. Behind
			// an earlier sidecar, which does not send when it was live, the time on the way counts as well: see AgeClock.ageOfRead.
			const isBehindEarlier = sidecars.length > 1 && sidecars[0] === 'earlier';
			const olderMsMax = isBehindEarlier ? 2000 : 3 * (sidecars.length + 1);
			const ages = async (): Promise<readonly number[]> => {
				const askedAt = Date.now();
				const snapshots = await site.both<{ readonly ageMs: number }>({ kind: 'fetch', service: 'known' });
				for (const { ageMs } of snapshots) {
					expect(ageMs).toBeGreaterThanOrEqual(askedAt - lostBy);
					expect(ageMs).toBeLessThanOrEqual(Date.now() - verifiedAt + olderMsMax);
				}
				return snapshots.map(({ ageMs }) => ageMs);
			};
			await expect.poll(ages).toSatisfy((all: readonly number[]) => all.every((ageMs) => ageMs > 300));
			await site.start(last, sidecars[last] === 'earlier' ? 'current' : 'earlier');
			await site.seen('known', view);
			await site.seen('known', await site.set('known', instances(5)));
			for (const { lookups, failures } of await site.both<LoadResult>({ kind: 'loaded' })) {
				expect(failures).toEqual([]);
				expect(lookups).toBeGreaterThan(10);
			}
		});
	},
);
