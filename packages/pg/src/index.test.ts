import { createDiplomat } from '@spock/client';
import { localSource } from '@spock/discovery';
import { describe, expect, it } from 'vitest';

import { type SpockPgOptions, spockPg } from './index.ts';

describe('spockPg', () => {
	it('wrong options throw at the call, and name themselves', async () => {
		await using diplomat = createDiplomat({ source: await localSource({ services: {} }) });
		const make = (options: object) => () => spockPg({ diplomat, service: 'orders-db', ...options } as SpockPgOptions);
		expect(make({ leaveTimeoutMs: -1 })).toThrow(/leaveTimeoutMs/);
		expect(make({ lookupTimeoutMs: 0 })).toThrow(/lookupTimeoutMs/);
		expect(make({ diplomat: {} })).toThrow(/diplomat/);
		expect(make({ service: '' })).toThrow(expect.objectContaining({ code: 'BAD_REQUEST' }));
	});

	it('a stream that nothing of pg makes is refused, as pg 9 may do it another way', async () => {
		await using diplomat = createDiplomat({ source: await localSource({ services: {} }) });
		const { stream, host } = spockPg({ diplomat, service: 'orders-db' });
		expect(() => stream.call(undefined)).toThrow(/pg 8/);
		expect(host).toBe('100::');
	});
});
