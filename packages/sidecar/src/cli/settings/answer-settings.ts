import { type BalancingPolicy, DEFAULT_POLICY, type ZonePolicy, zonePolicies } from '@spock/balancer';
import {
	DEFAULT_EMPTY_HOLD_MS,
	DEFAULT_ENTRIES_MAX,
	DEFAULT_IDLE_TTL_MS,
	DEFAULT_KEY_ENTRIES_MAX,
	DEFAULT_PANIC_THRESHOLD,
	DEFAULT_RECONNECT_GRACE_MS,
	DEFAULT_REGISTRATION_TTL_MS,
	DEFAULT_REGISTRATIONS_MAX,
	DEFAULT_REGISTRATIONS_PER_HOLDER_MAX,
	DEFAULT_STATE_BYTES_MAX,
} from '@spock/discovery';

import { sidecarPolicies } from '../../foundation/limits.ts';

/** Cached answers: how long, how many, and how far they are trusted. */
export const answerSettings = {
	idleTtlMs: {
		kind: 'duration',
		unit: 'ms',
		default: DEFAULT_IDLE_TTL_MS as number,
		help: 'how long a service is still watched after the last request for it',
	},
	staleMaxMs: {
		kind: 'duration',
		unit: 'ms',
		note: 'no limit',
		help: 'age past which last known answers are refused',
	},
	emptyHoldMs: {
		kind: 'duration',
		unit: 'ms',
		default: DEFAULT_EMPTY_HOLD_MS as number,
		help: 'how long the last instances are served when Consul returns none any more; 0: not at all',
	},
	panicThreshold: {
		kind: 'fraction',
		unit: 'fraction',
		default: DEFAULT_PANIC_THRESHOLD as number,
		note: ' (never)',
		help: 'fraction of healthy instances, 0 to 1, below which all are served',
	},
	stateDir: {
		kind: 'text',
		unit: 'directory',
		help: 'directory for answers that outlive the sidecar, for a start while Consul is away',
	},
	stateBytesMax: {
		kind: 'integer',
		unit: 'bytes',
		default: DEFAULT_STATE_BYTES_MAX as number,
		help: 'most bytes in it; the answers that were written least recently go. Keep it below the size of its volume',
	},
	entriesMax: {
		kind: 'integer',
		unit: 'count',
		default: DEFAULT_ENTRIES_MAX as number,
		help: 'different queries for services at once; the next one replaces one that no client reads, or is OVERLOADED',
	},
	entriesPerClientMax: { kind: 'integer', unit: 'count', note: 'half of them', help: 'the same, of one client' },
	keyEntriesMax: {
		kind: 'integer',
		unit: 'count',
		default: DEFAULT_KEY_ENTRIES_MAX as number,
		help: 'different keys and prefixes at once, as above. Each may take a megabyte',
	},
	keyEntriesPerClientMax: { kind: 'integer', unit: 'count', note: 'half of them', help: 'the same, of one client' },
	answersBytesMax: {
		kind: 'integer',
		unit: 'bytes',
		note: 'half of the heap that Node.js allows itself',
		help: 'memory that the answers about services may take, by estimate; at it, or half of it for one client, a further query is OVERLOADED. The same for keys',
	},
	policy: {
		kind: sidecarPolicies as readonly BalancingPolicy[],
		unit: 'name',
		default: DEFAULT_POLICY as BalancingPolicy,
		help: 'how getService picks an instance',
	},
	zone: {
		kind: 'text',
		unit: 'name',
		help: 'zone that it runs in: of its clients that name none, and of instances registered without the metadata zone',
	},
	zonePolicy: {
		kind: zonePolicies as readonly ZonePolicy[],
		unit: 'name',
		default: 'any' as ZonePolicy,
		help: 'prefer: getService picks in this zone as far as its instances suffice for its callers',
	},
} as const;

/** What apps register. */
export const registrationSettings = {
	advertise: {
		kind: 'text',
		unit: 'host',
		note: "the address of Consul's agent; 127.0.0.1 with the local backend",
		help: 'host of the instances that apps register without one; in a pod its IP address',
	},
	owner: {
		kind: 'text',
		unit: 'name',
		note: 'made of host name, socket and its volume',
		help: 'name by which this sidecar finds its registrations after a restart; unique in the datacenter',
	},
	reconnectGraceMs: {
		kind: 'duration',
		unit: 'ms',
		default: DEFAULT_RECONNECT_GRACE_MS as number,
		help: 'how long an app that has lost its connection may take to return before it is deregistered',
	},
	registrationTtlMs: {
		kind: 'duration',
		unit: 'ms',
		default: DEFAULT_REGISTRATION_TTL_MS as number,
		help: 'time without a renewal by the sidecar after which Consul marks its registrations critical',
	},
	registrationsMax: {
		kind: 'integer',
		unit: 'count',
		default: DEFAULT_REGISTRATIONS_MAX as number,
		help: 'instances that apps may register at once; the next one replaces one that no client holds any more, or is OVERLOADED; 0 for none',
	},
	registrationsPerHolderMax: {
		kind: 'integer',
		unit: 'count',
		default: DEFAULT_REGISTRATIONS_PER_HOLDER_MAX as number,
		help: 'instances that one connection may register; the next one is OVERLOADED',
	},
	registrationsNamedOnly: {
		kind: 'boolean',
		default: false,
		help: 'register only for clients whose token has a name in --token-file',
	},
} as const;
