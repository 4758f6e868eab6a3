import { describe, expect, it } from 'vitest';

import { A, createSource, instance, query, recorder, refused } from '../../test/fake-backend-source.ts';

const CLIENT = { asker: 1 };
const OTHER = { asker: 2 };

/** A source of few entries, whose registry knows every service whose name does not begin with `no`. */
function createSmall(entriesMax = 32) {
	const created = createSource({ entriesMax, entriesPerClientMax: entriesMax / 2 });
	const { source, watching } = created;
	const answer = (): void => {
		const { query, observer } = watching.at(-1) as (typeof watching)[number];
		observer.answered(query.service.startsWith('no') ? [] : [instance(query.service)]);
	};
	return {
		...created,
		/** Asks once for a service, and goes. */
		ask: async (service: string, by: { readonly asker: number }): Promise<unknown> => {
			const read = source.get({ service }, by);
			answer();
			return (await read).instances.length;
		},
		known: () => source.watches().map(({ service }) => service),
	};
}

describe('one client that asks for many names', () => {
	it('takes the place of none but its own', async () => {
		const { ask, known } = createSmall();
		for (let number = 0; number < 8; number++) await ask(`other-${number}`, OTHER);
		for (let number = 0; number < 1000; number++) await ask(`no-${number}`, CLIENT);
		expect(known().filter((name) => name.startsWith('other'))).toHaveLength(8);
		expect(known().length).toBeLessThanOrEqual(8 + 16);
		expect(await ask('first-lookup', OTHER)).toBe(1);
	});

	it('and goes on to read them is refused at its share; the others are not', async () => {
		const { source } = createSmall();
		for (let number = 0; number < 16; number++) source.watch({ service: `one-${number}` }, recorder(), CLIENT);
		expect(() => source.watch({ service: 'one-more' }, recorder(), CLIENT)).toThrow(
			expect.objectContaining({ code: 'OVERLOADED', details: { entriesPerClientMax: 16 } }),
		);
		source.watch({ service: 'one-more' }, recorder(), OTHER);
		// What others ask for too is of nobody's share.
		source.watch({ service: 'one-0' }, recorder(), OTHER);
		source.watch({ service: 'one-16' }, recorder(), CLIENT);
	});

	it('loses what is not in the registry before what is, and what it used last at last', async () => {
		const { ask, known, clock, source } = createSmall();
		for (let number = 0; number < 8; number++) {
			await ask(`known-${number}`, CLIENT);
			await ask(`no-${number}`, CLIENT);
			await clock.advance(1);
		}
		source.peek({ service: 'known-0' });
		await ask('no-8', CLIENT);
		expect(known()).not.toContain('no-0');
		for (let number = 9; number < 16 + 8; number++) await ask(`known-${number}`, CLIENT);
		expect(known()).toContain('known-0');
		expect(known()).not.toContain('known-1');
	});
});

describe('answers that take much memory', () => {
	const of = (kilobytes: number) => [{ ...instance('big'), meta: { text: 'x'.repeat(kilobytes * 500) } }];

	it('leave no room for further queries of the client that alone asks for them, but for those of others', async () => {
		const { source, last } = createSource({ answersBytesMax: 1_000_000 });
		const read = async (service: string, by: { readonly asker: number }, kilobytes = 1): Promise<unknown> => {
			const reading = source.get({ service }, by);
			last().answered(of(kilobytes));
			return (await reading).instances.length;
		};
		for (const name of ['a', 'b']) {
			source.watch({ service: name }, recorder(), CLIENT);
			last().answered(of(250));
		}
		await expect(async () => source.get({ service: 'c' }, CLIENT)).rejects.toMatchObject({
			code: 'OVERLOADED',
			message: 'the services that this client watches take about 1 MB, which is more than its share',
			details: { bytesMax: 1_000_000 },
		});
		expect(await read('c', OTHER)).toBe(1);
		// What two clients ask for counts for neither, so the first one has room again.
		expect(await read('b', OTHER)).toBe(1);
		expect(await read('d', CLIENT)).toBe(1);
		source.watch({ service: 'e' }, recorder(), OTHER);
		last().answered(of(600));
		await expect(async () => source.get({ service: 'f' }, { asker: 3 })).rejects.toMatchObject({
			message: expect.stringMatching(/^the services that are watched take about \d MB, and there is room for 1$/),
		});
	});

	it('make room where nobody reads them, and a smaller answer counts with its new size', async () => {
		const { source, last, watching } = createSource({ answersBytesMax: 1_000_000 });
		for (const service of ['a', 'b', 'c', 'd', 'e', 'f']) {
			const reading = source.get({ service }, { asker: service });
			last().answered(of(400));
			await reading;
		}
		expect(source.watches().length).toBeLessThan(4);
		source.watch({ service: 'g' }, recorder(), CLIENT);
		last().answered(of(700));
		expect(() => source.watch({ service: 'h' }, recorder(), CLIENT)).toThrow(/more than its share/);
		watching.find(({ query: { service } }) => service === 'g')?.observer.answered(of(1));
		source.watch({ service: 'h' }, recorder(), CLIENT);
	});
});

it('entries without readers make room at once, those that cannot be had again at last', async () => {
	const { source, watching, ask, known } = createSmall(4);
	for (const service of ['one', 'two', 'three']) await ask(service, { asker: Math.random() });
	watching[0]?.observer.failed(refused);
	await ask('four', OTHER);
	for (const service of ['five', 'six', 'seven', 'eight']) await ask(service, { asker: Math.random() });
	expect(known()).toContain('one');
	expect(known()).toHaveLength(4);
	await source.close();
});

it('a name that is not in the registry is forgotten soon after it was asked for', async () => {
	const { ask, known, clock, watching } = createSmall();
	await ask('no-such', CLIENT);
	await ask('known', CLIENT);
	await clock.advance(10_000);
	expect(known()).toEqual(['known']);
	expect(watching[0]?.stopped).toBe(true);
});

it('a name that was never answered is forgotten as soon, once nobody waits for it any more', async () => {
	const { source, clock, watching } = createSource();
	const asked = source.get(query, { timeoutMs: 4000 }).catch(() => undefined);
	await clock.advance(4000);
	await asked;
	await clock.advance(10_000);
	expect(source.watches()).toEqual([]);
	expect(watching[0]?.stopped).toBe(true);
});

it('what is read counts as used all the time: no other question is preferred to it', async () => {
	const { source, clock, watching, last } = createSource();
	source.watch(query, recorder());
	last().answered(A);
	const asked = source.get({ service: 'once' });
	last().answered(A);
	await asked;
	await clock.advance(20_000);
	expect(watching.map(({ uses }) => uses > 0)).toEqual([true, false]);
});

it('a backend that asks within the start of a watch whether it is read is not told to end it', async () => {
	const told: unknown[] = [];
	const { source } = createSource(
		{},
		{
			watch: (_query, observer) => {
				told.push(observer.endIfUnread?.());
				observer.answered(A);
				return { stop: () => undefined };
			},
		},
	);
	expect((await source.get(query)).instances).toEqual(A);
	expect(told).toEqual([false]);
});

describe('a registry that would have to be asked again', () => {
	it('need not be for what nobody reads: that is forgotten', async () => {
		const { ask, known, watching, clock, source } = createSmall();
		await ask('no-such', CLIENT);
		await ask('asked-long-ago', CLIENT);
		await clock.advance(10_000);
		await ask('asked-just-now', CLIENT);
		source.watch({ service: 'watched' }, recorder());
		const ended = watching.filter(({ stopped }) => !stopped).map(({ observer }) => observer.endIfUnread?.());
		expect(ended).toEqual([true, false, false]);
		expect(known()).toEqual(['asked-just-now', 'watched']);
		expect(watching.filter(({ stopped }) => stopped).map(({ query }) => query.service)).toEqual([
			'no-such',
			'asked-long-ago',
		]);
	});

	it('is for what somebody waits for, and for what was read in this tick', () => {
		const { source, last } = createSource();
		void source.get({ service: 'waits' }, CLIENT).catch(() => undefined);
		expect(last().endIfUnread?.()).toBe(false);
		last().answered(A);
		source.peek({ service: 'waits' });
		expect(last().endIfUnread?.()).toBe(false);
	});
});

describe('a backend that cannot start a watch', () => {
	it('fails the question, and is asked again by the next one: nothing of it stays', async () => {
		let isBroken = true;
		const created = createSource();
		const { watch } = created.backend;
		const { source } = createSource(
			{},
			{
				watch: (query, observer) => {
					if (isBroken) throw new TypeError('a bug of a third party');
					return watch(query, observer);
				},
			},
		);
		await expect(source.get({ service: 'barista' }, CLIENT)).rejects.toMatchObject({ code: 'INTERNAL' });
		expect(() => source.watch({ service: 'barista' }, recorder(), CLIENT)).toThrow(
			expect.objectContaining({ code: 'INTERNAL', cause: new TypeError('a bug of a third party') }),
		);
		expect(source.watches()).toEqual([]);
		isBroken = false;
		const read = source.get({ service: 'barista' }, CLIENT);
		created.last().answered(A);
		expect((await read).instances).toEqual(A);
		await source.close();
		expect(created.clock.pendingTimers).toBe(0);
	});
});
