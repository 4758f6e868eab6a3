import type { InstanceStatus, ServiceInstance } from '@spock/protocol';

import type { LocalKeys, LocalKeysContent } from './local-keys.ts';

/** What a services file says: the instances of each service, sorted. */
export type LocalServices = ReadonlyMap<string, readonly ServiceInstance[]>;

/** Everything that a services file says. */
export interface LocalContent {
	readonly services: LocalServices;
	readonly keys: LocalKeys;
}

/** One instance as a services file writes it. */
export interface ServicesFileInstance {
	/** An IP address or a DNS name. */
	readonly host: string;
	readonly port: number;
	/** Unique within the service. Default `host:port`. */
	readonly id?: string;
	/** Default 1. */
	readonly weight?: number;
	/** Default `passing`. */
	readonly status?: InstanceStatus;
	readonly tags?: readonly string[];
	readonly meta?: Readonly<Record<string, string>>;
	readonly zone?: string;
	readonly datacenter?: string;
}

/** A services file. */
export interface ServicesFileContent {
	readonly services: Readonly<Record<string, readonly ServicesFileInstance[]>>;
	/** The key-value store: text as it is, anything else as its JSON. Default: no keys. */
	readonly keys?: LocalKeysContent;
}
