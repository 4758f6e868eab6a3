import type { Setting } from './setting.ts';

/** Settings of what apps register. */
export const registrationSettings: readonly Setting[] = [
	{
		name: 'advertise',
		flag: '--advertise <host>',
		env: 'SPOCK_ADVERTISE',
		help: 'host of the instances that apps register without one; in a pod its IP address',
		kind: 'text',
		fallback: "the address of Consul's agent; 127.0.0.1 with the local backend",
	},
	{
		name: 'owner',
		flag: '--owner <name>',
		env: 'SPOCK_OWNER',
		help: 'names this sidecar over its restarts, and no other one at the same agent: by it, it finds what it registered',
		kind: 'text',
		fallback: 'made of host name, socket and its volume',
	},
	{
		name: 'reconnectGraceMs',
		flag: '--reconnect-grace-ms <ms>',
		env: 'SPOCK_RECONNECT_GRACE_MS',
		help: 'how long an app that has lost its connection may take to come back before it is deregistered',
		kind: 'integer',
		fallback: '30000',
	},
	{
		name: 'registrationTtlMs',
		flag: '--registration-ttl-ms <ms>',
		env: 'SPOCK_REGISTRATION_TTL_MS',
		help: 'without a word from the sidecar for this long, Consul takes what it registered for critical',
		kind: 'integer',
		fallback: '15000',
	},
	{
		name: 'registrationsMax',
		flag: '--registrations-max <count>',
		env: 'SPOCK_REGISTRATIONS_MAX',
		help: 'instances that apps may register at once; the next one is OVERLOADED, 0 for none',
		kind: 'integer',
		fallback: '1024',
	},
	{
		name: 'registrationsPerHolderMax',
		flag: '--registrations-per-holder-max <count>',
		env: 'SPOCK_REGISTRATIONS_PER_HOLDER_MAX',
		help: 'instances that one connection may register; the next one is OVERLOADED',
		kind: 'integer',
		fallback: '64',
	},
];
