import { type ServiceListEntry, SpockError } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import type { Backend } from './backend.ts';
import { ListCache } from './list-cache.ts';
import type { StateStore } from './state/state-store.ts';

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
	const ask = (said: readonly ServiceListEntry[] | SpockError, datacenter?: string) => {
		answer = said;
		return cache.list(datacenter === undefined ? {} : { datacenter }, {});
	};
	return { clock, kept, ask };
}

const barista = (...tags: string[]): ServiceListEntry => ({ name: 'barista', tags });

describe('the list of services', () => {
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
		expect(await ask(down)).toMatchObject({ services: [barista('a')], source: 'last-known-good', ageMs: 700 });
		await expect(ask(new SpockError('ACL_DENIED', 'no'))).rejects.toMatchObject({ code: 'ACL_DENIED' });
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
