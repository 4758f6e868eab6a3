import { createSidecar } from '@spock/sidecar';
import { FakeClock, settle, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { FakeSource } from './fake-source.ts';
import { type Frame, RawClient } from './raw-client.ts';

it('a client that said hello with window is asked for less, and what it sends above that is OVERLOADED', async () => {
	await using place = await tempSocket();
	const source = new FakeSource();
	const clock = new FakeClock();
	const limited: string[] = [];
	const sidecar = createSidecar({
		source,
		clock,
		listen: [{ address: { path: place.path } }],
		limits: { graceMs: 0, inFlightTotalMax: 100 },
		observer: { limited: (limit) => void limited.push(limit) },
	});
	await sidecar.start();
	await using greedy = await RawClient.open(place.path);
	await using plain = await RawClient.open(place.path);
	await greedy.ask(0, 'hello', { versions: [1], features: ['window'] });
	const slow = { service: 'slow' };
	for (let id = 1; id <= 40; id++) greedy.request(id, 'getService', slow);
	for (let id = 1; id <= 40; id++) plain.request(id, 'getService', slow);
	await waitFor('all to wait', () => sidecar.gauges().inFlight === 80);
	await clock.advance(200);
	const push = (await greedy.next()) as Frame;
	expect(push).toMatchObject({
		event: 'window',
		data: { inFlightMax: expect.toSatisfy((max: number) => max >= 16 && max <= 40) },
	});
	expect(sidecar.gauges().narrowed).toBe(1);
	await clock.advance(100);
	// What is in flight stays; more is refused now, for it had time to read.
	let refused: Frame | undefined;
	greedy.request(41, 'getService', slow);
	while (refused?.['id'] !== 41) refused = await greedy.next();
	expect(refused).toMatchObject({ error: { code: 'OVERLOADED', retryable: true } });
	expect(limited).toContain('inFlightMax');
	// All together may not have more than inFlightTotalMax; who has none waiting may still ask.
	for (let id = 41; id <= 61; id++) plain.request(id, 'getService', slow);
	expect(await plain.next()).toMatchObject({
		id: 61,
		error: { code: 'OVERLOADED', details: { inFlightTotalMax: 100 } },
	});
	await using modest = await RawClient.open(place.path);
	modest.request(1, 'getService', slow);
	await waitFor('its turn', () => sidecar.gauges().inFlight === 101);
	source.publish('slow', ['1.2.3.4']);
	expect(await modest.next()).toMatchObject({ id: 1, data: { host: '1.2.3.4' } });
	await settle();
	expect(sidecar.gauges().inFlight).toBe(0);
	let window = 0;
	await clock.advance(1000);
	while (window <= 40) {
		const frame = (await greedy.next()) as Frame;
		if (frame['event'] === 'window') window = (frame['data'] as { inFlightMax: number }).inFlightMax;
	}
	for (let id = 1; id <= 60; id++) expect(await plain.next()).not.toHaveProperty('event');
	sidecar.terminate();
	sidecar.terminate();
	await clock.advance(60_000);
	await sidecar.ended;
});
