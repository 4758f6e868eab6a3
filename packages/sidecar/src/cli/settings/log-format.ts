import type { Resolved } from './resolve-settings.ts';

export const DEFAULT_LOG_LEVEL = 'info';

/** Whether the log is for people. */
export function isPretty(settings: ReadonlyMap<string, Resolved>, isTerminal: boolean): boolean {
	const format = settings.get('logFormat')?.value ?? 'auto';
	return format === 'pretty' || (format === 'auto' && isTerminal);
}
