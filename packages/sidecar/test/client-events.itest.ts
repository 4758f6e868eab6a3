import { mkdtemp, rm } from 'node:fs/promises';

import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';
import { EventService, NodeFiles, NodeOwner } from '@spock/events';
import { createSidecar } from '@spock/sidecar';
import { tempSocket } from '@spock/testkit';
import { expect, it } from 'vitest';

import { EventGuest } from '../src/events/event-guest.ts';
import { FakeSource } from './fake-source.ts';

/** A sidecar whose events are on disk. */
async function startSidecar(path: string, directory: string): Promise<{ end(): Promise<void> }> {
	const sidecar = createSidecar({
		source: new FakeSource(),
		listen: [{ address: { path } }],
		limits: { graceMs: 0, drainTimeoutMs: 0 },
		events: {
			create: (context) =>
				new EventGuest(context, {
					serve: () => {
						const [files, owner] = [new NodeFiles(), new NodeOwner(directory)];
						return new EventService({ directory, files, owner, clock: context.clock, random: Math.random });
					},
					directory,
					drainMs: 50,
					openFailed: (error) => expect.unreachable(error.message),
				}),
		},
	});
	await sidecar.start();
	return {
		async end() {
			sidecar.terminate();
			sidecar.terminate();
			await sidecar.ended;
		},
	};
}

it('events of a client reach the log once, although the sidecar is replaced while they flow', async () => {
	const COUNT = 6000;
	await using place = await tempSocket();
	const directory = await mkdtemp('/tmp/spock-events-');
	let sidecar = await startSidecar(place.path, directory);
	const diplomat = await connect({ path: place.path });
	const events = openEvents({ diplomat });
	await events.publish('orders', { n: 0 }, { id: 'first', until: 'stored' });
	let restarted: Promise<void> | undefined;
	for (let n = 1; n <= COUNT; n++) {
		if (!events.emit(n % 2 === 0 ? 'even' : 'odd', { n, text: 'é'.repeat(100) }))
			await events.room({ timeoutMs: 30_000 });
		if (n === COUNT / 2) {
			restarted = sidecar.end().then(async () => {
				sidecar = await startSidecar(place.path, directory);
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
