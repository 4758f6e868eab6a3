import { SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { A, B, barista, chained } from '../../../test/chained-backends.ts';

describe('a chain of backends', () => {
	it('remembers lists of so many datacenters and no more', async () => {
		const { second, first, chain } = chained();
		for (let number = 0; number < 64; number++) await chain.list({ datacenter: `dc${number}` });
		await chain.list({ datacenter: 'dc0' });
		first.fail();
		second.fail();
		expect(await chain.list({ datacenter: 'dc0' })).toHaveLength(2);
		first.answer();
		second.answer();
		await chain.list({ datacenter: 'dc64' });
		first.fail();
		second.fail();
		await expect(chain.list({ datacenter: 'dc0' })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		expect(await chain.list({ datacenter: 'dc64' })).toHaveLength(2);
	});

	it('remembers who knew of so many questions: the one asked longest ago is forgotten first', () => {
		const { first, second, chain } = chained();
		const ask = (service: string): string[] => {
			const told: string[] = [];
			chain.watch(
				{ service },
				{ answered: ([one]) => told.push(one?.instance ?? '-'), failed: ({ message }) => told.push(`!${message}`) },
			);
			return told;
		};
		for (let number = 0; number <= 10_000; number++) {
			ask(`service-${number}`);
			first.answer(A);
			first.observers.clear();
			second.observers.clear();
		}
		const forgotten = ask('service-0');
		const known = ask('service-1');
		first.fail();
		second.answer(B);
		expect(forgotten).toEqual(['b']);
		expect(known).toEqual(['!consul is away']);
	});

	it('one that is stopped by what it tells, or told after it was stopped, tells nothing more', () => {
		const { first, second, chain } = chained();
		const told: string[] = [];
		const watch = chain.watch(barista, {
			answered: ([one]) => {
				told.push(one?.instance ?? '-');
				watch.stop();
			},
			failed: ({ message }) => told.push(message),
		});
		const [one] = first.observers;
		first.answer(A);
		one?.answered([B]);
		one?.failed(new SpockError('UNAVAILABLE', 'away'));
		watch.stop();
		expect(told).toEqual(['a']);
		expect([first.observers.size, second.observers.size]).toEqual([0, 0]);
	});
});
