import { DEFAULT_METRICS_SERVICES_MAX } from '../../admin/metrics/oldest-services.ts';
import type { Setting, Settings } from './setting.ts';

/** A request that took as long as this is worth a line, in milliseconds. */
export const DEFAULT_SLOW_REQUEST_MS = 500;

/** What is logged, and how. */
export const logSettings: readonly Setting[] = [
	{
		name: 'logLevel',
		flag: '--log-level <level>',
		env: 'SPOCK_LOG_LEVEL',
		help: 'trace, debug, info, warn, error, fatal or silent',
		kind: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
		fallback: 'info',
	},
	{
		name: 'slowRequestMs',
		flag: '--slow-request-ms <ms>',
		env: 'SPOCK_SLOW_REQUEST_MS',
		help: 'a request with a trace that takes longer is logged with its trace id, as is one that fails',
		kind: 'integer',
		fallback: String(DEFAULT_SLOW_REQUEST_MS),
	},
	{
		name: 'logFormat',
		flag: '--log-format <format>',
		env: 'SPOCK_LOG_FORMAT',
		help: 'auto (pretty on a terminal), pretty or json',
		kind: ['auto', 'pretty', 'json'],
		fallback: 'auto',
	},
];

export const DEFAULT_LOG_LEVEL = 'info';

/** Whether the log is for people. */
export function isPretty(settings: Settings, isTerminal: boolean): boolean {
	const format = settings.get('logFormat')?.value ?? 'auto';
	return format === 'pretty' || (format === 'auto' && isTerminal);
}

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
		help: 'further host names that the admin port answers to, separated by commas',
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
