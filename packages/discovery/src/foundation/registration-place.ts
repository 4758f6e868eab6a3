import type { InstanceDefinition, InstanceHealth, OwnedInstance, RegistrationTerms } from './registrar.ts';

/** The metadata that names the owner of a registration: with the id it is the same instance, wherever it is registered. */
export const OWNER_META = 'spock-owner';

/**
 * One place of a registry where instances are registered, such as an agent of Consul: what stands at one is unknown to the others, and
 * ends with its machine. Rejects as a `Registrar` does.
 */
export interface RegistrationPlace {
	/** `maintenance`: an operator took the instance out of service at another place, for this reason; it must stay so. */
	register(
		definition: InstanceDefinition,
		health: InstanceHealth,
		terms: RegistrationTerms,
		maintenance?: string,
	): Promise<string | null>;
	report(id: string, health: InstanceHealth): Promise<void>;
	/** Only what this owner has; undefined if it never registered anything. */
	deregister(id: string, owner: string | undefined): Promise<void>;
	owned(owner: string): Promise<readonly OwnedInstance[]>;
	/** The node that has this id of this owner here; undefined if it is not registered here, null if its node is unknown. */
	nodeOf(id: string, owner: string): Promise<string | null | undefined>;
	/** Why an operator has taken it out of service here, as of the last write, report or search; undefined if none has. */
	maintenanceOf(id: string): string | undefined;
}

/** One registration. */
export interface RegistrationName {
	readonly id: string;
	readonly service: string;
	readonly owner: string;
}

/** A registration as the registry publishes it to everyone who looks. */
export interface Sighting {
	readonly id: string;
	/** The node of the place where it is registered. */
	readonly node: string;
	/** The address of that node, which instances without a host have. */
	readonly nodeHost: string;
	/** Where readers connect to. */
	readonly host: string;
	readonly port: number;
	/** Its node is well and it was renewed in time: readers may be sent to it. Maintenance and the app's own checks do not count. */
	readonly isServed: boolean;
	/** Its node has failed. */
	readonly isNodeLost: boolean;
	/** The app that it was registered for. */
	readonly app?: string;
	/** Why an operator has taken it out of service. */
	readonly maintenance?: string;
}

/** What a registry publishes of this sidecar's registrations, asked at another place than the one in question wherever it can be. */
export interface RegistrationCatalogue {
	/** Every published registration of this name, by the newest state. Rejects where that is unknown. */
	look(name: RegistrationName, avoided: number): Promise<readonly Sighting[]>;
	/** Whether the registry has this node, and it has not failed. Rejects where that is unknown. */
	isNodeWell(node: string, avoided: number): Promise<boolean>;
	/** The address of this node; undefined where the registry does not have the node. Rejects where that is unknown. */
	nodeHost(node: string, avoided: number): Promise<string | undefined>;
	/** Reports each change of what this owner has of a service. Call what is returned to end it. */
	watch(
		of: { readonly service: string; readonly owner: string },
		avoided: () => number,
		seen: (sightings: readonly Sighting[]) => void,
	): () => void;
}
