const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/**
 * Reads `250ms`, `30s`, `1.5m`, `2h`, or a number alone, which is milliseconds. Undefined for anything else, and for more than
 * a timer can wait, 2147483647 ms.
 */
export function readDurationMs(text: string): number | undefined {
	const [, number, unit = 'ms'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
	if (number === undefined) return undefined;
	const durationMs = Math.round(Number(number) * (UNITS_MS[unit] as number));
	return durationMs < 2 ** 31 ? durationMs : undefined;
}
