import type { DiscoveryHttpsAgentOptions } from './agent-options.ts';
import { DiscoveryAgent, DiscoveryHttpsAgent } from './discovery-agent.ts';

/** An agent for each protocol, under the names that axios takes. */
export interface ServiceAgents extends Disposable {
	/** For `http:`. */
	readonly httpAgent: DiscoveryAgent;
	/** For `https:`. */
	readonly httpsAgent: DiscoveryHttpsAgent;
	/** Closes every connection of both, idle or not. Also `Symbol.dispose`. */
	destroy(): void;
}

/**
 * Agents for `http.request` and `https.request`, and everything that is built on them, with the same options: `http://barista.spock/menu`
 * goes to a healthy instance of `barista`. Where one cannot be connected to, nothing was sent, and another one gets the request,
 * whatever its method: `connectRetriesMax` more at most. Throws a TypeError or RangeError that names the wrong option.
 */
export function createAgent(options: DiscoveryHttpsAgentOptions): ServiceAgents {
	const httpAgent = new DiscoveryAgent(options);
	const httpsAgent = new DiscoveryHttpsAgent(options);
	const destroy = (): void => {
		httpAgent.destroy();
		httpsAgent.destroy();
	};
	return { httpAgent, httpsAgent, destroy, [Symbol.dispose]: destroy };
}
