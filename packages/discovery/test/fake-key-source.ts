import { type KeyEntry, type KeyQuery, type KeySnapshot, type KeySource, SpockError } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';

import type { BackendObserver } from '../src/backend.ts';
import { BackendSource, type BackendSourceOptions } from '../src/backend-source.ts';
import type { DiscoveryEvent } from '../src/discovery-event.ts';

/** A watch of keys that the source started at its backend. */
export interface WatchingKeys {
	readonly query: KeyQuery;
	readonly observer: BackendObserver<readonly KeyEntry[]>;
	stopped: boolean;
}

/** A source of keys over a backend whose answers the test gives. */
export interface FakeKeySource {
	readonly clock: FakeClock;
	readonly source: BackendSource;
	readonly keys: KeySource;
	readonly watching: readonly WatchingKeys[];
	readonly events: readonly DiscoveryEvent[];
	/** The observer of the newest watch: to answer, or to fail. */
	last(): WatchingKeys['observer'];
}

/** Makes a {@link FakeKeySource}. */
export function fakeKeySource(options: Partial<BackendSourceOptions> = {}): FakeKeySource {
	const clock = new FakeClock();
	const watching: WatchingKeys[] = [];
	const events: DiscoveryEvent[] = [];
	const source = new BackendSource({
		backend: {
			name: 'fake',
			watch: () => ({ stop: () => undefined }),
			watchKey: (query, observer) => {
				const one = { query, observer, stopped: false };
				watching.push(one);
				return {
					stop: () => {
						one.stopped = true;
					},
				};
			},
			list: () => Promise.resolve([]),
			status: () => ({ name: 'fake', state: 'up', addresses: [], error: null, lastSuccessAgeMs: 0 }),
			close: () => Promise.resolve(),
		},
		clock,
		onEvent: (event) => events.push(event),
		...options,
	});
	const { keys } = source;
	if (keys === undefined) throw new Error('a backend with keys makes a source with keys');
	return { clock, source, keys, watching, events, last: () => (watching.at(-1) as WatchingKeys).observer };
}

/** An observer of keys that keeps what it is told. */
export interface KeyRecorder {
	readonly seen: KeySnapshot[];
	readonly errors: SpockError[];
	next(snapshot: KeySnapshot): void;
	error(error: SpockError): void;
}

/** Makes a recorder. */
export function keyRecorder(): KeyRecorder {
	const seen: KeySnapshot[] = [];
	const errors: SpockError[] = [];
	return { seen, errors, next: (snapshot) => seen.push(snapshot), error: (error) => errors.push(error) };
}

/** Consul cannot be reached. */
export const unavailable: SpockError = new SpockError('UNAVAILABLE', 'Consul is away');
