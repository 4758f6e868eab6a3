/** What the fuzz checks. planted-faults.itest.ts proves of each that it can fail. */
export type Check =
	| 'decoder'
	| 'decoder with ids'
	| 'decoder held'
	| 'readClientMessage'
	| 'readClientMessage throws'
	| 'readSidecarMessage'
	| 'readSidecarMessage throws'
	| 'validateFuncData'
	| 'encoder'
	| 'encoder: line ends'
	| 'client'
	| 'sidecar ends'
	| 'sidecar fault'
	| 'sidecar frames'
	| 'sidecar answers'
	| 'sidecar says more'
	| 'unhandled rejection'
	| 'thrown';

/** A difference between the code and the reference. `check` names which, so that shrinking keeps to one bug. */
export interface Problem {
	readonly check: Check;
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

/** Listener for the `unhandledRejection` event of the process. */
export function recordUnhandled(error: unknown): void {
	unhandled.push(error);
}
