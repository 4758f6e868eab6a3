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

it('the local zone dies, and the registry does not know: connections go to another one after a failure', async () => {
	const far = await tcpListener((socket) => {
		socket.on('error', () => undefined);
		socket.once('data', () => socket.write(READY));
	});
	const local = await tcpListener();
	local.close();
	const instances = [
		{ host: local.host, port: local.port, zone: 'a' },
		{ host: far.host, port: far.port, zone: 'b' },
	];
	const source = await localSource({ services: { [SERVICE]: instances } });
	const prefers = { zone: 'a', zonePolicy: 'prefer' } as const;
	await using diplomat = createDiplomat({ source, ...prefers, ejectAfterFailures: 1 });
	await expect(connect(diplomat)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
	for (let turn = 0; turn < 3; turn++) await (await connect(diplomat)).end();
	far.close();
});
