import { createDiplomat } from '@spock/client';
import { BackendSource } from '@spock/discovery';
import type { ServiceSnapshot, StatusReply } from '@spock/protocol';
import { createSidecar } from '@spock/sidecar';
import { tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { RawClient } from './raw-client.ts';
import { type SharedSidecar, sharedSidecar, upstreamOf } from './upstream-fixture.ts';

const barista = { service: 'barista' };
/** More than fit into a frame of 1 MiB. */
const COUNT = 6000;

function setService({ consul }: SharedSidecar, without: readonly number[] = [], tagged?: number): void {
	const all = Array.from({ length: COUNT }, (_, index) => index).filter((index) => !without.includes(index));
	consul.set(
		'barista',
		all.map((index) => ({
			id: `barista-${index}`,
			address: `10.0.${index >> 8}.${index & 255}`,
			port: 80,
			tags: index === tagged ? ['v2'] : [],
		})),
	);
}

describe('a service of 6,000 instances over two sidecars', () => {
	it('is live at the app, the same as at the registry, and changes go over both as deltas', async () => {
		await using shared = await sharedSidecar();
		setService(shared);
		const source = new BackendSource({ backend: upstreamOf([shared]), emptyHoldMs: 0 });
		await using place = await tempSocket();
		const sidecar = createSidecar({ source, listen: [{ address: { path: place.path } }], limits: { graceMs: 0 } });
		await sidecar.start();
		await using diplomat = createDiplomat({ path: place.path });
		const seen: ServiceSnapshot[] = [];
		void (async () => {
			for await (const snapshot of diplomat.watchService('barista')) seen.push(snapshot);
		})();
		/** What the app has is what the first sidecar has read from the registry. */
		const agree = async (count: number): Promise<void> => {
			const newest = await waitFor('the app', () => {
				const last = seen.at(-1);
				// A loaded machine may stand still meanwhile.
				return last?.instances.length === count && last.source === 'live' && last;
			});
			const truth = shared.source.peek(barista);
			expect(newest.instances).toEqual(truth?.instances);
			const { held, panic, oversize, source: kind } = newest;
			expect([held, panic, oversize, kind]).toEqual([undefined, undefined, undefined, 'live']);
		};
		await agree(COUNT);
		setService(shared, [17, 4711]);
		await agree(COUNT - 2);
		setService(shared, [17], 99);
		await agree(COUNT - 1);
		expect(seen.at(-1)?.instances.find(({ tags }) => tags.includes('v2'))?.host).toBe('10.0.0.99');
		// The registry's own word, through both, in parts.
		const before = seen.at(-1) as ServiceSnapshot;
		const verified = await diplomat.getInstances('barista', { maxAgeMs: 0 });
		expect(verified.instances).toEqual(before.instances);
		expect(verified.verifiedAt).toBeGreaterThanOrEqual(before.verifiedAt);
		for (const { counters } of [await statusAt(shared), await diplomat.request('status', null)]) {
			expect(counters).toMatchObject({ 'pushed-delta': expect.toSatisfy((count) => count >= 2) });
			expect(counters).not.toHaveProperty('pushed-whole');
			expect(counters['pushed-bytes']).toBeLessThan(10_000);
		}
		await diplomat.close();
		sidecar.terminate();
		await sidecar.ended;
	});
});

async function statusAt({ place }: SharedSidecar): Promise<StatusReply> {
	await using client = await RawClient.open('port' in place.address ? place.address.port : place.address.path);
	return (await client.ask(1, 'status'))?.['data'] as StatusReply;
}
