import { diplomatOption } from '@spock/client/integrations';
import { knownMembers } from '@spock/protocol/internal';

import type { ServiceOptions } from './service-dispatch.ts';

/** What the interceptor takes, and the dispatcher too. */
const KNOWN = ['diplomat', 'suffix', 'query', 'services', 'keepHost', 'servername', 'isFailure'] as const;

/** Throws a TypeError that names what is missing, wrong or unknown. `more` are options that the caller checks itself. */
export function checkOptions(caller: string, options: ServiceOptions, more: readonly string[] = []): void {
	if (typeof options !== 'object' || options === null) {
		throw new TypeError(`${caller} needs options: { diplomat }, the Diplomat that finds the services`);
	}
	knownMembers('option', options, [...KNOWN, ...more]);
	const { diplomat, keepHost, servername, isFailure } = options;
	diplomatOption(diplomat);
	if (keepHost !== undefined && typeof keepHost !== 'boolean') {
		throw new TypeError(`keepHost must be true or false, not ${String(keepHost)}`);
	}
	if (servername !== undefined && typeof servername !== 'string' && typeof servername !== 'function') {
		throw new TypeError(`servername must be a string or a function, not ${typeof servername}`);
	}
	if (isFailure !== undefined && typeof isFailure !== 'function') {
		throw new TypeError(`isFailure must be a function, not ${typeof isFailure}`);
	}
}

/** Throws a TypeError for what the dispatcher alone is given. */
export function checkAgentOptions(Agent: unknown, agentOptions: unknown): void {
	if (Agent !== undefined && typeof Agent !== 'function') {
		throw new TypeError('Agent must be the class Agent of undici: give the class, not an instance');
	}
	if (agentOptions === undefined) return;
	if (typeof agentOptions !== 'object' || agentOptions === null || Array.isArray(agentOptions)) {
		throw new TypeError('agentOptions must be an object with the options of undici’s Agent');
	}
}
