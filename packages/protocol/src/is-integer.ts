/** True for a whole number from `min` to `max`. */
export function isInteger(value: unknown, min: number, max: number = Number.POSITIVE_INFINITY): value is number {
	return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}
