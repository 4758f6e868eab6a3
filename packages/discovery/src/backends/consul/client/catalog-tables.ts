import type { ConsulClient, ConsulCommon } from './consul-client.ts';

/** One table of Consul, asked for its index alone. */
export interface CatalogTable {
	/** Nothing passes it, so that the index alone comes. */
	readonly filter: string;
	readonly send: (client: ConsulClient, call: ConsulCommon) => Promise<unknown>;
}

/**
 * All that is known of a service is in three tables, and every change moves the index of one of them: of services, of checks, of
 * nodes.
 * Source: https://developer.hashicorp.com/consul/api-docs/catalog#list-services, …/catalog#list-nodes, …/health#list-checks-in-state
 */
export const CATALOG_TABLES: readonly CatalogTable[] = [
	{
		filter: 'ServiceName == ""',
		send: (client, call) => client.catalog.service.list(call),
	},
	{
		filter: 'CheckID == ""',
		send: (client, call) => client.health.state({ ...call, state: 'any' }),
	},
	{ filter: 'Node == ""', send: (client, call) => client.catalog.node.list(call) },
];
