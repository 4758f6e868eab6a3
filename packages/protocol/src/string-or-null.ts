/** The string itself; null for everything else. */
export function stringOrNull(value: unknown): string | null {
	return typeof value === 'string' ? value : null;
}
