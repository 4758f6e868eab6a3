import { integerOption, isText, stringOption, wrongType } from '@spock/protocol/internal';
import { assertSocketPathFits, type SocketAddress } from '@spock/protocol/node';

import { NAME_LENGTH_MAX } from './default-name.ts';
import { defaultAddress } from './transport.ts';

// Checks of the options that the table of options.ts cannot describe: without a default, or made of several values.

/** Largest count that an option may ask for; past it a process has other limits. */
export const COUNT_MAX: number = 2 ** 24;

type TokenOption = string | (() => string | Promise<string>);

interface AddressOptions {
	readonly path?: string;
	readonly host?: string;
	readonly port?: number;
}

/** The address of the sidecar. Throws for a path together with a host or port, and for a host alone. */
export function resolveAddress({ path, host, port }: AddressOptions): SocketAddress {
	if (path !== undefined) {
		if (port !== undefined || host !== undefined) throw new TypeError('give either path or host and port, not both');
		assertSocketPathFits(stringOption('path', path), process.platform);
		return { path };
	}
	if (port !== undefined) {
		return { host: stringOption('host', host ?? '127.0.0.1'), port: integerOption('port', port, 1, 65_535) };
	}
	if (host !== undefined) throw new TypeError(`host ${JSON.stringify(host)} needs a port`);
	return defaultAddress();
}

export function nameOption(name: string): string {
	const { length } = stringOption('name', name);
	if (length > NAME_LENGTH_MAX) {
		throw new RangeError(`name must have at most ${NAME_LENGTH_MAX} characters, not ${length}`);
	}
	if (!isText(name)) throw new RangeError(`name must not contain lone surrogates: got ${JSON.stringify(name)}`);
	return name;
}

/** The error does not show what was given: it may be half a secret. */
export function tokenOption(token: TokenOption): TokenOption {
	// With the end of the line that a file leaves behind it.
	const given = typeof token === 'string' ? token.trim() : token;
	const isUsable = typeof given === 'function' || (typeof given === 'string' && given !== '');
	if (!isUsable) throw new TypeError('token must be a string that is not empty, or a function that returns one');
	return given;
}

/** Callers of each zone; at least one zone has some. */
export function callersOption(callers: Readonly<Record<string, number>>): ReadonlyMap<string, number> {
	const counts = numbersOf('zoneCallers', callers, (name, count) => {
		if (Number.isFinite(count) && (count as number) >= 0) return count as number;
		throw new RangeError(`${name} must be a finite number of at least 0, not ${count}`);
	});
	if ([...counts.values()].some((count) => count > 0)) return counts;
	throw new RangeError('zoneCallers must have a zone with more than 0 callers');
}

/** Instances for each service, or by the name of the service. */
export function subsetOption(subset: number | Readonly<Record<string, number>>): number | ReadonlyMap<string, number> {
	const check = (name: string, count: unknown): number => integerOption(name, count, 0, COUNT_MAX);
	return typeof subset === 'object' ? numbersOf('subset', subset, check) : check('subset', subset);
}

/** A map, because names from a registry may be those of an object's own members, such as `constructor`. */
function numbersOf(
	option: string,
	numbers: Readonly<Record<string, number>>,
	check: (name: string, value: unknown) => number,
): ReadonlyMap<string, number> {
	if (typeof numbers !== 'object' || numbers === null) throw wrongType(option, 'an object with numbers', numbers);
	return new Map(Object.entries(numbers).map(([name, value]) => [name, check(`${option}.${name}`, value)]));
}
