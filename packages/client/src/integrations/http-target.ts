import type { ServiceAddress, ServiceQuery } from '@spock/protocol';

import type { NameRuleOptions } from './name-rule.ts';

/** How requests over HTTP go to an instance. */
export interface HttpTargetOptions extends NameRuleOptions {
	/** True: the Host header stays the name, `barista.spock`. Default false: it is the instance's host and port. */
	readonly keepHost?: boolean;
	/**
	 * The server's name in TLS: what it is asked for (SNI), and what its certificate must be for. Default: the instance's host.
	 */
	readonly servername?: string | ((query: ServiceQuery, address: ServiceAddress) => string);
}
