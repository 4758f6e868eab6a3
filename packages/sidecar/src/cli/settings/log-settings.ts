import type { Resolved, Setting } from './setting.ts';

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
		help: 'time from which on a request that carries a trace is logged with the id of its trace, as one that fails is',
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
export function isPretty(settings: ReadonlyMap<string, Resolved>, isTerminal: boolean): boolean {
	const format = settings.get('logFormat')?.value ?? 'auto';
	return format === 'pretty' || (format === 'auto' && isTerminal);
}
