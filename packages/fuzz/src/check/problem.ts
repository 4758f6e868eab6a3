/** A difference between the code and the reference. `check` names which, so that shrinking keeps to one bug. */
export interface Problem {
	readonly check: string;
	readonly found: string;
}

/** What a value looks like in a report: short, and with what JSON leaves out. */
export function show(value: unknown): string {
	const text =
		value instanceof Error
			? (value.stack ?? String(value))
			: (JSON.stringify(value, (_, one: unknown) =>
					Object.is(one, -0) ? '-0' : one === undefined ? 'undefined' : one,
				) ?? String(value));
	return text.length > 2000 ? `${text.slice(0, 2000)}… (${text.length} characters)` : text;
}

/** Rejections that nobody handled, as the process hears of them: a bug of the case that is being run. */
export const unhandled: unknown[] = [];
