import { type ServiceInstance, type ServiceQuery, type ServiceSnapshot, SpockError } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';

import { BackendSource, type BackendSourceOptions, DEFAULT_EMPTY_HOLD_MS } from '../src/backend-source.ts';
import type { Backend, BackendObserver, BackendWatch } from '../src/foundation/backend.ts';
import type { DiscoveryEvent } from '../src/foundation/discovery-event.ts';

/** A watch that a source started at its backend. */
export interface Watching<Q = ServiceQuery, V = readonly ServiceInstance[]> {
	readonly query: Q;
	readonly observer: BackendObserver<V>;
	stopped: boolean;
	/** How often it was told that somebody has asked again. */
	uses: number;
	/** How often a failed query had to be repeated because callers wait. */
	retries: number;
}

/** The watches of a backend whose answers the test gives. */
export interface ScriptedWatches<Q, V> {
	readonly watching: readonly Watching<Q, V>[];
	/** What the backend is asked to watch with. */
	watch(query: Q, observer: BackendObserver<V>): BackendWatch;
	/** The observer of the newest watch: to answer, or to fail. */
	last(): BackendObserver<V>;
}

/** Makes {@link ScriptedWatches}. */
export function scriptedWatches<Q, V>(): ScriptedWatches<Q, V> {
	const watching: Watching<Q, V>[] = [];
	return {
		watching,
		watch: (query, observer) => {
			const one: Watching<Q, V> = { query, observer, stopped: false, uses: 0, retries: 0 };
			watching.push(one);
			return {
				used: () => {
					one.uses++;
				},
				retry: () => {
					one.retries++;
				},
				stop: () => {
					one.stopped = true;
				},
			};
		},
		last: () => (watching.at(-1) as Watching<Q, V>).observer,
	};
}

/** A source over a backend whose answers the test gives. */
export interface FakeBackendSource extends Omit<ScriptedWatches<ServiceQuery, readonly ServiceInstance[]>, 'watch'> {
	readonly clock: FakeClock;
	readonly backend: Backend;
	readonly source: BackendSource;
	readonly events: readonly DiscoveryEvent[];
}

/** A healthy instance. */
export function instance(name: string, port = 80): ServiceInstance {
	return {
		instance: name,
		host: '10.0.0.1',
		port,
		weight: 1,
		status: 'passing',
		tags: [],
		meta: {},
		zone: null,
		datacenter: null,
	};
}

/** Two lists that differ. */
export const A: readonly ServiceInstance[] = [instance('a')];
export const B: readonly ServiceInstance[] = [instance('b')];
/** What a registry out of reach gives. */
export const refused: SpockError = new SpockError('UNAVAILABLE', 'refused');
/** The question of most tests. */
export const query: ServiceQuery = { service: 'barista' };

/** Makes a source, its backend and its clock; `more` is what the backend can besides. */
export function createSource(
	options: Partial<BackendSourceOptions> = {},
	more: Partial<Backend> = {},
): FakeBackendSource {
	const clock = new FakeClock();
	const events: DiscoveryEvent[] = [];
	const { watch, watching, last } = scriptedWatches<ServiceQuery, readonly ServiceInstance[]>();
	const backend: Backend = {
		name: 'fake',
		watch,
		list: () => Promise.resolve([]),
		status: () => ({ name: 'fake', state: 'up', addresses: [], error: null, lastSuccessAgeMs: 0 }),
		close: () => Promise.resolve(),
		...more,
	};
	const source = new BackendSource({ backend, clock, onEvent: (event) => events.push(event), ...options });
	return { clock, backend, source, watching, events, last };
}

/** How long a source holds an empty answer back. */
export const HOLD_MS: number = DEFAULT_EMPTY_HOLD_MS;

/** A source that serves A to a reader. */
export function serving(options: Partial<BackendSourceOptions> = {}): FakeBackendSource & { readonly seen: Recorder } {
	const created = createSource(options);
	const seen = recorder();
	created.source.watch(query, seen);
	created.last().answered(A);
	return { ...created, seen };
}

/** An observer that keeps what it is told. */
export interface Recorder<S = ServiceSnapshot> {
	readonly seen: S[];
	readonly errors: SpockError[];
	next(snapshot: S): void;
	error(error: SpockError): void;
}

/** Makes a recorder. */
export function recorder<S = ServiceSnapshot>(): Recorder<S> {
	const seen: S[] = [];
	const errors: SpockError[] = [];
	return { seen, errors, next: (snapshot) => seen.push(snapshot), error: (error) => errors.push(error) };
}
