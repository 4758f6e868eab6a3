import type { Setting } from './settings.ts';

/** Settings of the answers that are kept: how long, how many, and how much they are believed. */
export const answerSettings: readonly Setting[] = [
	{
		name: 'idleTtlMs',
		flag: '--idle-ttl-ms <ms>',
		env: 'SPOCK_IDLE_TTL_MS',
		help: 'how long a service that nobody asks for is still watched',
		kind: 'integer',
		fallback: '60000',
	},
	{
		name: 'staleMaxMs',
		flag: '--stale-max-ms <ms>',
		env: 'SPOCK_STALE_MAX_MS',
		help: 'age past which last known answers are refused',
		kind: 'integer',
		fallback: 'no limit',
	},
	{
		name: 'emptyHoldMs',
		flag: '--empty-hold-ms <ms>',
		env: 'SPOCK_EMPTY_HOLD_MS',
		help: 'how long the last instances are served when Consul says that there are none any more; 0 for not at all',
		kind: 'integer',
		fallback: '10000',
	},
	{
		name: 'panicThreshold',
		flag: '--panic-threshold <fraction>',
		env: 'SPOCK_PANIC_THRESHOLD',
		help: 'fraction of healthy instances, 0 to 1, below which all are served',
		kind: 'fraction',
		fallback: '0 (never)',
	},
	{
		name: 'stateDir',
		flag: '--state-dir <directory>',
		env: 'SPOCK_STATE_DIR',
		help: 'where answers outlive the sidecar, for a start while Consul is out',
		kind: 'text',
		fallback: 'none',
	},
	{
		name: 'entriesMax',
		flag: '--entries-max <count>',
		env: 'SPOCK_ENTRIES_MAX',
		help: 'different questions about services watched at once; the next one is OVERLOADED',
		kind: 'integer',
		fallback: '10000',
	},
	{
		name: 'keyEntriesMax',
		flag: '--key-entries-max <count>',
		env: 'SPOCK_KEY_ENTRIES_MAX',
		help: 'different keys and prefixes watched at once; the next one is OVERLOADED. Each may take a megabyte',
		kind: 'integer',
		fallback: '1000',
	},
];
