import { FakeClock } from '@spock/testkit';
import { expect, it } from 'vitest';

import type { RegistrationCatalogue } from '../../foundation/registration-place.ts';
import { NodeHosts } from './node-hosts.ts';
import type { Placed } from './placed-instance.ts';

/** A catalogue that has this address of a node, and what it was asked. */
function hostsOf(answer: () => Promise<string | undefined>) {
	const clock = new FakeClock();
	const asked: string[] = [];
	const catalogue = {
		nodeHost: (node: string) => {
			asked.push(node);
			return answer();
		},
	} as unknown as RegistrationCatalogue;
	return { clock, asked, hosts: new NodeHosts(catalogue, clock) };
}

const placed = (node: string | null, host?: string) =>
	({ place: 0, node, at: { host, port: 80 } }) as unknown as Placed;

it('the address of a node is asked for once, and again after a while', async () => {
	const { hosts, clock, asked } = hostsOf(async () => '10.9.0.1');
	expect(hosts.of(placed('n1'))).toBeUndefined();
	await hosts.learn(placed('n1'));
	await hosts.learn(placed('n1'));
	expect([hosts.of(placed('n1')), hosts.of(placed('n2')), asked]).toEqual(['10.9.0.1', undefined, ['n1']]);
	await clock.advance(600_000);
	await hosts.learn(placed('n1'));
	await hosts.learn(placed('n2'));
	expect(asked).toEqual(['n1', 'n1', 'n2']);
});

it('it is not asked for where the instance has an address of its own, or its node is unknown', async () => {
	const { hosts, asked } = hostsOf(async () => '10.9.0.1');
	await hosts.learn(placed('n1', '10.0.0.1'));
	await hosts.learn(placed(null));
	expect(asked).toEqual([]);
});

it('what was known stays known while the registry is away, or has no address', async () => {
	const answers = [async () => '10.9.0.1', () => Promise.reject(new Error('away')), async () => undefined];
	const { hosts, clock } = hostsOf(() => (answers.shift() ?? expect.fail())());
	for (const _ of [1, 2, 3]) {
		await hosts.learn(placed('n1'));
		expect(hosts.of(placed('n1'))).toBe('10.9.0.1');
		await clock.advance(600_000);
	}
});
