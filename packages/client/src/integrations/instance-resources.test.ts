import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import { SpockError } from '@spock/protocol';
import { fakeSnapshot, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';
import { InstanceResources } from './instance-resources.ts';

const query = { service: 'barista' };
const address = (host: string) => ({ host, port: 80, instance: `node/${host}:80` });

async function pools() {
	const { diplomat, sidecar } = await simulate();
	const drained: string[] = [];
	const resources = new InstanceResources<{ readonly host: string }>({
		diplomat,
		create: ({ host }) => ({ host }),
		drain: ({ host }) => void drained.push(host),
	});
	const publish = async (revision: number, hosts: readonly string[]): Promise<void> => {
		sidecar.publish(
			fakeSnapshot(
				'barista',
				revision,
				hosts.map((host) => `${host}:80`),
			),
		);
		await settle();
	};
	return { diplomat, sidecar, resources, drained, publish };
}

describe('the resources of instances', () => {
	it('there is one for each, made when it is first asked for', async () => {
		const { resources, publish, diplomat } = await pools();
		await publish(1, ['10.0.0.1', '10.0.0.2']);
		const one = resources.get(query, address('10.0.0.1'));
		expect(resources.get({ ...query }, address('10.0.0.1'))).toBe(one);
		expect(resources.get(query, address('10.0.0.2'))).not.toBe(one);
		expect(resources.size).toBe(2);
		expect([...resources].map(({ host }) => host)).toEqual(['10.0.0.1', '10.0.0.2']);
		await diplomat.close();
	});

	it('who leaves the snapshot is drained, and who moves', async () => {
		const { resources, drained, publish, diplomat } = await pools();
		await publish(1, ['10.0.0.1', '10.0.0.2']);
		for (const host of ['10.0.0.1', '10.0.0.2']) resources.get(query, address(host));
		await settle();
		expect(drained).toEqual([]);
		await publish(2, ['10.0.0.2', '10.0.0.3']);
		expect(drained).toEqual(['10.0.0.1']);
		expect(resources.size).toBe(1);
		await publish(3, []);
		expect(drained).toEqual(['10.0.0.1', '10.0.0.2']);
		await diplomat.close();
	});

	it('a service is watched while it has any, and again when it has some again', async () => {
		const { resources, sidecar, drained, publish, diplomat } = await pools();
		await publish(1, ['10.0.0.1']);
		const one = resources.get(query, address('10.0.0.1'));
		await settle();
		expect(sidecar.requestsOf('watchService')).toHaveLength(1);
		resources.delete(one);
		expect(resources.size).toBe(0);
		await settle();
		// Nobody follows it now: what is not told of is not drained either.
		await publish(2, []);
		expect(drained).toEqual([]);
		await publish(3, ['10.0.0.1']);
		resources.get(query, address('10.0.0.1'));
		await settle();
		await publish(4, []);
		expect(drained).toEqual(['10.0.0.1']);
		await diplomat.close();
	});

	it('close drains all and waits for it; twice is once', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		let end: (() => void) | undefined;
		await using resources = new InstanceResources({
			diplomat,
			create: () => ({}),
			drain: () => new Promise<void>((resolve) => (end = resolve)),
		});
		resources.get(query, address('10.0.0.1'));
		let isClosed = false;
		const closed = resources.close().then(() => {
			isClosed = true;
		});
		await settle();
		expect(isClosed).toBe(false);
		end?.();
		await closed;
		await resources.close();
		await diplomat.close();
	});

	it('a watch that ends for good is told on a channel; what there is stays, and the next one watches again', async () => {
		const messages: unknown[] = [];
		const listener = (message: unknown): void => void messages.push(message);
		subscribe('spock:client:unwatched', listener);
		try {
			let isDenied = true;
			const { diplomat, sidecar, clock } = await simulate(
				{},
				{
					handle: ({ func }) =>
						func === 'watchService' && isDenied
							? { error: new SpockError('ACL_DENIED', 'not you').toWire() }
							: undefined,
				},
			);
			const resources = new InstanceResources({ diplomat, create: ({ host }) => host, drain: () => undefined });
			resources.get(query, address('10.0.0.1'));
			await settle();
			expect(messages).toMatchObject([{ query, error: { code: 'ACL_DENIED' } }]);
			expect(resources.size).toBe(1);
			isDenied = false;
			sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.2:80']));
			// What was refused is asked for again by and by.
			await clock.advance(60_000);
			resources.get(query, address('10.0.0.2'));
			await settle();
			expect([...resources]).toEqual(['10.0.0.2']);
			await diplomat.close();
		} finally {
			unsubscribe('spock:client:unwatched', listener);
		}
	});
});
