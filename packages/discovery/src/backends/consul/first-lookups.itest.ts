import { FakeClock, startFakeConsul, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { BackendSource } from '../../backend-source.ts';
import { consulBackend } from './consul-backend.ts';

it.each([
	[5000, 'which are polled', 150],
	[1000, 'with room for all', 4000],
])(
	'a client that asks for %i made-up names, %s, does not delay the first lookup of another',
	async (flooding, _how, heldMax) => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ hasOwnIndexes: true });
		fake.set('barista', [{ id: 'a' }]);
		const source = new BackendSource({ backend: consulBackend({ addresses: [fake.url], clock, heldMax }), clock });
		const flood: Promise<unknown>[] = [];
		for (let number = 0; number < flooding; number++) {
			const asked = source.get({ service: `made-up-${number}` }, { asker: 1, timeoutMs: 4000 });
			flood.push(asked.catch(() => undefined));
		}
		// Whatever may be asked at once has been asked; the rest waits for its turn.
		await waitFor('the first queries', () => fake.requests.length >= 400);
		const askedAtMs = clock.now();
		let answered: number | undefined;
		void source.get({ service: 'barista' }, { asker: 2, timeoutMs: 60_000 }).then(({ instances }) => {
			answered = instances.length;
		});
		await waitFor('the first lookup', async () => {
			await clock.advance(50);
			return answered !== undefined;
		});
		expect(answered).toBe(1);
		expect(clock.now() - askedAtMs).toBeLessThanOrEqual(3000);
		// No caller waits for the others any more: they are not asked for, and forgotten.
		await waitFor('the end of the flood', async () => {
			await clock.advance(1000);
			return source.watches().length <= 1;
		});
		await Promise.all(flood);
		// Each that is held is two.
		expect(fake.requests.length).toBeLessThan(2 * Math.min(heldMax, flooding) + flooding / 4);
		await source.close();
	},
);

it('a query that hangs is sent again for those who wait when Consul answers in time again', async () => {
	const clock = new FakeClock();
	await using fake = await startFakeConsul();
	fake.set('barista', [{ id: 'a' }]);
	const source = new BackendSource({
		backend: consulBackend({ addresses: [fake.url], clock, random: () => 0 }),
		clock,
	});
	const failed = new Promise((resolve) =>
		source.watch({ service: 'roaster' }, { next: () => undefined, error: resolve }),
	);
	fake.hold(true);
	let isLate = false;
	void failed.then(() => {
		isLate = true;
	});
	await waitFor('the late address', async () => {
		await clock.advance(250);
		return isLate;
	});
	const askedAtMs = clock.now();
	let outcome: unknown;
	source.get({ service: 'barista' }, { timeoutMs: 5000 }).then(
		({ instances }) => {
			outcome = instances.length;
		},
		(error: unknown) => {
			outcome = error;
		},
	);
	await clock.advance(600);
	// What hangs there hangs on.
	fake.forget();
	await waitFor('the outcome', async () => {
		if (outcome === undefined) await clock.advance(50);
		return outcome !== undefined;
	});
	expect(outcome).toBe(1);
	expect(clock.now() - askedAtMs).toBeLessThan(5000);
	await source.close();
});

it('an edit of another service asks again for what is read, and ends what nobody reads', async () => {
	const clock = new FakeClock();
	await using fake = await startFakeConsul({ hasOwnIndexes: true });
	for (const name of ['held', 'read', 'unread']) fake.set(name, [{ id: name, checks: [] }]);
	const source = new BackendSource({
		backend: consulBackend({ addresses: [fake.url], heldMax: 1, clock }),
		clock,
		idleTtlMs: 600_000,
	});
	const observer = { next: () => undefined };
	source.watch({ service: 'held' }, observer);
	source.watch({ service: 'read' }, observer);
	await source.get({ service: 'unread' });
	await waitFor('what is held', () => fake.blocked === 4);
	await clock.advance(20_000);
	await waitFor('what is held', () => fake.blocked === 4);
	const before = fake.requests.length;
	fake.set('foreign', []);
	const asked = (): string[] => fake.requests.slice(before).map(({ path }) => path);
	await waitFor('the look', async () => {
		await clock.advance(100);
		return asked().includes('/v1/health/service/read');
	});
	expect(source.watches().map(({ service }) => service)).toEqual(['held', 'read']);
	expect(asked()).not.toContain('/v1/health/service/unread');
	await source.close();
});
