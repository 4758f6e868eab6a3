import type { BackendObserver } from '@spock/discovery';
import { type ServiceSnapshot, type SnapshotObserver, SpockError, type WatchedSource } from '@spock/protocol';
import { FakeClock, fakeSnapshot, settle } from '@spock/testkit';
import { expect, it } from 'vitest';

import { UpstreamWatch } from './upstream-watch.ts';

type Service = { readonly service: string };
const barista: Service = { service: 'barista' };

type AnswerMeta = NonNullable<Parameters<BackendObserver['answered']>[1]>;

/** A watch at a sidecar whose word the test gives. */
function watched({ verify, known }: { verify?: () => Promise<ServiceSnapshot>; known?: ServiceSnapshot } = {}) {
	const clock = new FakeClock();
	const place = { process: 'one', isConnected: true, knowsTime: false, limit: undefined as SpockError | undefined };
	const seen: (readonly [hosts: string, meta: AnswerMeta] | string)[] = [];
	let observer: SnapshotObserver | undefined;
	const source = {
		watch: (_query: Service, given: SnapshotObserver) => {
			if (place.limit !== undefined) throw place.limit;
			observer = given;
			if (known !== undefined) given.next(known);
			return { stop: () => undefined };
		},
		peek: () => known,
	} as unknown as WatchedSource<Service, ServiceSnapshot>;
	const start = (): UpstreamWatch<Service, ServiceSnapshot, readonly string[]> =>
		new UpstreamWatch<Service, ServiceSnapshot, readonly string[]>({
			...{ source, query: barista, clock, verify },
			answerIn: ({ instances }) => instances.map(({ host }) => host),
			observer: {
				answered: (hosts, meta = { ageMs: 0 }) => seen.push([hosts.join(), meta]),
				failed: ({ message }) => seen.push(message),
			},
			isConnected: () => place.isConnected,
			knowsTime: () => place.knowsTime,
			process: () => place.process,
			whyStale: () => 'stale',
		});
	const push = (host: string, more: Partial<ServiceSnapshot> = {}): void =>
		observer?.next({ ...fakeSnapshot('barista', 1, [`${host}:80`]), verifiedAt: clock.wallNow(), ...more });
	return {
		clock,
		place,
		seen,
		start,
		push,
		hosts: () => seen.filter((one) => typeof one !== 'string').map(([host]) => host),
	};
}

const old = (ageMs: number, wallNow: number): Partial<ServiceSnapshot> => ({
	source: 'last-known-good',
	ageMs,
	verifiedAt: wallNow - ageMs,
});

it('a watch that is refused at a limit fails, and is started again', () => {
	const { place, seen, start, push } = watched();
	place.limit = new SpockError('OVERLOADED', 'too many subscriptions');
	const watch = start();
	expect(seen).toEqual(['too many subscriptions']);
	place.limit = undefined;
	watch.repeat();
	push('a');
	expect(seen.at(-1)).toMatchObject(['a', { ageMs: 0 }]);
});

it('what the fallback has confirmed is not replaced by what the other sidecar knew earlier', () => {
	const { clock, place, start, push, hosts } = watched();
	start();
	push('old', old(600_000, clock.wallNow()));
	place.isConnected = false;
	push('new');
	place.isConnected = true;
	push('old', old(600_000, clock.wallNow()));
	expect(hosts()).toEqual(['old', 'new']);
});

it('what comes while an answer is verified counts, and an older verified one does not replace it', async () => {
	let answer: (snapshot: ServiceSnapshot) => void = () => undefined;
	const known = fakeSnapshot('barista', 1, ['known:80']);
	const verify = (): Promise<ServiceSnapshot> =>
		new Promise((resolve) => {
			answer = resolve;
		});
	const { start, push, hosts, clock } = watched({ verify, known });
	start();
	expect(hosts()).toEqual([]);
	push('newer', { revision: 3 });
	answer({ ...fakeSnapshot('barista', 2, ['verified:80']), verifiedAt: clock.wallNow() });
	await settle();
	expect(hosts()).toEqual(['newer']);
});

it('what is known stands where it cannot be verified', async () => {
	const known = fakeSnapshot('barista', 1, ['known:80']);
	const { seen, start } = watched({ verify: () => Promise.reject(new SpockError('UNAVAILABLE', 'no answer')), known });
	start();
	await settle();
	expect(seen).toMatchObject(['no answer', ['known', { vouchedAgeMs: 0 }]]);
});

it('an age that the clocks do not tell is unknown; what is verified now is as old as that took', async () => {
	const future = (wallNow: number): Partial<ServiceSnapshot> => ({ verifiedAt: wallNow + 3_600_000 });
	const { clock, seen, start, push } = watched();
	start();
	push('a', future(clock.wallNow()));
	expect(seen.at(-1)).toMatchObject(['a', { ageMs: Number.POSITIVE_INFINITY, vouchedAgeMs: 0 }]);
	const other = watched({
		verify: async () => ({ ...fakeSnapshot('barista', 1, ['b:80']), ...future(clock.wallNow()) }),
	});
	other.start();
	await settle();
	expect(other.seen.at(-1)).toMatchObject(['b', { ageMs: 0 }]);
});

it('an answer is as old as the connection reports, which knows the clocks and the way', () => {
	const { clock, seen, start, push } = watched();
	start();
	push('a', { source: 'last-known-good', ageMs: 2000, verifiedAt: clock.wallNow() - 3_602_000 });
	expect(seen.at(-2)).toMatchObject(['a', { vouchedAgeMs: 2000, isUnconfirmed: true }]);
});
