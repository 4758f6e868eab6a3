import { BackendSource, consulBackend } from '@spock/discovery';
import { FakeClock, settle, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { CONSUL_WHILE_AWAY } from '../src/cli/start/create-upstream.ts';
import { sharedSidecar, upstreamOf } from './upstream-fixture.ts';

const LOOKUPS = 48;
const EVERY_MS = 700;

/** Moves the clock in small steps, so that real sockets have their turn. */
async function advance(clock: FakeClock, ms: number): Promise<void> {
	for (let passedMs = 0; passedMs < ms; passedMs += 50) {
		await clock.advance(50);
		for (let turn = 0; turn < 10; turn++) await settle();
	}
}

it('a first lookup while the shared sidecar is away waits for Consul within its deadline', async () => {
	const clock = new FakeClock();
	await using shared = await sharedSidecar();
	for (let number = 0; number < LOOKUPS; number++) shared.consul.set(`service-${number}`, [{ id: 'a' }]);
	const { afterMs, spreadMs, ...limits } = CONSUL_WHILE_AWAY;
	const ofConsul = { addresses: [shared.consul.url], clock, ...limits };
	const backend = upstreamOf([shared], {
		clock,
		fallback: () => new BackendSource({ backend: consulBackend(ofConsul), clock }),
		fallbackAfterMs: afterMs + spreadMs,
	});
	const source = new BackendSource({ backend, clock });
	await waitFor('the connection', () => backend.status().state === 'up');
	await shared.gate.shut();
	await waitFor('the loss', () => backend.status().state === 'down');
	const outcomes: string[] = [];
	for (let number = 0; number < LOOKUPS; number++) {
		source.get({ service: `service-${number}` }).then(
			({ source: from }) => outcomes.push(from),
			(error: Error) => outcomes.push(error.message),
		);
		await advance(clock, EVERY_MS);
	}
	await advance(clock, 4000);
	expect(outcomes).toEqual(Array.from({ length: LOOKUPS }, () => 'live'));
	await source.close();
});
