import type { InstanceDefinition, OwnedInstance, Registrar } from '@spock/discovery';
import { SpockError } from '@spock/protocol';

import { askRegistry, type RegistryLink } from './registry-query.ts';

/** The writing half of the simulated registry. A write takes hold when it has arrived, also where its answer is lost. */
export function simRegistrar(link: RegistryLink): Registrar {
	const { registry, injection } = link;
	const definitions = definitionsOf(registry);
	const write = async (act: () => void): Promise<void> => {
		const nothing: readonly never[] = [];
		// As it arrives, before anybody hears of it.
		let outcome: SpockError | undefined;
		const select = (): readonly never[] => {
			try {
				act();
			} catch (error) {
				outcome = SpockError.from(error);
			}
			return nothing;
		};
		await askRegistry(link, { item: undefined, index: 0, signal: undefined, select });
		if (outcome !== undefined) throw outcome;
	};
	const registrar: Registrar = {
		register: async (definition, { status }, { owner }) => {
			await write(() => {
				const { id, service, port } = definition;
				registry.registered.set(id, { service, port, owner, status });
				definitions.set(id, definition);
			});
			return `node/${definition.id}`;
		},
		report: (id, { status }) =>
			write(() => {
				const known = registry.registered.get(id);
				if (known === undefined) throw new SpockError('NO_SUCH_SERVICE', `the registry has no ${id}`);
				known.status = status;
			}),
		deregister: (id) =>
			write(() => {
				registry.registered.delete(id);
			}),
		owned: async (owner) => {
			let found: OwnedInstance[] = [];
			await write(() => {
				found = [...registry.registered].flatMap(([id, one]): OwnedInstance[] => {
					const definition = definitions.get(id);
					if (one.owner !== owner || definition === undefined) return [];
					const health = { status: one.status as 'passing', note: '' };
					return [{ definition, instance: `node/${id}`, health }];
				});
			});
			return found;
		},
	};
	return injection.registrar?.(registrar, () => link.scheduler.nowMs) ?? registrar;
}

const definitions = new WeakMap<object, Map<string, InstanceDefinition>>();

/** Kept beside the registry: what a sidecar that was restarted finds of its own. */
function definitionsOf(registry: object): Map<string, InstanceDefinition> {
	const known = definitions.get(registry) ?? new Map<string, InstanceDefinition>();
	definitions.set(registry, known);
	return known;
}
