import { FakeClock, startFakeConsul, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { names } from '../../../../test/polled-site.ts';
import { watchedMany } from '../../../../test/watched-many.ts';
import { consulBackend } from '../consul-backend.ts';

it('keys beyond the room are held by further addresses of the machine, as services are', async () => {
	const clock = new FakeClock();
	await using fake = await startFakeConsul();
	fake.connectionsMax = 200;
	await using one = watchedMany([fake.url], { clock });
	for (const name of names(130)) one.watch(name);
	await waitFor('the services', () => fake.blocked === 130);
	for (const name of names(100))
		one.backend.watchKey?.({ key: name }, { answered: () => undefined, failed: () => undefined });
	await waitFor('a query for each', async () => {
		await clock.advance(1000);
		return fake.blocked === 230;
	});
	expect(fake.connectionsOfOne).toBeLessThanOrEqual(200);
});

it('keys alone make the agent be asked for more room', async () => {
	const clock = new FakeClock();
	await using fake = await startFakeConsul();
	const backend = consulBackend({ addresses: [fake.url], clock, random: () => 0 });
	for (const name of names(200))
		backend.watchKey?.({ key: name }, { answered: () => undefined, failed: () => undefined });
	await waitFor('a query for each', async () => {
		await clock.advance(1000);
		return fake.blocked === 200;
	});
	await backend.close();
});
