import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import { encodePush } from '@spock/protocol';
import { FakeSidecar, type RecordedRequest, tempSocket } from '@spock/testkit';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { createDiplomat } from '../../src/connect.ts';
import { openEvents } from '../../src/events/open-events.ts';
import { delivered } from './fake-downlink.ts';

/** Opens consumers, and answers nothing else of events. */
const opening = {
	handle: ({ func }: RecordedRequest) => {
		if (func === 'openConsumer') return { data: { consumer: 1, position: 1 } };
		return func === 'closeConsumer' ? { data: null } : undefined;
	},
};

async function opened() {
	const place = await tempSocket();
	places.push(place);
	const { path } = place;
	const sidecar = await FakeSidecar.listen(path, opening);
	const diplomat = createDiplomat({ path, retryDelayMsMin: 1, retryDelayMsMax: 5 });
	const events = openEvents({ diplomat });
	/** The connection on which a consumer was opened last. */
	const downlink = async (count: number) => {
		await vi.waitFor(() => expect(sidecar.requestsOf('openConsumer')).toHaveLength(count));
		const request = sidecar.requestsOf('openConsumer').at(-1) as RecordedRequest;
		const connection = sidecar.connections[request.connection];
		if (connection === undefined) throw new Error('no such connection');
		return connection;
	};
	return { sidecar, diplomat, events, downlink };
}

const places: AsyncDisposable[] = [];

afterEach(async () => {
	for (const place of places.splice(0)) await place[Symbol.asyncDispose]();
});

describe('consumers over sockets', () => {
	it('a pool has a connection of its own, acks, survives its loss, and drains with its client', async () => {
		const { sidecar, diplomat, events, downlink } = await opened();
		const seen: number[] = [];
		const done = events.handle('orders', { group: 'billing' }, ({ position }) => void seen.push(position));
		const first = await downlink(1);
		first.push('deliver', { consumer: 1, events: [delivered(1), delivered(2)] });
		await vi.waitFor(() => expect(sidecar.requestsOf('ack')).toHaveLength(1));
		expect(sidecar.requestsOf('ack')[0]).toMatchObject({ data: { consumer: 1, n: [1, 2] }, connection: first.number });
		first.drop();
		const second = await downlink(2);
		expect(diplomat.status().state).toBe('ready');
		second.push('deliver', { consumer: 1, events: [delivered(3)] });
		await vi.waitFor(() => expect(sidecar.requestsOf('ack')).toHaveLength(2));
		await events.close();
		await done;
		await diplomat.drain();
		expect(seen).toEqual([1, 2, 3]);
		await vi.waitFor(() => expect(sidecar.liveCount).toBe(0));
		await sidecar.stop();
	});

	it('a loop that is left sends its ack and its end; the connection goes with the last one', async () => {
		const { sidecar, diplomat, events, downlink } = await opened();
		const loop = (async () => {
			for await (const event of events.consume('orders', { group: 'billing' })) {
				event.ack();
				break;
			}
		})();
		const line = await downlink(1);
		// Behind the reply, in pieces.
		const frame = encodePush('deliver', JSON.stringify({ consumer: 1, events: [delivered(1)] }));
		line.sendRaw(frame.slice(0, 20));
		line.sendRaw(frame.slice(20));
		await loop;
		const told = sidecar.requests.filter(({ connection }) => connection === line.number).map(({ func }) => func);
		expect(told).toEqual(['hello', 'openConsumer', 'ack', 'closeConsumer']);
		await vi.waitFor(() => expect(line.stream.destroyed).toBe(true));
		await diplomat.close();
		await sidecar.stop();
	});

	it('a sidecar without events: rejects, and says what to do', async () => {
		const { sidecar, diplomat, events } = await opened();
		sidecar.options = {};
		await expect(events.handle('orders', {}, () => undefined)).rejects.toThrow('start it with --events DIR');
		await diplomat.close();
		await sidecar.stop();
	});

	it('report a delivery that is none, to who listens', async () => {
		const { diplomat, events, downlink, sidecar } = await opened();
		const seen: number[] = [];
		const done = events.handle('orders', { group: 'billing' }, ({ position }) => void seen.push(position));
		const line = await downlink(1);
		const faults: unknown[] = [];
		const listener = (message: unknown): void => void faults.push(message);
		line.push('deliver', { consumer: 1, events: [5] });
		line.push('deliver', { consumer: 1, events: [delivered(1)] });
		await vi.waitFor(() => expect(seen).toEqual([1]));
		subscribe('spock:client:fault', listener);
		line.push('deliver', { consumer: 1, events: [5] });
		await vi.waitFor(() => expect(faults).toMatchObject([{ kind: 'push', message: 'deliver with what is no event' }]));
		unsubscribe('spock:client:fault', listener);
		await events.close();
		await done;
		await diplomat.close();
		await sidecar.stop();
	});
});
