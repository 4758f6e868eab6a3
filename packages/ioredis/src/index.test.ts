import { createDiplomat } from '@spock/client';
import { localSource } from '@spock/discovery';
import { expect, it } from 'vitest';

import { type SpockRedisOptions, spockRedis } from './index.ts';

it('wrong options throw at the call, and name themselves', async () => {
	await using diplomat = createDiplomat({ source: await localSource({ services: {} }) });
	const make = (options: object) => () => spockRedis({ diplomat, service: 'cache', ...options } as SpockRedisOptions);
	expect(make({ role: 'primary' })).toThrow(/role must be one of master, slave/);
	expect(make({ lookupTimeoutMs: 0 })).toThrow(/lookupTimeoutMs/);
	expect(make({ diplomat: undefined })).toThrow(/diplomat/);
	expect(make({ service: '' })).toThrow(expect.objectContaining({ code: 'BAD_REQUEST' }));
});
