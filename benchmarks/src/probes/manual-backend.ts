import type { Backend, BackendObserver } from '@spock/discovery';
import type { ServiceInstance } from '@spock/protocol';

/** A backend whose one list of instances changes when it is told to, and at no other time. */
export interface ManualBackend extends Backend {
	publish(instances: readonly ServiceInstance[]): void;
}

/** Makes one; every query has the same instances. */
export function manualBackend(first: readonly ServiceInstance[]): ManualBackend {
	let instances = first;
	const observers = new Set<BackendObserver>();
	return {
		name: 'manual',
		watch: (_query, observer) => {
			observers.add(observer);
			observer.answered(instances);
			return { stop: () => observers.delete(observer) };
		},
		list: () => Promise.resolve([]),
		status: () => ({ name: 'manual', state: 'up', addresses: [], error: null, lastSuccessAgeMs: 0 }),
		close: () => Promise.resolve(),
		publish: (next) => {
			instances = next;
			for (const observer of observers) observer.answered(next);
		},
	};
}
