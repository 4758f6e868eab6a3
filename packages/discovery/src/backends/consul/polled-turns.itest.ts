import { FakeClock, startFakeConsul, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { names, watchAll } from '../../../test/polled-site.ts';
import { watchedMany } from '../../../test/watched-many.ts';

it('one that asks anew without end, and takes all queries that are allowed, keeps no change from the others', async () => {
	const clock = new FakeClock();
	await using fake = await startFakeConsul({ hasOwnIndexes: true });
	for (const name of names(4)) fake.set(name, [{ id: name, checks: [] }]);
	await using one = watchedMany([fake.url], { heldMax: 1, clock, pollsPerMinuteMax: 120 });
	const all = await watchAll(one, 4);
	let again = one.watch({ service: 's1', tags: ['any'] });
	const askAnew = async (times: number): Promise<void> => {
		for (let time = 0; time < times; time++) {
			await waitFor('its answer', async () => {
				await clock.advance(100);
				return again.answers.length > 0;
			});
			again.stop();
			again = one.watch({ service: 's1', tags: ['any'] });
		}
	};
	// What may be sent at once is used up after that.
	await askAnew(20);
	fake.set('s3', [{ id: 's3', checks: [], meta: { edited: 'yes' } }]);
	await askAnew(40);
	expect(all.get('s3')?.answers.at(-1)?.[0]?.meta['edited']).toBe('yes');
});
