import { nearestName } from '@spock/protocol/internal';

import { settings } from './settings.ts';

/** Told of at most; one that is wrong is seldom alone, and a pod may have many of somebody else's. */
export const UNKNOWN_VARIABLES_MAX = 10;

/** Variables that are no settings of `start`: of the command itself, of the commands that ask, and of clients in the same pod. */
const OTHERS: readonly string[] = [
	'SPOCK_CONFIG',
	'SPOCK_CONNECT_CA',
	'SPOCK_CONNECT_CERT',
	'SPOCK_CONNECT_KEY',
	'SPOCK_TOKEN',
	'SPOCK_TOKEN_FILE',
];

/** Kubernetes gives each container the address of every Service in such variables, and a Service may be called spock. */
const SERVICE_LINK = /_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_|$)/;
const SERVICE_URL = /^(?:tcp|udp|sctp):\/\//;

/** A variable that looks like a setting and is none. */
export interface UnknownVariable {
	readonly variable: string;
	/** The setting that was most likely meant. */
	readonly meant: string | undefined;
}

/** The `SPOCK_…` variables that nobody reads, sorted: one that is misspelt would do nothing, in silence. */
export function unknownVariables(env: Readonly<Record<string, string | undefined>>): UnknownVariable[] {
	const known = [...settings.map((setting) => setting.env), ...OTHERS];
	return Object.keys(env)
		.filter((name) => name.startsWith('SPOCK_') && !known.includes(name) && !isServiceLink(name, env[name]))
		.sort()
		.slice(0, UNKNOWN_VARIABLES_MAX)
		.map((variable) => ({ variable, meant: nearestName(variable, known) }));
}

function isServiceLink(name: string, value: string | undefined): boolean {
	return SERVICE_LINK.test(name) || (name.endsWith('_PORT') && SERVICE_URL.test(value ?? ''));
}
