import { FakeClock, startFakeConsul, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { blocked, watched } from '../../../../test/watched-backend.ts';

it('the address that was killed is shown as down beside the one that is asked now', async () => {
	await using first = await startFakeConsul();
	await using second = await startFakeConsul();
	await using one = watched([first, second]);
	await blocked(first);
	await first.stop();
	await blocked(second);
	await waitFor('the answer', () => one.backend.status().addressStatus?.[1]?.state === 'up');
	expect(one.backend.status()).toMatchObject({
		state: 'up',
		addressStatus: [
			{ address: first.url, state: 'down', isAsked: false, error: expect.stringContaining('Consul at') },
			{ address: second.url, state: 'up', isAsked: true, error: null },
		],
	});
	expect(one.events.filter(({ type }) => type.startsWith('address-'))).toMatchObject([
		{ type: 'address-failed', address: first.url },
	]);
});

it('an address in reserve that does not answer is found without being needed, and found again when it does', async () => {
	await using first = await startFakeConsul();
	await using second = await startFakeConsul();
	const clock = new FakeClock();
	second.heartbeatStatus = 500;
	await using one = watched([first, second], { clock });
	await blocked(first);
	const stateOf = () => one.backend.status().addressStatus?.[1]?.state;
	expect(stateOf()).toBe('untried');
	await clock.advance(5000);
	await waitFor('the look', () => stateOf() === 'down');
	second.heartbeatStatus = 200;
	await waitFor('the next look', async () => {
		await clock.advance(5000);
		return stateOf() === 'up';
	});
	expect(one.events.map(({ type }) => type)).toContain('address-recovered');
	expect(one.backend.status()).toMatchObject({ state: 'up', addressStatus: [{ isAsked: true, state: 'up' }, {}] });
});

it('with one server left of several, which knows no leader, Consul is down for that reason', async () => {
	await using first = await startFakeConsul();
	await using second = await startFakeConsul();
	const clock = new FakeClock();
	first.knownLeader = false;
	first.leader = '';
	await using one = watched([first, second], { clock });
	await blocked(first);
	await second.stop();
	await clock.advance(5000);
	await waitFor('the look', () => one.backend.status().state === 'down');
	expect(one.backend.status().error).toBe(`no leader: ${first.url} answers without one; ${second.url} fails`);
});
