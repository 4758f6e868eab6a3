import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { FakeClock, startFakeConsul, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { atRest, INDEX_QUERIES, names, watchAll } from '../../../../test/polled-site.ts';
import { watched } from '../../../../test/watched-backend.ts';
import { watchedMany } from '../../../../test/watched-many.ts';

it('a token that is replaced after Consul refused it is used within a second, whatever the back-off is', async () => {
	const clock = new FakeClock();
	await using place = await tempSocket();
	const tokenFile = join(place.directory, 'token');
	await writeFile(tokenFile, 'old');
	await using fake = await startFakeConsul();
	await using one = watched([fake], { clock, tokenFile, random: () => 1 });
	await waitFor('the query', () => fake.blocked === 1);
	const refusal = { status: 403, text: 'ACL not found' };
	fake.fail(...Array.from({ length: 8 }, () => refusal));
	fake.touch();
	await waitFor('a long back-off', async () => {
		await clock.advance(250);
		return one.errors.length === 8;
	});
	const before = fake.requests.length;
	await writeFile(tokenFile, 'new');
	const sinceMs = clock.now();
	await waitFor('the new token', async () => {
		await clock.advance(50);
		return fake.requests.length > before;
	});
	expect(fake.requests.at(-1)?.token).toBe('new');
	expect(clock.now() - sinceMs).toBeLessThan(5000);
	await one.backend.close();
	expect(clock.pendingTimers).toBe(0);
});

it('and by a service that is polled, too', async () => {
	const clock = new FakeClock();
	await using place = await tempSocket();
	const tokenFile = join(place.directory, 'token');
	await writeFile(tokenFile, 'old');
	await using fake = await startFakeConsul({ hasOwnIndexes: true });
	for (const name of names(3)) fake.set(name, [{ id: name, checks: [] }]);
	await using one = watchedMany([fake.url], { clock, tokenFile, random: () => 1, heldMax: 1 });
	const all = await watchAll(one, 3);
	await atRest(fake, clock, 1 + INDEX_QUERIES);
	fake.outage = { status: 403, text: 'ACL not found' };
	for (const name of names(3)) fake.set(name, [{ id: 'changed', checks: [] }]);
	// A long back-off.
	await waitFor('every error', async () => {
		await clock.advance(250);
		return [...all.values()].every(({ errors }) => errors.length >= 6);
	});
	await writeFile(tokenFile, 'new');
	fake.outage = undefined;
	const sinceMs = clock.now();
	await waitFor('all to agree', async () => {
		await clock.advance(50);
		return [...all.values()].every(({ answers }) => answers.at(-1)?.[0]?.instance === 'node-1/changed');
	});
	expect(clock.now() - sinceMs).toBeLessThan(5000);
});
