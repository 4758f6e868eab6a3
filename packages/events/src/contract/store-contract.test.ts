import { encodeEvent } from '@spock/protocol';
import { systemClock } from '@spock/protocol/internal';
import { SimClaims, SimDisk, SimFiles } from '@spock/testkit/sim-files';
import { describe, expect, it } from 'vitest';

import { embeddedFixture, type LogPlace } from '../../test/embedded-fixture.ts';
import { DIRECTORY, SMALL_LIMITS } from '../../test/open-sim-log.ts';
import { seededRandom } from '../../test/seeded-random.ts';
import type { LogEvent } from '../foundation/log-record.ts';
import { EventLog } from '../log/event-log.ts';
import type { StoreFixture } from './bench.ts';
import { storeContract } from './index.ts';
import { MemoryStore, type MemoryStoreMistakes } from './memory-store.ts';
import { SimStore } from './sim-store.ts';

function memoryFixture(mistakes?: MemoryStoreMistakes): StoreFixture {
	return fixtureOf(new MemoryStore(mistakes));
}

function simulatedFixture(knowsLast: boolean): StoreFixture {
	const refuses = ({ text }: LogEvent): boolean => text.length > 1000;
	return fixtureOf(new SimStore({ clock: systemClock, random: seededRandom(1), refuses, knowsLast }));
}

function fixtureOf(first: MemoryStore | SimStore): StoreFixture {
	let store = first;
	let position = 0;
	const make = (stream: string, payload: unknown): LogEvent => {
		position += 2;
		const origin = { kind: 'event', producer: 'p', epoch: 1, seq: position } as const;
		return {
			...origin,
			...{ stream, key: 'k', id: undefined, text: encodeEvent({ stream, key: 'k', payload }) },
			...{ position, time: 1000 + position },
		};
	};
	return {
		store,
		events: (stream, count) => Array.from({ length: count }, (_, index) => make(stream, index)),
		eventsWithBad: (stream) => [make(stream, 0), make(stream, 'x'.repeat(2000)), make(stream, 1)],
		reopen: () => {
			store = store.reopened();
			return store;
		},
		lose: (stream, from) => store.lose(stream, from),
		close: () => store.close(),
	};
}

/** Logs on a simulated disk, each of which ends with a loss of power. */
function simulatedPlace(): LogPlace {
	const random = seededRandom(1);
	let disk = new SimDisk();
	return {
		make: (options) =>
			new EventLog({
				...options,
				random,
				directory: DIRECTORY,
				files: new SimFiles(disk, random),
				owner: new SimClaims().owner(),
				limits: SMALL_LIMITS,
			}),
		end: async () => {
			disk = disk.losePower(random);
		},
		close: async () => undefined,
	};
}

describe('a store in memory keeps the contract of an EventStore', () => {
	for (const { name, run } of storeContract(() => memoryFixture())) it(name, run);
});

describe.each([true, false])(
	'a simulated store keeps the contract of an EventStore, if it knows its last event: %s',
	(knowsLast) => {
		for (const { name, run } of storeContract(() => simulatedFixture(knowsLast))) it(name, run);
	},
);

describe('the embedded store keeps the contract of an EventStore, also over losses of power', () => {
	for (const { name, run } of storeContract(() => embeddedFixture(simulatedPlace()))) it(name, run);
});

describe('the contract of a store', () => {
	it.each<[keyof MemoryStoreMistakes, string]>([
		['storesTwice', 'what it holds already, by position, is not stored again'],
		['storesBehindBad', 'append rejects with the first event that it never takes, and stores none behind it'],
		['storesBehindRejected', 'a call behind one that is rejected is rejected with it, and stores nothing'],
		['forgetsDone', 'what a group has done is never given again, nor after the reader or the store was opened again'],
		['givesDoneAgain', 'a thousand events with holes are all done in the end'],
		['neverTellsMore', 'read resolves at once with none, and onMore tells of what comes'],
		['unordered', 'events are given in the order of their positions, as they came'],
		['tellsBackwards', 'progress ascends, and ends with the last event before append resolves'],
		['rewindKeepsDone', 'rewind begins anywhere, and what was done there counts no more'],
		['deletesNothing', 'a deleted group is unknown, also after the store was opened again'],
		['rewindsUncounted', 'rewinds of a group are counted, over a restart and beyond its deletion'],
		['rewindsBeginAgain', 'rewinds of a group are counted, over a restart and beyond its deletion'],
	])('catches a store whose mistake is: %s', async (mistake, promise) => {
		const cases = storeContract(() => memoryFixture({ [mistake]: true }), { patienceMs: 100 });
		const one = cases.find(({ name }) => name === promise);
		expect(one).toBeDefined();
		await expect(one?.run()).rejects.toThrow();
	});
});
