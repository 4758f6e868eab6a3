import { createDiplomat } from '@spock/client';
import { localSource } from '@spock/discovery';
import { tcpListener } from '@spock/testkit';
import { expect, it } from 'vitest';

import { connect, SERVICE } from './instances.ts';

/** AuthenticationOk and ReadyForQuery, outside of a transaction. */
const READY = Buffer.from('520000000800000000' + '5a0000000549', 'hex');

it('connections go to the local zone as long as it is large enough, and spill over by what it lacks', async () => {
	const counts = [0, 0, 0, 0];
	const servers = await Promise.all(
		counts.map((_, index) =>
			tcpListener((socket) => {
				counts[index] = (counts[index] as number) + 1;
				socket.on('error', () => undefined);
				socket.once('data', () => socket.write(READY));
			}),
		),
	);
	const reached = async (zones: readonly string[], options: object): Promise<number[]> => {
		const instances = servers.map(({ host, port }, index) => ({ host, port, zone: zones[index] as string }));
		const source = await localSource({ services: { [SERVICE]: instances } });
		await using diplomat = createDiplomat({ source, ...options });
		counts.fill(0);
		for (let turn = 0; turn < 12; turn++) await (await connect(diplomat)).end();
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
