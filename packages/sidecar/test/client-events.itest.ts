import { mkdtemp, rm } from 'node:fs/promises';

import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';
import { tempSocket } from '@spock/testkit';
import { expect, it } from 'vitest';

import { sidecarOnDisk } from './sidecar-on-disk.ts';

it('events of a client reach the log once, although the sidecar is replaced while they flow', async () => {
	const COUNT = 6000;
	await using place = await tempSocket();
	const directory = await mkdtemp('/tmp/spock-events-');
	let sidecar = await sidecarOnDisk(place.path, directory);
	const diplomat = await connect({ path: place.path });
	const events = openEvents({ diplomat });
	await events.publish('orders', { n: 0 }, { id: 'first', until: 'stored' });
	let restarted: Promise<void> | undefined;
	for (let n = 1; n <= COUNT; n++) {
		if (!events.emit(n % 2 === 0 ? 'even' : 'odd', { n, text: 'é'.repeat(100) }))
			await events.room({ timeoutMs: 30_000 });
		if (n === COUNT / 2) {
			restarted = sidecar.end().then(async () => {
				sidecar = await sidecarOnDisk(place.path, directory);
			});
		}
	}
	await restarted;
	await events.flush({ until: 'stored', timeoutMs: 30_000 });
	const { events: log } = await diplomat.request('status', null);
	const counts = Object.fromEntries((log?.streams ?? []).map((stream) => [stream.stream, stream.events]));
	expect(counts).toEqual({ orders: 1, odd: COUNT / 2, even: COUNT / 2 });
	await diplomat.drain();
	expect(events.status()).toMatchObject({ state: 'ended', persisted: COUNT + 1, kept: 0, refused: 0 });
	await sidecar.end();
	await rm(directory, { recursive: true });
});
