import type { Diplomat } from '../diplomat.ts';

/** The option `diplomat` of an integration; throws a TypeError that says what must be given. */
export function diplomatOption(diplomat: unknown): Diplomat {
	if (typeof (diplomat as Diplomat | undefined)?.acquire === 'function') return diplomat as Diplomat;
	const isPromise = typeof (diplomat as PromiseLike<unknown> | undefined)?.then === 'function';
	const got = isPromise ? 'a promise: await it first' : String(diplomat);
	throw new TypeError(`diplomat must be a Diplomat, as connect and createDiplomat make one; got ${got}`);
}
