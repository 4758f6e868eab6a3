import { DEFAULT_METRICS_SERVICES_MAX } from '../../admin/metrics/oldest-services.ts';
import type { Setting } from './setting.ts';

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

/** Settings of the metrics. */
export const metricsSettings: readonly Setting[] = [
	{
		name: 'metricsServicesMax',
		flag: '--metrics-services-max <count>',
		env: 'SPOCK_METRICS_SERVICES_MAX',
		help: 'services whose age is a metric by name, the oldest first',
		kind: 'integer',
		fallback: String(DEFAULT_METRICS_SERVICES_MAX),
	},
];
