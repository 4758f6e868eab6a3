import { AsyncLocalStorage } from 'node:async_hooks';

import type { Diplomat } from '@spock/client';
import { FakeClock, fakeSnapshot, settle } from '@spock/testkit';
import { expect, it } from 'vitest';

import { scriptedDiplomat } from '../../test/scripted-diplomat.ts';
import { ServiceWatch } from './service-watch.ts';

it('a watch that a call begins reports nothing within that call', async () => {
	const calls = new AsyncLocalStorage<string>();
	const seen: unknown[] = [];
	const diplomat = scriptedDiplomat();
	const options = {
		diplomat: diplomat as unknown as Diplomat,
		query: { service: 'employee' },
		clock: new FakeClock(),
		random: () => 1,
		next: () => void seen.push(['next', calls.getStore()]),
		failed: () => void seen.push(['failed', calls.getStore()]),
	};
	const watch = calls.run('the first call', () => new ServiceWatch(options));
	diplomat.push(fakeSnapshot('employee', 1, ['10.0.0.1:80']));
	await settle();
	diplomat.questions.reject(new Error('no answer'));
	await settle();
	expect(seen).toEqual([
		['next', undefined],
		['failed', undefined],
	]);
	watch.stop();
});
