import { mkdirSync, renameSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { createSidecar, type Sidecar } from '@spock/sidecar';
import { FakeClock, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { FakeSource } from './fake-source.ts';
import { RawClient } from './raw-client.ts';

async function run(path: string) {
	const clock = new FakeClock();
	const told: (readonly [outcome: string, reason: string | null])[] = [];
	const sidecar: Sidecar = createSidecar({
		source: new FakeSource(),
		listen: [{ address: { path } }],
		limits: { graceMs: 0, drainTimeoutMs: 10 },
		observer: { place: (...one) => void told.push(one) },
		clock,
	});
	await sidecar.start();
	await waitFor('readiness', () => sidecar.readiness().ready);
	return {
		sidecar,
		told,
		/** Looks, until this is true. */
		looking: (what: string, probe: () => boolean) =>
			waitFor(what, async () => {
				await clock.advance(1000);
				return probe();
			}),
		clock,
		[Symbol.asyncDispose]: async () => {
			sidecar.terminate();
			sidecar.terminate();
			await clock.advance(60_000);
			await sidecar.ended;
			expect(clock.pendingTimers).toBe(0);
		},
	};
}

async function pings({ path }: Pick<TempSocket, 'path'>): Promise<unknown> {
	await using client = await RawClient.open(path);
	return (await client.ask(1, 'ping'))?.['id'];
}

it('a socket file that somebody has deleted is there again, and who is connected stays so', async () => {
	await using place = await tempSocket();
	await using running = await run(place.path);
	await using client = await RawClient.open(place.path);
	for (let times = 1; times <= 2; times++) {
		await rm(place.path);
		await running.looking('the socket', () => running.told.length === times);
		expect(await pings(place)).toBe(1);
	}
	expect(await client.ask(1, 'ping')).toMatchObject({ id: 1 });
	expect(running.told).toEqual([
		['again', null],
		['again', null],
	]);
});

it('while it cannot be put back, the sidecar is not ready, and says why', async () => {
	await using place = await tempSocket();
	const directory = join(place.directory, 'deep');
	mkdirSync(directory);
	const path = join(directory, 'sidecar.sock');
	await using running = await run(path);
	renameSync(directory, `${directory}-moved`);
	await running.looking('the loss', () => running.told.length === 1);
	expect(running.sidecar.readiness()).toMatchObject({ ready: false, reasons: [expect.stringContaining(path)] });
	mkdirSync(directory);
	await running.looking('its return', () => running.told.length === 2);
	expect(running.told[1]).toEqual(['again', null]);
	expect(running.sidecar.readiness()).toMatchObject({ ready: true, reasons: [] });
	expect(await pings({ path })).toBe(1);
});

it("another process' socket at the path is left alone, however long, until it is dead", async () => {
	await using place = await tempSocket();
	await using running = await run(place.path);
	await rm(place.path);
	{
		await using other = await run(place.path);
		await running.looking('the loss', () => running.told.length === 1);
		for (let looks = 0; looks < 5; looks++) await running.clock.advance(1000);
		expect(running.sidecar.readiness()).toMatchObject({
			ready: false,
			reasons: [expect.stringContaining('another process')],
		});
		expect(other.sidecar.readiness().ready).toBe(true);
		await using client = await RawClient.open(place.path);
		expect(await client.ask(1, 'hello', { versions: [1] })).toMatchObject({
			data: { instance: other.sidecar.instance },
		});
		expect(other.told).toEqual([]);
	}
	await running.looking('its place', () => running.told.length === 2);
	expect(await pings(place)).toBe(1);
});
