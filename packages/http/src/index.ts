export {
	DEFAULT_CONNECT_RETRIES_MAX,
	DEFAULT_CONNECT_TIMEOUT_MS,
	DEFAULT_IDLE_TIMEOUT_MS,
	type DiscoveryAgentOptions,
	type DiscoveryHttpsAgentOptions,
	type DiscoveryOptions,
} from './agent-options.ts';
export { createAgent, type ServiceAgents } from './create-agent.ts';
export { DiscoveryAgent, DiscoveryHttpsAgent } from './discovery-agent.ts';
export { type DiscoveryLookup, type DiscoveryLookupOptions, discoveryLookup } from './discovery-lookup.ts';
