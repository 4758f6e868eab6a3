import { describe, expect, it } from 'vitest';

import { Backoff } from './backoff.ts';
import { type MachineTable, printMachine, step } from './machine.ts';
import {
	booleanOption,
	durationMsOption,
	knownMembers,
	oneOfOption,
	signalOption,
	stringOption,
} from './option-validators.ts';

const door: MachineTable<'open' | 'shut', 'push' | 'lock', 'creak' | 'click'> = {
	open: { push: ['shut', 'creak', 'click'], lock: null },
	shut: { push: ['open'], lock: ['shut', 'click'] },
};

describe('machine', () => {
	it('steps to the next state with its actions in order; a considered cell changes nothing', () => {
		expect(step(door, 'open', 'push')).toEqual({ state: 'shut', actions: ['creak', 'click'] });
		expect(step(door, 'open', 'lock')).toEqual({ state: 'open', actions: [] });
		expect(step(door, 'shut', 'push')).toEqual({ state: 'open', actions: [] });
	});

	it('prints itself as a table', () => {
		expect(printMachine(door)).toBe(
			['| | open | shut |', '|---|---|---|', '| push | shut: creak, click | open |', '| lock | · | shut: click |'].join(
				'\n',
			),
		);
	});
});

describe('Backoff', () => {
	it('doubles its ceiling up to the largest, and starts again after a reset', () => {
		const backoff = new Backoff({ delayMsMin: 10, delayMsMax: 1000, random: () => 1 });
		const delays = Array.from({ length: 9 }, () => backoff.next());
		expect(delays).toEqual([10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
		expect(backoff.attempts).toBe(9);
		backoff.reset();
		expect(backoff.next()).toBe(10);
	});

	it('spreads over the whole range below the ceiling, and never waits less than 1 ms', () => {
		const values = [0, 0.5, 0.999];
		const delays = values.map((value) =>
			new Backoff({ delayMsMin: 100, delayMsMax: 1000, random: () => value }).next(),
		);
		expect(delays).toEqual([1, 50, 100]);
	});

	it('stays at its ceiling after any number of attempts', () => {
		const backoff = new Backoff({ delayMsMin: 10, delayMsMax: 1000, random: () => 1 });
		for (let attempt = 0; attempt < 5000; attempt++) backoff.next();
		expect(backoff.next()).toBe(1000);
	});
});

describe('option validators', () => {
	it('refuse a duration that a timer cannot keep, naming option and value', () => {
		for (const value of [Number.POSITIVE_INFINITY, 3e9, Number.NaN, -5, 0, 1.5, '5', null]) {
			expect(() => durationMsOption('timeoutMs', value)).toThrow(
				/^timeoutMs must be an integer from 1 to 2147483647, not /,
			);
		}
		expect(durationMsOption('timeoutMs', 2 ** 31 - 1)).toBe(2 ** 31 - 1);
		expect(durationMsOption('graceMs', 0, 0)).toBe(0);
	});

	it('name option and value for every other kind', () => {
		expect(() => stringOption('path', '')).toThrow('path must be a string that is not empty, not ""');
		expect(() => oneOfOption('lookups', 'both', ['local', 'remote'])).toThrow(
			'lookups must be one of local, remote, not "both"',
		);
		expect(() => booleanOption('unref', 1)).toThrow('unref must be true or false, not 1');
		expect(() => signalOption('signal', {})).toThrow('signal must be an AbortSignal, not an object');
		expect(signalOption('signal', undefined)).toBeUndefined();
	});
});

describe('the members of an object', () => {
	it.each([
		[{ tag: ['v1'] }, 'unknown option "tag"; did you mean "tags"?'],
		[{ lookupTimeout: 5 }, 'unknown option "lookupTimeout"; did you mean "lookupTimeoutMs"?'],
		[{ datacentre: 'dc1' }, 'unknown option "datacentre"; did you mean "datacenter"?'],
		[{ socket: '/x' }, 'unknown option "socket"; expected one of: tags, datacenter, lookupTimeoutMs'],
		[5, 'expected an object with tags, datacenter, lookupTimeoutMs, not 5'],
		[undefined, 'expected an object with tags, datacenter, lookupTimeoutMs, not undefined'],
		[['v1'], 'expected an object with tags, datacenter, lookupTimeoutMs, not an array'],
	])('%j is refused with what was meant', (value, message) => {
		expect(() => knownMembers('option', value, ['tags', 'datacenter', 'lookupTimeoutMs'])).toThrow(
			new TypeError(message),
		);
	});

	it('are all known, or none is there', () => {
		for (const value of [{}, { tags: undefined }, { datacenter: 'dc1', tags: [] }])
			expect(() => knownMembers('option', value, ['tags', 'datacenter'])).not.toThrow();
	});
});
