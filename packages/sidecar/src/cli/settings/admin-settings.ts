import type { Setting } from './settings.ts';

/** The admin port, and who may reach it. */
export const adminSettings: readonly Setting[] = [
	{
		name: 'admin',
		flag: '--admin <host:port>',
		env: 'SPOCK_ADMIN',
		help: 'HTTP for the status page, /metrics, /livez and /readyz',
		kind: 'text',
		fallback: 'none',
	},
	{
		name: 'adminAny',
		flag: '--admin-any',
		env: 'SPOCK_ADMIN_ANY',
		help: 'allow --admin at an address that other machines can reach, as in a pod',
		kind: 'boolean',
		fallback: 'false',
	},
	{
		name: 'adminAllowedHosts',
		flag: '--admin-allowed-hosts <names>',
		env: 'SPOCK_ADMIN_ALLOWED_HOSTS',
		help: 'names, separated by commas, that the admin port answers to beside localhost and its own addresses',
		kind: 'list',
		fallback: 'none',
	},
];
