import { describe, expect, it } from 'vitest';

import { failedInstances, retry } from './retry.ts';

const refused = (): Error => Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });

const barista = { service: 'barista' };

describe('retry', () => {
	it('what failed of one service is not passed over in another, whose instance has the same name', async () => {
		await retry(async () => {
			failedInstances(barista)?.add('1');
			expect(failedInstances({ service: 'orders' })).toEqual(new Set());
			expect(failedInstances({ service: 'barista', tags: ['v1'] })).toEqual(new Set(['1']));
		});
	});

	it('calls again until it succeeds, and says which instances failed', async () => {
		const seen: string[][] = [];
		const answer = await retry(async (attempt) => {
			const failed = failedInstances(barista);
			seen.push([...(failed ?? [])]);
			failed?.add(`node/${attempt}`);
			if (attempt < 2) throw refused();
			return attempt;
		});
		expect(answer).toBe(2);
		expect(seen).toEqual([[], ['node/0'], ['node/0', 'node/1']]);
		expect(failedInstances(barista)).toBeUndefined();
	});

	it('inside of another one knows what failed in that, and the other way round', async () => {
		const seen: string[][] = [];
		await retry(async (attempt) => {
			failedInstances(barista)?.add(`outer/${attempt}`);
			await retry(async () => {
				seen.push([...(failedInstances(barista) ?? [])]);
				failedInstances(barista)?.add(`inner/${attempt}`);
			});
			if (attempt === 0) throw refused();
		});
		expect(seen).toEqual([['outer/0'], ['outer/0', 'inner/0', 'outer/1']]);
	});

	it('gives up after its last try, with the last error', async () => {
		let calls = 0;
		const call = async (): Promise<never> => {
			throw Object.assign(refused(), { turn: ++calls });
		};
		await expect(retry(call)).rejects.toMatchObject({ turn: 3 });
		await expect(retry(call, { retriesMax: 0 })).rejects.toMatchObject({ turn: 4 });
	});

	it('does not try again what another instance would not mend, or what is wanted no more', async () => {
		let calls = 0;
		const call = async (): Promise<never> => {
			calls++;
			throw new Error('a defect');
		};
		await expect(retry(call)).rejects.toThrow('a defect');
		expect(calls).toBe(1);
		await expect(retry(call, { isRetryable: () => true })).rejects.toThrow('a defect');
		expect(calls).toBe(4);
		await expect(retry(call, { isRetryable: () => true, signal: AbortSignal.abort() })).rejects.toThrow('a defect');
		expect(calls).toBe(5);
	});

	it('calls that run beside each other do not share what failed', async () => {
		const run = (name: string) =>
			retry(async (attempt) => {
				failedInstances(barista)?.add(name);
				if (attempt === 0) throw refused();
				return [...(failedInstances(barista) ?? [])];
			});
		expect(await Promise.all([run('a'), run('b')])).toEqual([['a'], ['b']]);
	});

	it('wrong options are refused by name', async () => {
		await expect(retry(async () => 1, { retries: 9 } as object)).rejects.toThrow('did you mean "retriesMax"?');
		await expect(retry(async () => 1, { retriesMax: -1 })).rejects.toThrow(
			'retriesMax must be an integer from 0 to 100',
		);
	});
});
