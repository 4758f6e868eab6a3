import { BackendSource, chainBackend, consulBackend } from '@spock/discovery';
import { FakeClock, settle, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { CONSUL_WHILE_AWAY } from '../src/cli/start/create-upstream.ts';
import { type SharedSidecar, sharedSidecar, upstreamOf } from './upstream-fixture.ts';

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

const barista = { service: 'barista' };
/** Longer than this test takes: no caller gives up. */
const PATIENT = { timeoutMs: 50_000 };

describe('while the registry fails, whatever waits for its first answer is answered when it is back', () => {
	it.each([1, 2, 3])('over %i sidecars', async (hops) => {
		await using last = await sharedSidecar();
		const between: SharedSidecar[] = [];
		last.consul.set('barista', [{ id: 'a' }]);
		let asked: SharedSidecar = last;
		for (let hop = 1; hop < hops; hop++) {
			const backend = upstreamOf([asked]);
			asked = await sharedSidecar({ backend, consul: last.consul, instance: `hop-${hop}` });
			between.unshift(asked);
			await waitFor('the connection', () => backend.status().state === 'up');
		}
		const backend = upstreamOf([asked]);
		const source = new BackendSource({ backend });
		await waitFor('the connection', () => backend.status().state === 'up');
		await last.registryGate.shut();
		const waiting = [
			source.get(barista, PATIENT),
			source.get(barista, { ...PATIENT, maxAgeMs: 0 }),
			source.keys?.get({ key: 'app/limits' }, PATIENT),
			source.list({}, PATIENT),
		];
		const failing = (): boolean => source.watches().some(({ error }) => error !== null);
		await waitFor('the failure', failing);
		await last.registryGate.open();
		expect((await Promise.all(waiting)).map((answer) => answer?.source)).toEqual(['live', 'live', 'live', 'live']);
		await source.close();
		for (const sidecar of between) await sidecar[Symbol.asyncDispose]();
	});

	it('of a chain of backends, whichever of them it is', async () => {
		await using shared = await sharedSidecar();
		await using other = await sharedSidecar();
		other.consul.set('barista', [{ id: 'a' }]);
		const consul = consulBackend({ addresses: [other.registryGate.url], random: () => 0 });
		const source = new BackendSource({ backend: chainBackend({ backends: [upstreamOf([shared]), consul] }) });
		await shared.gate.shut();
		await other.registryGate.shut();
		const waiting = source.get(barista, PATIENT);
		await waitFor('the failure', () => source.watches().some(({ error }) => error !== null));
		await other.registryGate.open();
		expect(await waiting).toMatchObject({ source: 'live' });
		await source.close();
	});
});
