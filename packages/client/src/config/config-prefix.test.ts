import { fakePrefix, settle } from '@spock/testkit';
import { describe, expect, expectTypeOf, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';
import type { Config } from './config.ts';

describe('a configuration of a prefix', () => {
	it('a prefix is a map; a bad value of one key keeps that key’s last good one', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publishKey(fakePrefix('app/', 1, { 'app/a': '1', 'app/b': '2' }));
		const errors: unknown[] = [];
		const parse = (text: string): number => {
			const value = Number(text);
			if (Number.isNaN(value)) throw new Error('not a number');
			return value;
		};
		const config = diplomat.config('app/', { prefix: true, parse, onError: ({ details }) => errors.push(details) });
		expectTypeOf(config).toEqualTypeOf<Config<ReadonlyMap<string, number>>>();
		await config.ready();
		expect([...config.value]).toEqual([
			['app/a', 1],
			['app/b', 2],
		]);
		const before = config.value;
		sidecar.publishKey(fakePrefix('app/', 2, { 'app/a': 'x', 'app/b': '3', 'app/c': 'y' }));
		await settle();
		expect([...config.value]).toEqual([
			['app/a', 1],
			['app/b', 3],
		]);
		expect([...before]).toHaveLength(2);
		expect(errors).toEqual([{ key: 'app/a' }, { key: 'app/c' }]);
		expect(config).toMatchObject({ source: 'last-known-good', error: { code: 'BAD_VALUE' } });
		sidecar.publishKey(fakePrefix('app/', 3, { 'app/b': '3' }));
		await settle();
		expect([...config.value]).toEqual([['app/b', 3]]);
		expect(config).toMatchObject({ source: 'live', error: undefined });
		sidecar.publishKey(fakePrefix('app/', 4, {}));
		await settle();
		expect(config.value.size).toBe(0);
		await diplomat.close();
	});

	it('a prefix without keys is an empty map, or the default', async () => {
		const { diplomat } = await simulate();
		expect((await diplomat.config('app/', { prefix: true }).ready()).value.size).toBe(0);
		const fallback = new Map([['app/a', 'x']]);
		const config = await diplomat.config('app/', { prefix: true, default: fallback }).ready();
		expect(config).toMatchObject({ value: fallback, source: 'default' });
		await diplomat.close();
	});
});
