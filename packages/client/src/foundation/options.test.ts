import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { type DiplomatOptions, resolveOptions } from './options.ts';
import { CLIENT_VERSION } from './version.ts';

describe('options', () => {
	it('are resolved once, with every default, and frozen', () => {
		const resolved = resolveOptions({ path: '/tmp/a.sock' });
		expect(resolved).toMatchObject({
			address: { path: '/tmp/a.sock' },
			readyTimeoutMs: 10_000,
			timeoutMs: 5000,
			lookups: 'local',
			policy: 'round-robin',
			whileDisconnected: 'wait',
			heartbeatMs: 10_000,
			retryDelayMsMin: 10,
			retryDelayMsMax: 1000,
		});
		expect(Object.values(resolved)).not.toContain(undefined);
		expect(Object.isFrozen(resolved)).toBe(true);
	});

	it.each<[DiplomatOptions, string]>([
		[{ timeoutMs: Number.POSITIVE_INFINITY }, 'timeoutMs must be an integer from 1 to 2147483647, not Infinity'],
		[{ readyTimeoutMs: -1 }, 'readyTimeoutMs must be an integer from 1 to 2147483647, not -1'],
		[{ path: '' }, 'path must be a string that is not empty, not ""'],
		[{ path: `/${'x'.repeat(200)}` }, 'the socket path is 201 bytes long'],
		[{ path: '/a', port: 1 }, 'give either path or host and port, not both'],
		[{ host: 'localhost' }, 'host "localhost" needs a port'],
		[{ port: 70_000 }, 'port must be an integer from 1 to 65535, not 70000'],
		[{ lookups: 'both' as 'local' }, 'lookups must be one of local, remote, not "both"'],
		[
			{ policy: 'best' as 'random' },
			'policy must be one of round-robin, random, weighted, consistent-hash, least-in-flight, least-latency, not "best"',
		],
		[{ lookUps: 'remote' } as object, 'unknown option "lookUps"; did you mean "lookups"?'],
		[{ socket: '/x' } as object, 'unknown option "socket"; expected one of: path, host, port, '],
		[{ ejectAfterFailures: -1 }, 'ejectAfterFailures must be an integer from 0 to 16777216, not -1'],
		[{ ejectedPercentMax: 101 }, 'ejectedPercentMax must be an integer from 0 to 100, not 101'],
		[{ ejectionMsMin: 20, ejectionMsMax: 10 }, 'ejectionMsMax must be an integer from 20 to 2147483647, not 10'],
		[{ zone: '' }, 'zone must be a string that is not empty, not ""'],
		[{ zonePolicy: 'local' as 'any' }, 'zonePolicy must be one of any, prefer, not "local"'],
		[{ zoneCallers: 5 as never }, 'zoneCallers must be an object with numbers, not 5'],
		[{ zoneCallers: { a: -1 } }, 'zoneCallers.a must be a finite number of at least 0, not -1'],
		[{ zoneCallers: { a: 0 } }, 'zoneCallers must have a zone with more than 0 callers'],
		[{ subset: -1 }, 'subset must be an integer from 0 to 16777216, not -1'],
		[{ subset: { orders: 1.5 } }, 'subset.orders must be an integer from 0 to 16777216, not 1.5'],
		[{ subset: '20' as never }, 'subset must be an integer from 0 to 16777216, not "20"'],
		[{ subset: null as never }, 'subset must be an object with numbers, not null'],
		[{ subsetKey: '' }, 'subsetKey must be a string that is not empty, not ""'],
		[{ inFlightMax: 0 }, 'inFlightMax must be an integer from 1 to 16777216, not 0'],
		[{ retryDelayMsMax: 0 }, 'retryDelayMsMax must be an integer from 10 to 2147483647, not 0'],
		[{ ejectionMsMax: Number.NaN }, 'ejectionMsMax must be an integer from 10000 to 2147483647, not NaN'],
		[{ retryDelayMsMin: 20, retryDelayMsMax: 10 }, 'retryDelayMsMax must be an integer from 20 to 2147483647, not 10'],
		[{ name: 'x\ud800' }, 'name must not contain lone surrogates: got "x\\ud800"'],
		[{ name: 'x'.repeat(215) }, 'name must have at most 214 characters, not 215'],
		[{ unref: 1 as unknown as boolean }, 'unref must be true or false, not 1'],
		[{ transport: {} as NonNullable<DiplomatOptions['transport']> }, 'transport must be a function, not object'],
	])('%o is refused by name and value', (options, message) => {
		expect(() => resolveOptions(options)).toThrow(message);
	});

	it('names of zones and services may be those of members of an object', () => {
		const zoneCallers = JSON.parse('{"__proto__":2,"constructor":1}') as Record<string, number>;
		const subset = JSON.parse('{"__proto__":3}') as Record<string, number>;
		expect(resolveOptions({ path: '/a', zoneCallers, subset })).toMatchObject({
			zoneCallers: new Map([
				['__proto__', 2],
				['constructor', 1],
			]),
			subset: new Map([['__proto__', 3]]),
		});
	});

	it('a subset is drawn by a random key, unless one is given', () => {
		const random = (): number => 0.25;
		expect(resolveOptions({ path: '/a', subset: 20, random }).subsetKey).toBe('0.25');
		expect(resolveOptions({ path: '/a', subset: 20, subsetKey: 'pod-1' }).subsetKey).toBe('pod-1');
	});

	it('either end of the retry delays may be given alone', () => {
		expect(resolveOptions({ path: '/a', retryDelayMsMax: 5 })).toMatchObject({
			retryDelayMsMin: 5,
			retryDelayMsMax: 5,
		});
		expect(resolveOptions({ path: '/a', retryDelayMsMin: 5000 })).toMatchObject({ retryDelayMsMax: 5000 });
		expect(resolveOptions({ port: 7 }).address).toEqual({ host: '127.0.0.1', port: 7 });
	});

	it('hello tells the version that package.json has', () => {
		const { name, version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
			name: string;
			version: string;
		};
		expect(CLIENT_VERSION).toBe(`${name}/${version}`);
	});
});
