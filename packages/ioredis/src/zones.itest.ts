import { once } from 'node:events';

import { createDiplomat } from '@spock/client';
import { localSource } from '@spock/discovery';
import { tcpListener } from '@spock/testkit';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';

import { spockRedis } from './index.ts';

it('connections go to the local zone as long as it is large enough, and spill over by what it lacks', async () => {
	const counts = [0, 0, 0, 0];
	const servers = await Promise.all(
		counts.map((_, index) =>
			tcpListener((socket) => {
				counts[index] = (counts[index] as number) + 1;
				socket.on('error', () => undefined);
				// A PING is all that is asked.
				socket.on('data', () => socket.write('+PONG\r\n'));
			}),
		),
	);
	const reached = async (zones: readonly string[], options: object): Promise<number[]> => {
		const instances = servers.map(({ host, port }, index) => ({ host, port, zone: zones[index] as string }));
		await using diplomat = createDiplomat({
			source: await localSource({ services: { cache: instances } }),
			...options,
		});
		counts.fill(0);
		for (let turn = 0; turn < 12; turn++) {
			const config = spockRedis({ diplomat, service: 'cache' });
			const redis = new Redis({ ...config, enableReadyCheck: false, disableClientInfo: true, lazyConnect: true });
			await redis.connect();
			expect(await redis.ping()).toBe('PONG');
			const ended = once(redis, 'end');
			redis.disconnect();
			await ended;
		}
		return [...counts];
	};
	const prefers = { zone: 'a', zonePolicy: 'prefer' };
	expect(await reached(['a', 'a', 'b', 'b'], prefers)).toEqual([6, 6, 0, 0]);
	const [local = 0] = await reached(['a', 'b', 'b', 'b'], prefers);
	expect(Math.abs(local - 6)).toBeLessThanOrEqual(1);
	const subset = await reached(['a', 'b', 'b', 'b'], { subset: 2, subsetKey: 'pod-1' });
	expect(subset.filter((count) => count > 0)).toEqual([6, 6]);
	for (const server of servers) server.close();
});
