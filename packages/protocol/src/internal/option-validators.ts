import { TIMEOUT_MS_MAX } from '../foundation/limits.ts';
import { nameHint } from '../foundation/nearest-name.ts';
import { isInteger, show } from '../foundation/values.ts';

// A wrong option is a programmer's error: it throws at the call and names the option and the value.

/** A whole number from `min` to `max`; throws a RangeError naming the option. */
export function integerOption(name: string, value: unknown, min: number, max: number): number {
	if (!isInteger(value, min, max)) {
		throw new RangeError(`${name} must be an integer from ${min} to ${max}, not ${show(value)}`);
	}
	return value;
}

/** A number from 0 to 1; throws a RangeError naming the option. */
export function fractionOption(name: string, value: unknown): number {
	if (typeof value !== 'number' || !(value >= 0 && value <= 1)) {
		throw new RangeError(`${name} must be a number from 0 to 1, not ${show(value)}`);
	}
	return value;
}

/** A duration that a timer can keep, in milliseconds; `min` defaults to 1. Throws a RangeError naming the option. */
export function durationMsOption(name: string, value: unknown, min = 1): number {
	return integerOption(name, value, min, TIMEOUT_MS_MAX);
}

/** A string that is not empty; throws a TypeError naming the option. */
export function stringOption(name: string, value: unknown): string {
	if (typeof value !== 'string' || value.length === 0) {
		throw wrongType(name, 'a string that is not empty', value);
	}
	return value;
}

/** One of the given words; throws a TypeError naming the option and the words. */
export function oneOfOption<T extends string>(name: string, value: unknown, words: readonly T[]): T {
	if (!words.includes(value as T)) {
		throw wrongType(name, `one of ${words.join(', ')}`, value);
	}
	return value as T;
}

/** True or false; throws a TypeError naming the option. */
export function booleanOption(name: string, value: unknown): boolean {
	if (typeof value !== 'boolean') throw wrongType(name, 'true or false', value);
	return value;
}

/** An AbortSignal or undefined; throws a TypeError naming the option. */
export function signalOption(name: string, value: unknown): AbortSignal | undefined {
	if (value !== undefined && !(value instanceof AbortSignal)) {
		throw wrongType(name, 'an AbortSignal', value);
	}
	return value;
}

/**
 * Throws a TypeError for an unknown member, which would silently do nothing, with the name that was most likely meant; also for what is
 * not an object.
 *
 * @param what `option`, or what else a member is, for the message.
 */
export function knownMembers(what: string, value: unknown, known: readonly string[]): void {
	if (typeof value !== 'object' || value === null || Array.isArray(value)) {
		throw new TypeError(`expected an object with ${known.join(', ')}, not ${show(value)}`);
	}
	for (const name of Object.keys(value)) {
		if (known.includes(name)) continue;
		throw new TypeError(`unknown ${what} ${JSON.stringify(name)}; ${nameHint(name, known)}`);
	}
}

/** For a value that is not what `expected` says. */
export function wrongType(name: string, expected: string, value: unknown): TypeError {
	return new TypeError(`${name} must be ${expected}, not ${show(value)}`);
}
