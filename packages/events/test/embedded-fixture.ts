import assert from 'node:assert/strict';

import { encodeEvent } from '@spock/protocol';
import { type Clock, systemClock } from '@spock/protocol/internal';

import type { StoreFixture } from '../src/contract/index.ts';
import type { EventLog, EventLogOptions, LogEvent } from '../src/index.ts';
import { EmbeddedStore } from '../src/stores/embedded-store.ts';

/** What a log needs to be the one of a store. */
export type StoreLogOptions = Pick<EventLogOptions, 'clock' | 'memory' | 'listener'>;

/** Where the logs of a fixture are, one after the other. */
export interface LogPlace {
	/** One that is not opened. */
	make(options: StoreLogOptions): EventLog;
	/** Ends the process of a log, so that the next one can be opened. */
	end(log: EventLog): Promise<void>;
	/** Removes what is left. */
	close(): Promise<void>;
}

/** An embedded store on a log of files, for the contract of stores. */
export async function embeddedFixture(place: LogPlace): Promise<StoreFixture> {
	let wallMs = 1000;
	const clock: Clock = { ...systemClock, wallNow: () => wallMs };
	const open = async (): Promise<{ readonly log: EventLog; readonly store: EmbeddedStore }> => {
		const log: EventLog = place.make({
			clock,
			memory: {
				checkpoint: () => store.checkpoint(),
				restore: (checkpoint) => store.restore(checkpoint),
				replay: (record) => store.replay(record),
			},
			listener: {
				committed: () => store.committed(),
				stateChanged: () => undefined,
				windows: () => undefined,
				left: () => undefined,
				damaged: ({ file, from, to }) => assert.fail(`${file} is damaged from ${from} to ${to}`),
				failed: (error) => assert.fail(error),
			},
		});
		const store = new EmbeddedStore({ log });
		await log.open(false);
		return { log, store };
	};
	let { log, store } = await open();
	const add = (stream: string, payload: unknown): LogEvent => {
		wallMs++;
		const text = encodeEvent({ stream, key: 'k', payload });
		const event = {
			kind: 'event',
			producer: 'p',
			epoch: 1,
			seq: log.next,
			stream,
			key: 'k',
			id: undefined,
			text,
		} as const;
		return { ...event, position: log.append(event), time: wallMs };
	};
	return {
		store,
		events: (stream, count) =>
			Array.from({ length: count }, (_, payload) => {
				if (payload % 3 === 0) log.append({ kind: 'note', of: 'store', text: '{}' });
				return add(stream, payload);
			}),
		eventsWithBad: (stream) => {
			const good = add(stream, 0);
			return [good, { ...good, position: log.next + 5 }, { ...good, position: log.next + 6 }];
		},
		reopen: async () => {
			await place.end(log);
			({ log, store } = await open());
			return store;
		},
		close: async () => {
			await store.close();
			await log.close(0);
			await place.close();
		},
	};
}
