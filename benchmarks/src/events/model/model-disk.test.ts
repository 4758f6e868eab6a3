import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { GroupCommit } from './group-commit.ts';
import { ModelDisk } from './model-disk.ts';

describe('the disk of the model', () => {
	it('does one sync after the other: 54 writers that wait for one each share its rate', async () => {
		const clock = new FakeClock();
		const disk = new ModelDisk(2.85, clock);
		const startedMs = clock.now();
		let ended = 0;
		const writer = async (): Promise<void> => {
			for (let message = 0; message < 10; message++) {
				await disk.sync();
				ended++;
			}
		};
		const writers = Array.from({ length: 54 }, writer);
		while (ended < 540) await clock.advance((clock.nextDueMs ?? 0) - clock.now());
		await Promise.all(writers);
		expect(clock.now() - startedMs).toBeCloseTo(540 * 2.85, 3);
	});

	it('begins a sync when it is asked for, after a rest', async () => {
		const clock = new FakeClock();
		const disk = new ModelDisk(2, clock);
		await clock.advance(100);
		void disk.sync();
		expect(clock.nextDueMs).toBe(clock.now() + 2);
	});
});

describe('a group commit', () => {
	it('takes all that came during a sync with the next one, in order', async () => {
		const ends: (() => void)[] = [];
		const groups: number[][] = [];
		const commit = new GroupCommit<number>(
			() => new Promise((resolve) => ends.push(resolve)),
			(group) => groups.push([...group]),
		);
		for (const item of [1, 2, 3]) commit.add(item);
		ends.shift()?.();
		await Promise.resolve();
		expect(groups).toEqual([[1]]);
		await Promise.resolve();
		ends.shift()?.();
		await new Promise((resolve) => setImmediate(resolve));
		expect(groups).toEqual([[1], [2, 3]]);
		commit.add(4);
		ends.shift()?.();
		await new Promise((resolve) => setImmediate(resolve));
		expect(groups).toEqual([[1], [2, 3], [4]]);
	});
});
