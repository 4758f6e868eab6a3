import { type ServiceInstance, SpockError } from '@spock/protocol';
import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { A, B, instance } from '../../../test/fake-backend-source.ts';
import { type DnsRound, DnsWatch } from './dns-watch.ts';

function watching(random: () => number): {
	clock: FakeClock;
	watch: DnsWatch;
	told: (readonly ServiceInstance[] | string)[];
	/** Of each answer. */
	ages: (number | undefined)[];
	/** Settles the round that runs. */
	answer: (round: DnsRound | SpockError) => Promise<void>;
	rounds: () => number;
} {
	const clock = new FakeClock();
	const told: (readonly ServiceInstance[] | string)[] = [];
	const ages: (number | undefined)[] = [];
	let rounds = 0;
	let settleRound: (round: DnsRound | SpockError) => void = () => undefined;
	const watch = new DnsWatch({
		resolve: () => {
			rounds++;
			return new Promise((resolve, reject) => {
				settleRound = (round) => (round instanceof SpockError ? reject(round) : resolve(round));
			});
		},
		observer: {
			answered: (instances, meta) => {
				told.push(instances);
				ages.push(meta?.ageMs);
			},
			failed: (error) => told.push(error.message),
		},
		clock,
		random,
	});
	const answer = async (round: DnsRound | SpockError): Promise<void> => {
		settleRound(round);
		await settle();
	};
	watch.start();
	return { clock, watch, told, ages, answer, rounds: () => rounds };
}

const away = new SpockError('UNAVAILABLE', 'away');

describe('a watch of a DNS name', () => {
	it('asks again when the answer has ended, and up to a tenth later', async () => {
		for (const [random, dueMs] of [
			[0, 5000],
			[0.99, 5495],
		] as const) {
			const { clock, answer, rounds } = watching(() => random);
			await answer({ instances: A, againMs: 5000 });
			await clock.advance(dueMs - 1);
			expect(rounds()).toBe(1);
			await clock.advance(1);
			expect(rounds()).toBe(2);
		}
	});

	it('an answer is as old as the query for it', async () => {
		const { clock, answer, ages } = watching(() => 0);
		await clock.advance(1500);
		await answer({ instances: A, againMs: 1000 });
		await clock.advance(1000);
		await answer({ instances: A, againMs: 1000 });
		expect(ages).toEqual([1500, 0]);
	});

	it('tells the very same list while nothing has changed', async () => {
		const { clock, answer, told } = watching(() => 0);
		for (const instances of [A, [instance('a')], B]) {
			await answer({ instances, againMs: 1000 });
			await clock.advance(1000);
		}
		expect(told).toHaveLength(3);
		expect(told[1]).toBe(told[0]);
		expect(told[2]).toEqual(B);
	});

	it('asks ever later while nobody answers, up to half a minute, and from the start again after an answer', async () => {
		const { clock, answer, rounds, told } = watching(() => 1);
		const delays: number[] = [];
		for (let failure = 0; failure < 9; failure++) {
			await answer(away);
			delays.push((clock.nextDueMs ?? 0) - clock.now());
			await clock.advance(delays.at(-1) ?? 0);
		}
		expect(delays).toEqual([250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
		expect([rounds(), told.length]).toEqual([10, 9]);
		await answer({ instances: A, againMs: 1000 });
		await clock.advance(1100);
		await answer(away);
		expect((clock.nextDueMs ?? 0) - clock.now()).toBe(250);
	});

	it('a question that cannot be asked is not asked again', async () => {
		const { clock, answer, told } = watching(() => 0);
		await answer(new SpockError('BAD_REQUEST', 'no place for tags'));
		expect([told, clock.pendingTimers]).toEqual([['no place for tags'], 0]);
	});

	it('tells nothing and leaves nothing after it was stopped, whatever was under way', async () => {
		for (const last of [{ instances: A, againMs: 1000 }, away]) {
			const { clock, watch, answer, told } = watching(() => 0);
			watch.stop();
			watch.stop();
			await answer(last);
			expect([told, clock.pendingTimers]).toEqual([[], 0]);
		}
		const { clock, watch, answer } = watching(() => 0);
		await answer({ instances: A, againMs: 1000 });
		watch.stop();
		expect(clock.pendingTimers).toBe(0);
	});
});
