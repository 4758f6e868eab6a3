import { lstatSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

import { tempSocket } from '@spock/testkit';
import { afterAll, expect, it, vi } from 'vitest';

import { listen } from '../src/listen/listen.ts';

// What is left of the permissions without the chmod is what they are in the moment before it.
const chmod = vi.spyOn(fs, 'chmod').mockResolvedValue();
syncBuiltinESMExports();
afterAll(() => {
	chmod.mockRestore();
	syncBuiltinESMExports();
});

it('a socket is never open to others, not even between bind and chmod', async () => {
	await using place = await tempSocket();
	const umask = process.umask();
	const listener = await listen({ path: place.path }, { accept: () => undefined });
	expect(lstatSync(place.path).mode & 0o007).toBe(0);
	expect(process.umask()).toBe(umask);
	await listener.close();
});
