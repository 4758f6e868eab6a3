import type { Random } from '@spock/protocol/internal';
import { FakeClock, settle } from '@spock/testkit';
import { failure, SimClaims, SimDisk, SimFiles } from '@spock/testkit/sim-files';
import { describe, expect, it } from 'vitest';

import { event, makeSimLog, openSimLog, readAll, type SimLog } from '../../test/open-sim-log.ts';
import { seededRandom } from '../../test/seeded-random.ts';

/** Histories that are compared. */
const SEEDS = 40;

/** The owner of a log, and a successor that is not open yet. */
async function pair(files: SimFiles, clock = new FakeClock()): Promise<{ owner: SimLog; successor: SimLog }> {
	const claims = new SimClaims();
	const owner = await openSimLog({ files, claims, clock, limits: { replayMs: 1e9 } });
	const successor = makeSimLog({ disk: files.disk, claims, clock, limits: { replayMs: 1e9 } });
	return { owner, successor };
}

async function append({ log }: SimLog, count: number): Promise<void> {
	for (let index = 0; index < count; index++) {
		log.append(event(`${log.next}`.padEnd(300)));
		if (index % 4 === 0) await settle();
	}
	await settle();
}

/** Writes, fails, trims; calls `between` at one moment of it. */
async function write(owner: SimLog, files: SimFiles, random: Random, between: () => void): Promise<void> {
	const moment = Math.floor(random() * 30);
	for (let step = 0; step < 30; step++) {
		if (step === moment) between();
		files.before = (operation) => {
			const fails = random() < 0.05 && (operation === 'sync' || operation === 'write');
			return fails ? Promise.reject(failure(random() < 0.5 ? 'EIO' : 'ENOSPC')) : undefined;
		};
		const count = Math.floor(random() * 8);
		for (let index = 0; index < count; index++) owner.log.append(event(`${owner.log.next}`.padEnd(300)));
		if (random() < 0.5) await settle();
		if (random() < 0.2) await owner.clock.advance(6000);
		if (random() < 0.03) owner.log.trim(Math.floor(random() * owner.log.persisted));
	}
	files.before = () => undefined;
	await owner.clock.advance(10_000);
}

describe('a log that is read ahead', () => {
	it('is read on from there once it is handed over', async () => {
		const { owner, successor } = await pair(new SimFiles(new SimDisk()));
		await append(owner, 60);
		await successor.log.readAhead();
		await append(owner, 5);
		await owner.log.handOver();
		const read: string[] = [];
		const { files } = successor;
		const open = files.open.bind(files);
		files.open = (path) => {
			read.push(path);
			return open(path);
		};
		await successor.log.open(false);
		// Only what is new, and the file that was added to.
		expect(new Set(read).size).toBeLessThan(successor.log.segments.length - 1);
		const [restored = ''] = successor.restored;
		const from = Number(restored.slice('below '.length));
		expect(successor.replayed.map(({ position }) => position)).toEqual(
			Array.from({ length: 66 - from }, (_, index) => from + index),
		);
		expect(await readAll(successor.log)).toHaveLength(65);
	});

	it('is read again where its owner has taken back what was read', async () => {
		const files = new SimFiles(new SimDisk());
		const { owner, successor } = await pair(files);
		await append(owner, 5);
		let isFailing = true;
		files.before = (operation) => (isFailing && operation === 'sync' ? Promise.reject(failure('EIO')) : undefined);
		const ahead = new Promise<void>((resolve, reject) => {
			files.after = (operation) => {
				if (operation === 'write') successor.log.readAhead().then(resolve, reject);
				files.after = () => undefined;
			};
		});
		await append(owner, 1);
		await ahead;
		isFailing = false;
		await owner.clock.advance(10_000);
		await owner.log.handOver();
		await expect(successor.log.open(false)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		const again = await openSimLog({ disk: files.disk, claims: successor.claims });
		expect(await readAll(again.log)).toHaveLength(6);
	});

	it('is the same as one that is not, whatever happens between', async () => {
		const compared = { handedOver: 0, hung: 0 };
		for (let seed = 0; seed < SEEDS; seed++) {
			const outcome = await compare(seed);
			if (outcome !== 'refused') compared[outcome]++;
		}
		// A log may refuse what was read ahead, but not so often that nothing would be compared.
		expect(compared.handedOver).toBeGreaterThan(SEEDS / 4);
		expect(compared.hung).toBeGreaterThan(SEEDS / 20);
	});
});

/**
 * A log that was read ahead at one moment, beside one that was not. Of an owner that has handed it over, or one that hangs; `refused`: it cannot
 * be opened by what was read ahead.
 */
async function compare(seed: number): Promise<'refused' | 'handedOver' | 'hung'> {
	const random = seededRandom(seed);
	const files = new SimFiles(new SimDisk(), random);
	const { owner, successor } = await pair(files);
	await append(owner, Math.floor(random() * 60));
	let ahead: Promise<unknown> = Promise.resolve();
	await write(owner, files, random, () => {
		ahead = successor.log.readAhead().catch((error: unknown) => error);
	});
	if ((await ahead) !== undefined) return 'refused';
	const isHung = random() < 0.3;
	if (!isHung) await owner.log.handOver();
	const plain = await openSimLog({ disk: files.disk.clone(), limits: { replayMs: 1e9 } });
	try {
		await successor.log.open(isHung);
	} catch (error) {
		expect(error, `seed ${seed}`).toMatchObject({ code: 'UNAVAILABLE' });
		return 'refused';
	}
	const { first, next, persisted, damaged } = plain.log;
	expect(successor.log, `seed ${seed}`).toMatchObject({ first, next, persisted, damaged });
	expect(await readAll(successor.log), `seed ${seed}`).toEqual(await readAll(plain.log));
	const known = new Set(successor.replayed.map(({ position }) => position));
	const missing = plain.replayed.filter(({ position }) => !known.has(position));
	expect(missing, `seed ${seed}`).toEqual([]);
	return isHung ? 'hung' : 'handedOver';
}
