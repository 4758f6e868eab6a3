import { type ServiceInstance, type ServiceQuery, type ServiceSnapshot, SpockError } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';

import type { Backend, BackendObserver } from '../src/backend.ts';
import { BackendSource, type BackendSourceOptions } from '../src/backend-source.ts';
import type { DiscoveryEvent } from '../src/discovery-event.ts';

/** A watch that the source started at its backend. */
export interface Watching {
	readonly query: ServiceQuery;
	readonly observer: BackendObserver;
	stopped: boolean;
}

/** A source over a backend whose answers the test gives. */
export interface FakeBackendSource {
	readonly clock: FakeClock;
	readonly backend: Backend;
	readonly source: BackendSource;
	readonly watching: readonly Watching[];
	readonly events: readonly DiscoveryEvent[];
	/** The observer of the newest watch: to answer, or to fail. */
	last(): BackendObserver;
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

/** Makes a source, its backend and its clock. */
export function createSource(options: Partial<BackendSourceOptions> = {}): FakeBackendSource {
	const clock = new FakeClock();
	const watching: Watching[] = [];
	const events: DiscoveryEvent[] = [];
	const backend: Backend = {
		name: 'fake',
		watch(asked, observer) {
			const one: Watching = { query: asked, observer, stopped: false };
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
	};
	const source = new BackendSource({ backend, clock, onEvent: (event) => events.push(event), ...options });
	return { clock, backend, source, watching, events, last: () => (watching.at(-1) as Watching).observer };
}

/** An observer that keeps what it is told. */
export interface Recorder {
	readonly seen: ServiceSnapshot[];
	readonly errors: SpockError[];
	next(snapshot: ServiceSnapshot): void;
	error(error: SpockError): void;
}

/** Makes a recorder. */
export function recorder(): Recorder {
	const seen: ServiceSnapshot[] = [];
	const errors: SpockError[] = [];
	return { seen, errors, next: (snapshot) => seen.push(snapshot), error: (error) => errors.push(error) };
}
