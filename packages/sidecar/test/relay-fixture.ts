import { join } from 'node:path';

import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';
import type { EventStore, LogEvent, StoreReader } from '@spock/events';
import type { StoreFixture } from '@spock/events/contract';
import { type RelayOptions, RelayStore } from '@spock/events/stores';
import { EVENT_BYTES_MAX, encodeEvent } from '@spock/protocol';
import { freePort, tempSocket } from '@spock/testkit';

import { sidecarOnDisk } from './sidecar-on-disk.ts';

/** An event at a position of the first log, which it also names in its headers. */
export function eventAt(position: number, stream: string, payload: unknown): LogEvent {
	const headers = { position: String(position) };
	const [key, id] = ['k', `e-${position}`];
	const text = encodeEvent({ stream, key, id, headers, payload });
	return { kind: 'event', producer: 'p', epoch: 1, seq: position, stream, key, id, text, position, time: 1 };
}

/** A relay store to a sidecar of this process, whose readers read what is there. */
export async function relayFixture(options: Partial<RelayOptions> = {}): Promise<StoreFixture> {
	const place = await tempSocket();
	const port = await freePort();
	const listen = [{ address: { host: '127.0.0.1', port } }];
	const next = await sidecarOnDisk(place.path, join(place.directory, 'events'), listen);
	const diplomat = await connect({ path: place.path });
	const events = openEvents({ diplomat });
	const make = (): EventStore => {
		const store = new RelayStore({ owner: 'log-1', access: async () => ({ host: '127.0.0.1', port }), ...options });
		return {
			name: store.name,
			append: (stream, given, stored) => store.append(stream, given, stored),
			lastOf: (stream) => store.lastOf(stream),
			holds: (stream, position) => store.holds(stream, position),
			deleteGroup: (stream, group) => store.deleteGroup(stream, group),
			close: () => store.close(),
			reader: async (stream) => readerOf(events.consume(stream, { from: 'first' })),
		};
	};
	let store = make();
	let position = 0;
	const one = (stream: string, payload: unknown): LogEvent => {
		position += 3;
		return eventAt(position, stream, payload);
	};
	return {
		store,
		events: (stream, count) => Array.from({ length: count }, (_, payload) => one(stream, payload)),
		eventsWithBad: (stream) => [one(stream, 0), one(stream, 'x'.repeat(EVENT_BYTES_MAX)), one(stream, 1)],
		reopen: async () => {
			await store.close();
			store = make();
			return store;
		},
		close: async () => {
			await store.close();
			await diplomat.close();
			await next.end();
			await place[Symbol.asyncDispose]();
		},
	};
}

function readerOf(consumed: ReturnType<ReturnType<typeof openEvents>['consume']>): StoreReader {
	const read: LogEvent[] = [];
	const reading = (async () => {
		for await (const received of consumed) {
			received.ack();
			const { stream, key, id, headers, data } = received;
			const event = eventAt(Number(headers['position']), stream, data);
			read.push({ ...event, key, id });
		}
	})();
	return {
		position: 0,
		rewinds: 0,
		read: async ({ eventsMax }) => read.splice(0, eventsMax),
		onMore: () => undefined,
		done: async () => undefined,
		rewind: async () => 0,
		close: async () => {
			await consumed.return?.();
			await reading;
		},
	};
}
