import { once } from 'node:events';
import { type link, lstat, rename } from 'node:fs/promises';
import { createServer } from 'node:net';

import { tempSocket } from '@spock/testkit';
import { expect, it, vi } from 'vitest';

import { listen } from '../src/server/listener.ts';

const linked = vi.hoisted(() => ({ next: async (): Promise<void> => undefined }));

vi.mock('node:fs/promises', async (original) => {
	const real = await original<typeof import('node:fs/promises')>();
	return {
		...real,
		link: async (...paths: Parameters<typeof link>) => {
			await real.link(...paths);
			await linked.next();
		},
	};
});

it('a successor that takes the path as soon as it is there keeps it when the first one closes', async () => {
	await using place = await tempSocket();
	const successor = createServer().listen(`${place.path}.successor`);
	await once(successor, 'listening');
	const { ino } = await lstat(`${place.path}.successor`);
	linked.next = () => rename(`${place.path}.successor`, place.path);
	const first = await listen({ path: place.path }, { accept: () => undefined });
	expect(await first.place?.isReplaced()).toBe(true);
	await first.close();
	expect((await lstat(place.path)).ino).toBe(ino);
	successor.close();
});
