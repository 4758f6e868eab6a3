import type { ServiceSnapshot, ServiceSource, SnapshotObserver } from '@spock/protocol';
import { FakeClock, fakeSnapshot } from '@spock/testkit';

import { type CreateOptions, createDiplomat } from '../src/connect.ts';
import type { Diplomat } from '../src/diplomat.ts';
import type { ReportedAddress } from '../src/lookups/instance-records.ts';

/** Where the instances of {@link directClient} are. */
export const HOSTS: readonly string[] = ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:80', '10.0.0.4:80'];

/** A client in direct mode over snapshots that the test publishes. */
export function directClient(
	options: CreateOptions = {},
	hosts: readonly string[] = HOSTS,
): { diplomat: Diplomat; clock: FakeClock; publish: (snapshot: ServiceSnapshot) => void } {
	const clock = new FakeClock();
	let current: ServiceSnapshot = fakeSnapshot('barista', 1, hosts);
	const observers = new Set<SnapshotObserver>();
	const source: ServiceSource = {
		name: 'scripted',
		peek: () => current,
		get: async () => current,
		watch: (_query, observer) => {
			observers.add(observer);
			observer.next(current);
			return { stop: () => observers.delete(observer) };
		},
		list: async () => ({ services: [], source: 'live', ageMs: 0, verifiedAt: 0 }),
		close: async () => undefined,
	};
	const publish = (snapshot: ServiceSnapshot): void => {
		current = snapshot;
		for (const observer of observers) observer.next(snapshot);
	};
	return { diplomat: createDiplomat({ source, clock, random: () => 0, ...options }), clock, publish };
}

/** A source whose answers the test gives by its observers. */
export function scriptedSource(): { readonly source: ServiceSource; readonly observers: Set<SnapshotObserver> } {
	const observers = new Set<SnapshotObserver>();
	const source: ServiceSource = {
		name: 'scripted',
		peek: () => undefined,
		get: () => new Promise(() => undefined),
		list: () => Promise.resolve({ services: [], source: 'live', ageMs: 0, verifiedAt: 0 }),
		watch: (_query, observer) => {
			observers.add(observer);
			return { stop: () => void observers.delete(observer) };
		},
		close: () => Promise.resolve(),
	};
	return { source, observers };
}

/** Hosts of so many picks. */
export function picks(diplomat: Diplomat, count: number): Set<string | undefined> {
	return new Set(Array.from({ length: count }, () => diplomat.pick('barista')?.host));
}

/** An instance of the fake snapshots, as whoever has it from there reports it. */
export function at(text: string): ReportedAddress {
	const [host = '', port = ''] = text.split(':');
	return { instance: `node/${text}`, host, port: Number(port), query: { service: 'barista' } };
}
