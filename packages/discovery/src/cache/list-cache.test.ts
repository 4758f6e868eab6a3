import { getEventListeners } from 'node:events';

import { type ServiceListEntry, SpockError } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import type { AgedList, Backend } from '../foundation/backend.ts';
import type { StateStore } from '../state/state-store.ts';
import { LIST_REUSED_MS, ListCache } from './list-cache.ts';

const down = new SpockError('UNAVAILABLE', 'refused');

/** A list over a registry that says what the test says, and what is kept of it. */
function listing() {
	const clock = new FakeClock();
	const kept: (readonly ServiceListEntry[])[] = [];
	let answer: readonly ServiceListEntry[] | SpockError = [];
	const backend = {
		list: async () => {
			if (answer instanceof SpockError) throw answer;
			return answer;
		},
	} as unknown as Backend;
	const state = {
		keepList: (_key: string, services: readonly ServiceListEntry[]) => void kept.push(services),
		loadList: async () => undefined,
	} as unknown as StateStore;
	const cache = new ListCache({ backend, clock, onEvent: () => undefined, state });
	const ask = async (said: readonly ServiceListEntry[] | SpockError, datacenter?: string) => {
		answer = said;
		await clock.advance(LIST_REUSED_MS);
		return cache.list(datacenter === undefined ? {} : { datacenter }, {});
	};
	return { clock, kept, ask };
}

/** A list over a registry that answers when the test says so. */
function waiting(members: Partial<Backend> = {}) {
	const clock = new FakeClock();
	const asked: {
		readonly datacenter: string | undefined;
		readonly signal: AbortSignal | undefined;
		resolve(services: readonly ServiceListEntry[]): void;
		reject(error: SpockError): void;
	}[] = [];
	const backend = {
		...members,
		list: ({ datacenter }: { datacenter?: string }, { signal }: { signal?: AbortSignal }) =>
			new Promise((resolve, reject) => asked.push({ datacenter, signal, resolve, reject })),
	} as unknown as Backend;
	return { clock, asked, cache: new ListCache({ backend, clock, onEvent: () => undefined, state: undefined }) };
}

const barista = (...tags: string[]): ServiceListEntry => ({ name: 'barista', tags });

describe('the list of services', () => {
	it('is as old as the question for it, however long the registry took', async () => {
		const { clock, asked, cache } = waiting();
		const first = cache.list({}, {});
		await clock.advance(3000);
		asked[0]?.resolve([barista()]);
		expect((await first).verifiedAt).toBe(clock.wallNow() - 3000);
		const second = cache.list({}, {});
		asked[1]?.reject(down);
		expect(await second).toMatchObject({ source: 'last-known-good', ageMs: 3000 });
	});

	it('that says the same again is the very same, so that it is not written again; any difference makes it another', async () => {
		const { ask, kept } = listing();
		const lists = [
			[barista('a')],
			[barista('a')],
			[barista('b')],
			[barista('a', 'b')],
			[{ name: 'roaster', tags: ['a', 'b'] }],
			[barista('a'), barista('b')],
		];
		for (const list of lists) await ask(list);
		expect(kept[1]).toBe(kept[0]);
		expect(new Set(kept).size).toBe(lists.length - 1);
		expect(kept).toEqual(lists);
	});

	it('is the last one known, with its age, while the registry is out; a denial is told', async () => {
		const { ask, clock } = listing();
		await expect(ask(down)).rejects.toBe(down);
		await ask([barista('a')]);
		await clock.advance(700);
		expect(await ask(down)).toMatchObject({ services: [barista('a')], source: 'last-known-good', ageMs: 1700 });
		await expect(ask(new SpockError('ACL_DENIED', 'no'))).rejects.toMatchObject({ code: 'ACL_DENIED' });
	});

	it('is asked for once by all who wait, and answers whoever asks within a second after', async () => {
		const { cache, asked, clock } = waiting();
		const lists = Array.from({ length: 4000 }, () => cache.list({}, {}));
		await clock.advance(0);
		expect(asked.map(({ datacenter }) => datacenter)).toEqual([undefined]);
		asked[0]?.resolve([barista('a')]);
		for (const list of await Promise.all(lists))
			expect(list).toMatchObject({ services: [barista('a')], source: 'live' });
		await clock.advance(LIST_REUSED_MS - 1);
		await cache.list({}, {});
		expect(asked).toHaveLength(1);
		await clock.advance(1);
		void cache.list({}, {});
		await clock.advance(0);
		expect(asked).toHaveLength(2);
	});

	it('that is unknown is waited for within the time-out, and fails before that only if it is refused', async () => {
		const { cache, asked, clock } = waiting();
		const list = cache.list({}, { timeoutMs: 4000 });
		asked[0]?.reject(down);
		await clock.advance(500);
		asked[1]?.reject(new SpockError('OVERLOADED', 'too much'));
		await clock.advance(500);
		asked[2]?.resolve([barista()]);
		expect(await list).toMatchObject({ source: 'live' });
		const late = expect(cache.list({ datacenter: 'other' }, { timeoutMs: 700 })).rejects.toBe(down);
		asked[3]?.reject(down);
		await clock.advance(500);
		asked[4]?.reject(down);
		await late;
		const denied = new SpockError('ACL_DENIED', 'no');
		const refused = expect(cache.list({ datacenter: 'another' }, { timeoutMs: 4000 })).rejects.toBe(denied);
		asked[5]?.reject(denied);
		await refused;
		expect(clock.pendingTimers).toBe(0);
	});

	it('that is older than the one that is known does not replace it', async () => {
		const clock = new FakeClock();
		const lists: AgedList[] = [
			{ services: [barista('new')], ageMs: 0, isLive: true },
			{ services: [barista('old')], ageMs: 60_000, isLive: false },
			{ services: [barista('newer')], ageMs: 500, isLive: false },
		];
		const backend = { listWithAge: async () => lists.shift() } as unknown as Backend;
		const cache = new ListCache({ backend, clock, onEvent: () => undefined, state: undefined });
		await cache.list({}, {});
		await clock.advance(2000);
		expect(await cache.list({}, {})).toMatchObject({
			services: [barista('new')],
			source: 'last-known-good',
			ageMs: 2000,
		});
		await clock.advance(2000);
		expect(await cache.list({}, {})).toMatchObject({ services: [barista('newer')], ageMs: 500 });
	});

	it('is asked for until the last one who waits has given up; the others have their own deadlines', async () => {
		const { cache, asked, clock } = waiting();
		const end = new AbortController();
		const aborted = cache.list({}, { signal: end.signal });
		const late = cache.list({}, { timeoutMs: 300 });
		aborted.catch(() => undefined);
		late.catch(() => undefined);
		await clock.advance(0);
		end.abort();
		await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
		expect(asked[0]?.signal?.aborted).toBe(false);
		await clock.advance(300);
		await expect(late).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		expect([asked[0]?.signal?.aborted, clock.pendingTimers]).toEqual([true, 0]);
		// Whoever asks now is not given the one that was ended.
		void cache.list({}, {});
		await clock.advance(0);
		expect(asked).toHaveLength(2);
	});

	it('of many datacenters is asked for a few at a time, and not of any number', async () => {
		const { cache, asked, clock } = waiting();
		const others = Array.from({ length: 8 + 64 }, (_, number) => cache.list({ datacenter: `dc${number}` }, {}));
		for (const other of others) other.catch(() => undefined);
		await expect(cache.list({ datacenter: 'one-more' }, {})).rejects.toMatchObject({ code: 'OVERLOADED' });
		await clock.advance(0);
		expect(asked.map(({ datacenter }) => datacenter)).toEqual(Array.from({ length: 8 }, (_, number) => `dc${number}`));
		asked[0]?.reject(down);
		await clock.advance(0);
		expect(asked.at(-1)?.datacenter).toBe('dc8');
	});

	it('of a datacenter that is well comes while others hang for another client, which has its share of turns, and none once it has left', async () => {
		const { cache, asked, clock } = waiting();
		const left = new AbortController();
		const hung = Array.from({ length: 40 }, (_, number) =>
			cache.list({ datacenter: `hung${number}` }, { asker: 1, signal: left.signal }),
		);
		const ends = Promise.allSettled(hung);
		const other = cache.list({ datacenter: 'dc2' }, { asker: 2 });
		await clock.advance(0);
		expect(asked.map(({ datacenter }) => datacenter)).toEqual(['hung0', 'hung1', 'dc2']);
		asked[2]?.resolve([barista('a')]);
		expect(await other).toMatchObject({ source: 'live' });
		left.abort();
		await ends;
		expect(asked.slice(0, 2).every(({ signal }) => signal?.aborted)).toBe(true);
		expect(asked).toHaveLength(3);
	});

	it('behind another sidecar, which runs as many for all as for one, is that of a second client although those of the first hang', async () => {
		const { cache, asked, clock } = waiting({ queriesMax: { services: 1, keys: 1, lists: 2 } });
		for (const datacenter of ['hung0', 'hung1']) cache.list({ datacenter }, { asker: 1 }).catch(() => undefined);
		const other = cache.list({ datacenter: 'dc2' }, { asker: 2 });
		await clock.advance(0);
		expect(asked.map(({ datacenter }) => datacenter)).toEqual(['hung0', 'dc2']);
		asked[1]?.resolve([barista('a')]);
		expect(await other).toMatchObject({ source: 'live' });
	});

	it('is not that of a query which was sent more than a second before, although that is in flight', async () => {
		const { cache, asked, clock } = waiting();
		const first = cache.list({}, {});
		await clock.advance(3000);
		const late = cache.list({}, {});
		asked[0]?.resolve([barista('old')]);
		expect(await first).toMatchObject({ services: [barista('old')], ageMs: 3000 });
		await clock.advance(0);
		asked[1]?.resolve([barista('new')]);
		expect(await late).toMatchObject({ services: [barista('new')], ageMs: 0 });
	});

	it('has at least the age that the registry gives it, live or not', async () => {
		const clock = new FakeClock();
		const services = [barista()];
		const lists: AgedList[] = [
			{ services, ageMs: 800, isLive: true },
			{ services, ageMs: 600_000, isLive: false },
		];
		const backend = { listWithAge: async () => lists.shift() } as unknown as Backend;
		const cache = new ListCache({ backend, clock, onEvent: () => undefined, state: undefined });
		expect(await cache.list({}, {})).toMatchObject({ source: 'live', ageMs: 800, verifiedAt: clock.wallNow() - 800 });
		await clock.advance(700_000);
		expect(await cache.list({}, {})).toMatchObject({ source: 'last-known-good', ageMs: 600_000 });
	});

	it("of the registry's own datacenter waits for no other, however many hang, and takes no turn from them", async () => {
		const { cache, asked, clock } = waiting();
		const own = cache.list({}, {});
		const others = Array.from({ length: 8 + 64 }, (_, number) => cache.list({ datacenter: `dc${number}` }, {}));
		for (const other of others) other.catch(() => undefined);
		await clock.advance(0);
		expect(asked.map(({ datacenter }) => datacenter)).toEqual([
			undefined,
			...Array.from({ length: 8 }, (_, number) => `dc${number}`),
		]);
		asked[0]?.resolve([barista('a')]);
		expect(await own).toMatchObject({ source: 'live' });
		await clock.advance(LIST_REUSED_MS);
		expect(asked).toHaveLength(9);
		const again = cache.list({}, {});
		await clock.advance(0);
		expect(asked.slice(9).map(({ datacenter }) => datacenter)).toEqual([undefined]);
		asked[9]?.resolve([barista('b')]);
		expect(await again).toMatchObject({ services: [barista('b')], source: 'live' });
	});

	it('is remembered for so many datacenters and no more: whoever asks for ever new ones fills no memory', async () => {
		const { ask } = listing();
		for (let number = 0; number < 64; number++) await ask([barista(String(number))], `dc${number}`);
		expect(await ask(down, 'dc0')).toMatchObject({ services: [barista('0')] });
		await ask([barista('again')], 'dc0');
		expect(await ask(down, 'dc63')).toMatchObject({ services: [barista('63')] });
		await ask([barista('one more')], 'dc64');
		await expect(ask(down, 'dc0')).rejects.toBe(down);
		expect(await ask(down, 'dc64')).toMatchObject({ services: [barista('one more')] });
	});
});

it('any number of callers with one signal put one listener on it, and none when they have gone', async () => {
	const { asked, cache } = waiting();
	const { signal } = new AbortController();
	const lists = Array.from({ length: 20 }, () => cache.list({}, { signal }));
	expect(getEventListeners(signal, 'abort')).toHaveLength(1);
	while (asked.length === 0) await Promise.resolve();
	asked[0]?.resolve([]);
	await Promise.all(lists);
	expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});
