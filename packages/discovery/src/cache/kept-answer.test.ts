import type { ServiceInstance } from '@spock/protocol';
import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { A, createSource, query, refused } from '../../test/fake-backend-source.ts';
import type { KeptValue } from '../state/state-body.ts';
import type { StateStore } from '../state/state-store.ts';
import { AnswerCache } from './answer-cache.ts';
import { KeptAnswer } from './kept-answer.ts';
import { ServiceKind } from './service-kind.ts';

type Kept = KeptValue<typeof A>;

const KEPT: Kept = { value: A, verifiedAt: 1 };

/** What was kept, read from a disk that the test plays. */
function reading() {
	const clock = new FakeClock();
	const told: string[] = [];
	const kept = new KeptAnswer<Kept['value']>(clock, () => told.push('due'));
	let loaded: (found: Kept | undefined) => void = () => undefined;
	kept.load(
		new Promise((resolve) => {
			loaded = resolve;
		}),
	);
	return {
		clock,
		kept,
		told,
		loaded: async (found: Kept | undefined) => {
			loaded(found);
			await settle();
		},
	};
}

describe('what an earlier process kept', () => {
	it('is due half a second after it was read', async () => {
		const { clock, kept, told, loaded } = reading();
		await loaded(KEPT);
		await clock.advance(499);
		expect(told).toEqual([]);
		await clock.advance(1);
		expect(told).toEqual(['due']);
		expect(kept.take()).toBe(KEPT);
		expect(kept.take()).toBeUndefined();
		expect(clock.pendingTimers).toBe(0);
	});

	it('holds back the news of a failure while it is read', async () => {
		const { kept, told, loaded } = reading();
		expect(kept.defer(() => told.push('later'))).toBe(true);
		await loaded(KEPT);
		expect(told).toEqual(['later']);
		expect(kept.defer(() => told.push('never'))).toBe(false);
		expect(kept.take()).toBe(KEPT);
	});

	it('holds it back for three seconds and a half at most; read later, it is due at once', async () => {
		const { clock, kept, told, loaded } = reading();
		kept.defer(() => told.push('later'));
		await clock.advance(3499);
		expect(told).toEqual([]);
		await clock.advance(1);
		expect(told).toEqual(['later']);
		expect(kept.take()).toBeUndefined();
		await loaded(KEPT);
		expect(told).toEqual(['later', 'due']);
		expect(kept.take()).toBe(KEPT);
	});

	it('is never due once it was dropped, or where there is nothing', async () => {
		const dropped = reading();
		dropped.kept.drop();
		await dropped.loaded(KEPT);
		const nothing = reading();
		await nothing.loaded(undefined);
		for (const { clock, kept, told } of [dropped, nothing]) {
			await clock.advance(5000);
			expect(told).toEqual([]);
			expect(kept.value).toBeUndefined();
			expect(clock.pendingTimers).toBe(0);
		}
	});

	it('lets what waits for it go once it was dropped, and holds back nothing after that', async () => {
		const { kept, told, loaded } = reading();
		kept.defer(() => told.push('outdated'));
		kept.drop();
		expect(kept.defer(() => told.push('never'))).toBe(false);
		await loaded(KEPT);
		expect(told).toEqual([]);
	});
});

/** A question that is watched while the file of an earlier process is still being read. */
function watchedWhileReading() {
	const { backend, clock, last } = createSource();
	let loaded: () => void = () => undefined;
	const load = new Promise<undefined>((resolve) => {
		loaded = () => resolve(undefined);
	});
	const state = { load: () => load, keep: () => undefined } as unknown as StateStore;
	const onEvent = (): void => undefined;
	const cache = new AnswerCache({
		kind: new ServiceKind({ backend, panicThreshold: 0, state, onEvent }),
		clock,
		onEvent,
		emptyHoldMs: 0,
		staleMaxMs: Number.POSITIVE_INFINITY,
		idleTtlMs: 60_000,
		firstAnswerMs: 4000,
		entriesMax: 10,
		bytesMax: 2 ** 30,
		bytesPerClientMax: 2 ** 30,
		entriesPerClientMax: 10,
	});
	const seen: (readonly ServiceInstance[])[] = [];
	cache.watch(query, { next: ({ instances }) => seen.push(instances) });
	return { cache, clock, last, seen, loaded };
}

describe('while the file of an earlier process is read', () => {
	it('an empty answer or a failure that waits for it is void once the registry has answered with instances', async () => {
		const { cache, last, seen, loaded } = watchedWhileReading();
		last().answered([]);
		last().failed(refused);
		last().answered(A);
		loaded();
		await settle();
		expect(seen).toEqual([A]);
		expect(cache.peek(query)).toMatchObject({ instances: A, source: 'live' });
		cache.close();
	});

	it('a failure after an answer is heard at once', () => {
		const { cache, last } = watchedWhileReading();
		last().answered(A);
		last().failed(refused);
		expect(cache.peek(query)).toMatchObject({ instances: A, source: 'last-known-good' });
		cache.close();
	});

	it('an empty answer is as old as it was when it came', async () => {
		const { cache, clock, last, loaded } = watchedWhileReading();
		last().answered([]);
		await clock.advance(3000);
		loaded();
		await settle();
		expect(cache.watches((_query, { value }) => value)).toEqual([[]]);
		last().failed(refused);
		expect(cache.peek(query)).toMatchObject({ instances: [], ageMs: 3000 });
		cache.close();
	});
});
