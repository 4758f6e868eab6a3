import { NAME_LENGTH_MAX } from './limits.ts';

/** True for what JSON calls an object: neither null nor an array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** True for a whole number from `min` to `max`. */
export function isInteger(value: unknown, min: number, max: number = Number.POSITIVE_INFINITY): value is number {
	return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

/** The string itself; null for everything else. */
export function stringOrNull(value: unknown): string | null {
	return typeof value === 'string' ? value : null;
}

/** Control characters, and halves of surrogate pairs, which UTF-8 cannot carry. */
const NOT_IN_NAMES = /[\p{Cc}\p{Cs}]/u;

/** What a name must be, for error messages. */
export const NAME_RULE: string = `a string of 1 to ${NAME_LENGTH_MAX} characters without control characters or lone surrogates`;

/** True for a string of 1 to `lengthMax` characters, without halves of surrogate pairs. */
export function isText(value: unknown, lengthMax: number = NAME_LENGTH_MAX): value is string {
	return typeof value === 'string' && value.length > 0 && value.length <= lengthMax && !/\p{Cs}/u.test(value);
}

/**
 * True for a name that a registry can have: of a service, tag, datacenter, peer, host or member of metadata. Terminals, logs and
 * headers act on control characters, and Consul answers 400 to a path with one.
 */
export function isName(value: unknown): value is string {
	return isText(value) && !NOT_IN_NAMES.test(value);
}

/** Longest text that {@link show} repeats, in characters. */
const SHOWN_LENGTH_MAX = 64;

/** A value for a message about it, short: of an object or a function only what it is. Never for a secret. */
export function show(value: unknown): string {
	if (typeof value === 'string') {
		const isLong = value.length > SHOWN_LENGTH_MAX;
		return isLong
			? `${JSON.stringify(value.slice(0, SHOWN_LENGTH_MAX))}… (${value.length} characters)`
			: JSON.stringify(value);
	}
	if (typeof value === 'function') return 'a function';
	if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
	return String(value);
}

// What `console.log` and util.inspect call, with the function itself: https://nodejs.org/api/util.html#utilinspectcustom
export const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom');

interface InspectOptions {
	readonly depth?: number | null;
}

/**
 * Has `console.log` show these members of the objects of a class, whose own are private and would show as `{}`. They are for
 * people, and must hold no secret: no token, and no value of a key.
 */
export function showAs<T extends object>(
	{ prototype }: { readonly prototype: T },
	name: string,
	members: (shown: T) => object,
): void {
	const value = function (
		this: T,
		depth: number,
		options: InspectOptions,
		inspect: (value: unknown, options: InspectOptions) => string,
	): string {
		if (depth < 0) return `[${name}]`;
		const { depth: left = 2 } = options;
		return `${name} ${inspect(members(this), { ...options, depth: left === null ? null : left - 1 })}`;
	};
	Object.defineProperty(prototype, INSPECT, { value });
}
