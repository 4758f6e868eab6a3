import { renameSync } from 'node:fs';

import { EventService, NodeFiles, NodeOwner } from '@spock/events';
import { createSidecar } from '@spock/sidecar';
import { type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { EventGuest } from '../src/events/event-guest.ts';
import { FakeSource } from './fake-source.ts';
import { type Frame, RawClient } from './raw-client.ts';
import { ackedUpTo, eventLine, openProducer } from './running-events.ts';

interface OnDisk extends AsyncDisposable {
	open(): Promise<RawClient>;
	end(): Promise<void>;
	readonly failures: string[];
}

/** A sidecar with its log in the directory of the socket. */
async function runOnDisk(place: TempSocket, name = place.path, takesOver = false): Promise<OnDisk> {
	const source = new FakeSource();
	source.publish('barista', ['1.2.3.4']);
	const failures: string[] = [];
	const directory = `${place.directory}/e`;
	const files = new NodeFiles();
	const sidecar = createSidecar({
		source,
		listen: [{ address: { path: name } }],
		limits: { graceMs: 0, drainTimeoutMs: 0 },
		...(takesOver && { takeOver: { warmUpMs: 1000 } }),
		events: {
			create: (context) =>
				new EventGuest(context, {
					serve: (lost) =>
						new EventService({
							lost,
							directory,
							files,
							owner: new NodeOwner(directory),
							clock: context.clock,
							random: context.random,
						}),
					directory,
					drainMs: 5000,
					openFailed: (error) => failures.push(error.message),
				}),
		},
	});
	await sidecar.start();
	const end = async (): Promise<void> => {
		sidecar.terminate();
		sidecar.terminate();
		await sidecar.ended;
	};
	return { open: () => RawClient.open(name), end, failures, [Symbol.asyncDispose]: end };
}

/** The payloads of a stream, from its beginning, and their positions. */
async function payloadsOf(running: OnDisk, count: number): Promise<unknown[]> {
	await using client = await running.open();
	await client.ask(1, 'openConsumer', { stream: 'orders', from: 'first', inFlightMax: 4096 });
	const found: unknown[] = [];
	while (found.length < count) {
		const { data } = (await client.next()) as Frame & { data: { events: { event: { payload: unknown } }[] } };
		found.push(...data.events.map(({ event }) => event.payload));
	}
	return found;
}

describe('events on a disk', () => {
	it('are all there after a restart, and their producer goes on where it was', async () => {
		await using place = await tempSocket();
		await using first = await runOnDisk(place);
		await using producer = await openProducer(first);
		const payloads = Array.from({ length: 500 }, (_, at) => ({ at, text: 'é'.repeat(at) }));
		producer.uplink.socket.write(payloads.map((payload, at) => eventLine(at + 1, payload)).join(''));
		await ackedUpTo(producer.call, 500);
		await first.end();
		await using second = await runOnDisk(place);
		await using again = await openProducer(second, { producer: 'p', epoch: 1, persisted: 499 });
		expect(again.reply).toMatchObject({ epoch: 1, persisted: 500 });
		again.uplink.socket.write(eventLine(500, 'twice') + eventLine(501, 'new'));
		await ackedUpTo(again.call, 501);
		expect(await payloadsOf(second, 501)).toEqual([...payloads, 'new']);
		await using client = await second.open();
		expect(await client.ask(1, 'status')).toMatchObject({
			data: { events: { state: 'receiving', producers: 1, streams: [{ stream: 'orders', events: 501 }] } },
		});
	});

	it('keep the payload of a published event as it came, also what no double holds', async () => {
		await using place = await tempSocket();
		await using running = await runOnDisk(place);
		await using client = await running.open();
		const payload = '{"big":12345678901234567890,"huge":1e400,"text":"\\u00e9 ","list":[1.0]}';
		client.socket.write(`{"func":"publish","data":{"payload":${payload},"stream":"orders"},"id":1}\n`);
		expect(await client.next()).toMatchObject({ id: 1, data: { position: 1 } });
		await using reader = await running.open();
		const lines: Buffer[] = [];
		reader.socket.on('data', (chunk) => lines.push(chunk));
		reader.request(1, 'openConsumer', { stream: 'orders', from: 'first' });
		await waitFor('the event', () => Buffer.concat(lines).toString().includes(`"payload":${payload}}`));
		expect(await client.ask(2, 'publish', { stream: 'orders', encoding: 'base64', payload: 1 })).toMatchObject({
			error: { code: 'BAD_REQUEST' },
		});
	});

	it('stay another sidecar’s as long as that has the directory; then they are this one’s', async () => {
		await using place = await tempSocket();
		await using first = await runOnDisk(place);
		await using client = await first.open();
		await client.ask(1, 'publish', { stream: 'orders', payload: 1 });
		await using second = await runOnDisk(place, `${place.directory}/other.sock`);
		await waitFor('the refusal', () => second.failures.length > 0);
		await using other = await second.open();
		const error = { code: 'UNAVAILABLE', message: expect.stringContaining('--events') };
		expect(await other.ask(1, 'publish', { stream: 'orders', payload: 2 })).toMatchObject({ error });
		expect(await other.ask(2, 'getService', { service: 'barista' })).toMatchObject({ data: { port: 80 } });
		await first.end();
		await waitFor('the directory', async () => {
			const answer = await other.ask(3, 'publish', { stream: 'orders', payload: 2 });
			return answer?.error === undefined;
		});
		expect(await payloadsOf(second, 2)).toEqual([1, 2]);
	});

	it('are taken again once a directory that was moved is back, and their producer goes on', async () => {
		await using place = await tempSocket();
		await using running = await runOnDisk(place);
		await using producer = await openProducer(running);
		producer.uplink.socket.write(eventLine(1, 'a'));
		await ackedUpTo(producer.call, 1);
		const [directory, elsewhere] = [`${place.directory}/e`, `${place.directory}/moved`];
		renameSync(directory, elsewhere);
		await using client = await running.open();
		const error = { code: 'UNAVAILABLE', message: expect.stringContaining('its files are gone') };
		expect(await client.ask(1, 'publish', { stream: 'orders', payload: 'lost' })).toMatchObject({ error });
		await waitFor('an attempt', () => running.failures.some((message) => message.includes('ENOENT')));
		renameSync(elsewhere, directory);
		await waitFor('the log', async () => {
			const answer = await client.ask(2, 'publish', { stream: 'orders', payload: 'c' });
			return answer?.error === undefined;
		});
		// Its window is open again, and what it sends now ends its uplink: it opens both anew.
		await waitFor('the window', async () => {
			const { event, data } = (await producer.call.next()) as Frame & { data: { bytes: number } };
			return event === 'eventWindow' && data.bytes > 0;
		});
		producer.uplink.socket.write(eventLine(2, 'd'));
		expect(await producer.uplink.next()).toBeUndefined();
		await using again = await openProducer(running, { producer: 'p', epoch: 1, persisted: 1 });
		again.uplink.socket.write(eventLine(2, 'd'));
		await ackedUpTo(again.call, 2);
		// What was refused had been written, and nobody was told so.
		expect(await payloadsOf(running, 4)).toEqual(['a', 'lost', 'c', 'd']);
	});

	it('go to the successor in a take-over: what was told is there, and clients go on in one request', async () => {
		await using place = await tempSocket();
		await using first = await runOnDisk(place);
		await using producer = await openProducer(first);
		producer.uplink.socket.write(eventLine(1, 'a') + eventLine(2, 'b'));
		await ackedUpTo(producer.call, 2);
		await using reader = await first.open();
		await reader.ask(1, 'openConsumer', { stream: 'orders' });
		await using second = await runOnDisk(place, place.path, true);
		// The one in place ends them, and says so to a client that does not understand goaway.
		expect(await reader.next()).toMatchObject({
			event: 'consumerClosed',
			data: { error: { code: 'UNAVAILABLE', retryable: true } },
		});
		await using again = await openProducer(second, { producer: 'p', epoch: 1, persisted: 2 });
		expect(again.reply).toMatchObject({ epoch: 1, persisted: 2 });
		again.uplink.socket.write(eventLine(3, 'c'));
		await ackedUpTo(again.call, 3);
		expect(await payloadsOf(second, 3)).toEqual(['a', 'b', 'c']);
		expect(second.failures).toEqual([]);
	});
});
