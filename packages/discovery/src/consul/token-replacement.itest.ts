import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { FakeClock, startFakeConsul, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { watched } from '../../test/watched-backend.ts';

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
