import { once } from 'node:events';
import fs, { lstat, rename } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { createServer } from 'node:net';

import { tempSocket } from '@spock/testkit';
import { afterAll, expect, it, vi } from 'vitest';

import { listen } from '../src/listen/listen.ts';

/** What happens once the path is there, before its maker goes on. */
let next = async (): Promise<void> => undefined;
const { link } = fs;
const linked = vi.spyOn(fs, 'link').mockImplementation(async (...paths) => {
	await link(...paths);
	await next();
});
// Also for what imports it by name.
syncBuiltinESMExports();
afterAll(() => {
	linked.mockRestore();
	syncBuiltinESMExports();
});

it('a successor that takes the path as soon as it is there keeps it when the first one closes', async () => {
	await using place = await tempSocket();
	const successor = createServer().listen(`${place.path}.successor`);
	await once(successor, 'listening');
	const { ino } = await lstat(`${place.path}.successor`);
	next = () => rename(`${place.path}.successor`, place.path);
	const first = await listen({ path: place.path }, { accept: () => undefined });
	expect(await first.place?.isReplaced()).toBe(true);
	await first.close();
	expect((await lstat(place.path)).ino).toBe(ino);
	successor.close();
});
