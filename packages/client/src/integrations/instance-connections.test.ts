import { FakeClock, fakeSnapshot, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';
import { InstanceConnections } from './instance-connections.ts';

const SERVICE = 'orders-db';

async function connections() {
	const { diplomat, sidecar } = await simulate({ policy: 'least-in-flight', ejectAfterFailures: 2 });
	const clock = new FakeClock();
	const left: string[] = [];
	const all = new InstanceConnections<string>({ diplomat, clock, leave: (name) => void left.push(name) });
	const publish = async (revision: number, ...hosts: readonly string[]): Promise<void> => {
		sidecar.publish(
			fakeSnapshot(
				SERVICE,
				revision,
				hosts.map((host) => `${host}:5432`),
			),
		);
		await settle();
	};
	await publish(1, '10.0.0.1', '10.0.0.2');
	const open = async (name: string) => all.add(await diplomat.acquire(SERVICE), name);
	return { diplomat, sidecar, clock, left, publish, open };
}

describe('long-lived connections', () => {
	it('count as in flight from the attempt to the end: a new one goes where fewer are', async () => {
		const { diplomat, open } = await connections();
		const [one, two] = [await open('one'), await open('two')];
		expect(two.address.host).not.toBe(one.address.host);
		one.opened();
		two.opened();
		two.end('cancelled');
		expect((await open('three')).address.host).toBe(two.address.host);
		await diplomat.close();
	});

	it('that cannot be made count against their instance, those that are made for it', async () => {
		const { diplomat, open } = await connections();
		const one = await open('one');
		one.end('failure');
		const host = one.address.host;
		// In between one succeeds there: failures are no longer in a row.
		for (const outcome of ['opened', 'failure', 'failure'] as const) {
			let next = await open('next');
			const others = [];
			while (next.address.host !== host) {
				others.push(next);
				next = await open('next');
			}
			if (outcome === 'opened') next.opened();
			else expect(diplomat.status().ejected).toEqual([]);
			next.end(outcome === 'opened' ? 'cancelled' : 'failure');
			for (const other of others) other.end('cancelled');
		}
		expect(diplomat.status().ejected).toMatchObject([{ instance: one.address.instance, failures: 2 }]);
		await diplomat.close();
	});

	it('are told to leave when their instance has left, once, and not after their end', async () => {
		const { diplomat, left, publish, open } = await connections();
		const all = [await open('one'), await open('two'), await open('three'), await open('four')];
		const leavers = ['one', 'two', 'three', 'four'].filter((_name, index) => all[index]?.address.host === '10.0.0.1');
		expect(leavers).toHaveLength(2);
		await settle();
		const [first] = leavers;
		all[['one', 'two', 'three', 'four'].indexOf(first as string)]?.end('cancelled');
		await publish(2, '10.0.0.2');
		expect(left).toEqual(leavers.slice(1));
		await publish(3, '10.0.0.2', '10.0.0.3');
		expect(left).toEqual(leavers.slice(1));
		await diplomat.close();
	});

	it('end once: what comes after that counts for nothing', async () => {
		const { diplomat, open } = await connections();
		const one = await open('one');
		expect(one.isConnecting).toBe(true);
		one.opened();
		expect(one.isConnecting).toBe(false);
		one.end('cancelled');
		one.end('failure');
		one.opened();
		expect(diplomat.status().ejected).toEqual([]);
		await diplomat.close();
	});
});
