import { type ServiceInstance, SpockError } from '@spock/protocol';

import type { InstanceDefinition, InstanceHealth, OwnedInstance, Registrar } from '../../foundation/registrar.ts';
import { sortInstances } from '../../foundation/snapshot-diff.ts';

/** The host of an instance that says none: what is registered here runs on this machine. */
const LOCAL_HOST = '127.0.0.1';

/**
 * What apps register at the embedded registry: in memory, so that an app under development finds what another registers. A
 * sidecar that is restarted knows nothing of it; apps register again by themselves.
 */
export class LocalRegistrar implements Registrar {
	readonly #registered = new Map<string, Registered>();
	readonly #changed: (services: ReadonlySet<string>) => void;

	/** `changed` is called whenever an instance came, went, or has another health, with the services that it is of. */
	constructor(changed: (services: ReadonlySet<string>) => void) {
		this.#changed = changed;
	}

	/** The names of the services that have instances here. */
	services(): ReadonlySet<string> {
		return new Set([...this.#registered.values()].map(({ definition }) => definition.service));
	}

	/** The instances of a service together with those of a file: one that registers wins over one of the same name. */
	merge(service: string, filed: readonly ServiceInstance[]): readonly ServiceInstance[] {
		const own = [...this.#registered.values()].filter(({ definition }) => definition.service === service);
		if (own.length === 0) return filed;
		const names = new Set(own.map(({ instance }) => instance.instance));
		const others = filed.filter(({ instance }) => !names.has(instance));
		return sortInstances([...others, ...own.map(({ instance }) => instance)]);
	}

	async register(definition: InstanceDefinition, health: InstanceHealth): Promise<string> {
		// The same name may stand for an instance of another service now.
		const before = this.#registered.get(definition.id)?.definition.service ?? definition.service;
		this.#registered.set(definition.id, { definition, instance: instanceOf(definition, health) });
		this.#changed(new Set([before, definition.service]));
		return definition.id;
	}

	async report(id: string, health: InstanceHealth): Promise<void> {
		const known = this.#registered.get(id);
		if (known === undefined) {
			throw new SpockError('NO_SUCH_SERVICE', `no instance is registered with the id ${id}`, { details: { id } });
		}
		// A renewal is no change.
		if (known.instance.status === health.status) return;
		await this.register(known.definition, health);
	}

	async deregister(id: string): Promise<void> {
		const service = this.#registered.get(id)?.definition.service;
		if (service === undefined) return;
		this.#registered.delete(id);
		this.#changed(new Set([service]));
	}

	async owned(): Promise<readonly OwnedInstance[]> {
		return [];
	}
}

interface Registered {
	readonly definition: InstanceDefinition;
	readonly instance: ServiceInstance;
}

function instanceOf(definition: InstanceDefinition, { status }: InstanceHealth): ServiceInstance {
	const { id, host = LOCAL_HOST, port, tags, meta, weights } = definition;
	return Object.freeze({
		instance: id,
		host,
		port,
		weight: (status === 'warning' ? weights?.warning : weights?.passing) ?? 1,
		status,
		tags: Object.freeze([...tags]),
		meta: Object.freeze({ ...meta }),
		zone: meta['zone'] ?? null,
		datacenter: null,
	});
}
