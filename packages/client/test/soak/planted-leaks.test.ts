import { tempSocket } from '@spock/testkit';
import { expect, it } from 'vitest';

import { bundleWorker } from '../worker-process.ts';
import { plantedLeaks } from './planted-leaks.ts';

it.each(plantedLeaks)('can be planted still: $name', async ({ side, mutation }) => {
	await using place = await tempSocket();
	const entry = new URL(`soak-${side}.ts`, import.meta.url);
	await expect(bundleWorker(entry, place.directory, { planted: [mutation] })).resolves.toContain(place.directory);
});
