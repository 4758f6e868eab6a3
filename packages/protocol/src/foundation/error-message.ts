/** How many errors are followed: an error may be its own cause. */
const CAUSES_MAX = 8;
/** The message of `fetch` whatever has happened, which its cause names: https://fetch.spec.whatwg.org/#fetch-method */
const FETCH_FAILED = 'fetch failed';

/** What is read of an error, which may be of another realm or no Error at all. */
export interface ErrorLike {
	readonly name?: unknown;
	readonly message?: unknown;
	readonly code?: unknown;
	readonly syscall?: unknown;
	readonly cause?: unknown;
	readonly errors?: unknown;
}

/** The error and what led to it, outermost first; of several that failed together (an AggregateError), each. */
export function causesOf(error: unknown): readonly ErrorLike[] {
	const found: ErrorLike[] = [];
	let left: unknown[] = [error];
	while (left.length > 0 && found.length < CAUSES_MAX) {
		const next: unknown[] = [];
		for (const one of left) {
			if (typeof one !== 'object' || one === null || found.includes(one) || found.length === CAUSES_MAX) continue;
			found.push(one);
			const { cause, errors } = one as ErrorLike;
			next.push(cause, ...(Array.isArray(errors) ? errors : []));
		}
		left = next;
	}
	return found;
}

/**
 * Why something failed, for a text; never empty. A name with several addresses fails with an AggregateError whose own message is
 * empty: then it is the messages of its errors, each once. An error without a message is described by its cause, code or name.
 * Source: https://nodejs.org/api/net.html#socketconnectoptions-connectlistener (autoSelectFamily)
 */
export function messageOf(error: unknown): string {
	if (typeof error !== 'object' || error === null) return String(error);
	let prefix = '';
	for (const { message, errors, cause } of causesOf(error)) {
		const own = typeof message === 'string' ? message : '';
		if (own === FETCH_FAILED && cause !== undefined && prefix === '') {
			prefix = `${own}: `;
			continue;
		}
		const each = Array.isArray(errors) ? errors.slice(0, CAUSES_MAX).map(ownMessage).filter(Boolean) : [];
		const reasons = [...new Set(each)].join('; ');
		if (own !== '' || reasons !== '') return prefix + [own, reasons].filter(Boolean).join(': ');
	}
	const { code, name } = error as ErrorLike;
	return prefix + (firstText(code, name === 'Error' ? '' : name) ?? 'no reason given');
}

function ownMessage(error: unknown): string {
	if (typeof error !== 'object' || error === null) return String(error);
	const { message, code } = error as ErrorLike;
	return firstText(message, code) ?? '';
}

function firstText(...values: readonly unknown[]): string | undefined {
	return values.find((value): value is string => typeof value === 'string' && value !== '');
}
