import { once } from 'node:events';
import { Socket } from 'node:net';

import { expect, it } from 'vitest';

import { tlsIntake } from './tls-intake.ts';

it('refuses what is over the limit, until one has closed; one that has gone on the way counts for nothing', async () => {
	const taken: Socket[] = [];
	let refused = 0;
	const server = { emit: (_event: string, socket: Socket) => taken.push(socket) > 0 };
	const take = tlsIntake(server, { connectionsMax: 1, strangers: { countMax: 0 }, refused: () => refused++ });
	const [gone, first, second, third] = [new Socket().destroy(), new Socket(), new Socket(), new Socket()];
	for (const socket of [gone, first, second]) take(socket);
	expect([taken, refused, second.destroyed]).toEqual([[first], 1, true]);
	first.destroy();
	await once(first, 'close');
	take(third);
	expect([taken, refused]).toEqual([[first, third], 1]);
	third.destroy();
});
