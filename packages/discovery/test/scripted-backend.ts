import { type ServiceInstance, type ServiceListEntry, type ServiceQuery, SpockError } from '@spock/protocol';

import type { Backend, BackendObserver, BackendWatch } from '../src/foundation/backend.ts';

/** A backend whose words the test says. */
export class ScriptedBackend implements Backend {
	readonly name: string;
	readonly observers: Set<BackendObserver> = new Set();
	list: Backend['list'];
	isClosed = false;
	/** Undefined while it answers. */
	error: SpockError | undefined = undefined;

	constructor(name: string, services: readonly ServiceListEntry[] = []) {
		this.name = name;
		this.list = () => (this.error === undefined ? Promise.resolve(services) : Promise.reject(this.error));
	}

	watch(_query: ServiceQuery, observer: BackendObserver): BackendWatch {
		this.observers.add(observer);
		return { stop: () => void this.observers.delete(observer) };
	}

	/** Tells every watch. */
	answer(...instances: readonly ServiceInstance[]): void {
		this.error = undefined;
		for (const observer of [...this.observers]) observer.answered(instances);
	}

	/** Fails every watch, and `list`. */
	fail(error: SpockError = new SpockError('UNAVAILABLE', `${this.name} is away`)): void {
		this.error = error;
		for (const observer of [...this.observers]) observer.failed(error);
	}

	status(): ReturnType<Backend['status']> {
		const error = this.error?.message ?? null;
		return {
			name: this.name,
			state: error === null ? 'up' : 'down',
			addresses: [this.name],
			error,
			lastSuccessAgeMs: 5,
		};
	}

	async close(): Promise<void> {
		this.isClosed = true;
	}
}
