import type { Random } from '@spock/protocol/internal';
import { FakeClock, settle } from '@spock/testkit';
import { failure, SimClaims, SimDisk, SimFiles } from '@spock/testkit/sim-files';
import { EventLog, type Files, inspectLog } from '../src/index.ts';
import { DIRECTORY, event, openSimLog, type SimLogOptions, SMALL_LIMITS } from './open-sim-log.ts';
import { seededRandom } from './seeded-random.ts';

export interface LosePowerOptions {
	readonly seed: number;
	/** Losses of power that are tried after each change of the disk. */
	readonly imagesPerOperation: number;
	/** A bug, put between the log and its disk. */
	readonly plant?: (files: SimFiles) => Files;
	/** A bug in the log. */
	readonly bug?: SimLogOptions;
}

export interface LosePowerResult {
	readonly images: number;
	/** Records that were found again, over all images. */
	readonly recovered: number;
}

/** What a disk must hold: all that was told, and nothing that was not appended. */
interface Image {
	readonly disk: SimDisk;
	/** Everything below was told to be on disk. */
	readonly told: number;
	/** What was appended, by position. */
	readonly texts: readonly string[];
	readonly appended: number;
	/** Everything below may have been deleted. */
	readonly trimmed: number;
}

const LIVES = 3;
const STEPS = 14;

/**
 * Runs a log through several lives, with disks that fail and fill; after each change of the disk the power goes, several times over,
 * and each disk that may be left is recovered and compared with what the log had told.
 */
export async function losePowerOften(options: LosePowerOptions): Promise<LosePowerResult> {
	const { bug } = options;
	const random = seededRandom(options.seed);
	let disk = new SimDisk();
	let texts: string[] = [''];
	let told = 1;
	let trimmed = 1;
	let images = 0;
	let recovered = 0;
	for (let life = 0; life < LIVES; life++) {
		const waiting: Image[] = [];
		// Half of them as on Linux, half as elsewhere.
		const files = new SimFiles(disk, random, { writesThrough: options.seed % 2 === 0 });
		// Each life knows its own: what is taken later has no part in an image of now.
		const known = texts;
		files.after = () => {
			for (let count = 0; count < options.imagesPerOperation; count++) {
				waiting.push({ disk: disk.losePower(random), told, texts: known, appended: known.length, trimmed });
			}
		};
		// A disk that fails while it is read refuses the start, which is another matter.
		files.before = (operation) => {
			const fails = log.state !== 'recovering' && random() < 0.04 && (operation === 'sync' || operation === 'write');
			return fails ? Promise.reject(failure(random() < 0.5 ? 'EIO' : 'ENOSPC')) : undefined;
		};
		const clock = new FakeClock();
		const log: EventLog = new EventLog({
			...simOptions(options, files, clock, random, () => log.next),
			listener: { ...QUIET, committed: (persisted) => (told = persisted) },
		});
		await log.open(false);
		// What was found counts from now on as what was told.
		told = log.persisted;
		for (let step = 0; step < STEPS; step++) {
			const count = 1 + Math.floor(random() * 6);
			for (let index = 0; index < count; index++) {
				const text = `${life}.${step}.${index} `.padEnd(10 + Math.floor(random() ** 3 * 3000), 'abcdefgh');
				const position = log.append(event(text));
				if (position !== known.length) throw new Error(`position ${position}, not ${known.length}`);
				known.push(text);
			}
			if (random() < 0.7) await settle();
			if (random() < 0.3) await clock.advance(6000);
			if (random() < 0.1) {
				trimmed = Math.max(trimmed, Math.floor(random() * told));
				log.trim(trimmed);
			}
			for (const image of waiting.splice(0)) {
				recovered += await check(image, clock, bug).then(({ records }) => records);
				images++;
			}
		}
		files.before = () => undefined;
		await clock.advance(10_000);
		// Killed, switched off, or ended in order; a process that is gone changes nothing any more.
		if (random() < 0.3) await log.close(1000);
		disk = random() < 0.5 ? disk.losePower(random) : disk.clone();
		files.before = () => new Promise(() => undefined);
		const last = { told, texts: known, appended: known.length, trimmed };
		const { next } = await check({ ...last, disk: disk.clone() }, clock, bug);
		texts = known.slice(0, next);
	}
	return { images, recovered };
}

function simOptions(
	{ plant, bug }: LosePowerOptions,
	files: SimFiles,
	clock: FakeClock,
	random: Random,
	nextOf: () => number,
) {
	return {
		directory: DIRECTORY,
		files: plant?.(files) ?? files,
		owner: new SimClaims().owner(),
		clock,
		random,
		memory: { checkpoint: () => `below ${nextOf()}`, restore: () => undefined, replay: () => undefined },
		limits: { ...SMALL_LIMITS, replayMs: 1 },
		...bug,
	};
}

const QUIET = {
	stateChanged: () => undefined,
	windows: () => undefined,
	damaged: () => undefined,
	failed: () => undefined,
	left: () => undefined,
};

/** Throws for a disk that breaks a promise. */
async function check(
	image: Image,
	clock: FakeClock,
	bug: LosePowerOptions['bug'],
): Promise<{ readonly records: number; readonly next: number }> {
	const { disk, told, texts, appended, trimmed } = image;
	// Also what a start believes without reading it.
	const whole = await inspectLog(DIRECTORY, new SimFiles(disk));
	if (bug === undefined && whole.damage.length > 0) {
		throw new Error(`unread damage where only the power was lost: ${JSON.stringify(whole.damage)}`);
	}
	const { log, damage, restored, replayed } = await openSimLog({ disk, clock, limits: { replayMs: 1 }, ...bug });
	if (damage.length > 0) throw new Error(`damage where only the power was lost: ${JSON.stringify(damage)}`);
	if (log.persisted < told)
		throw new Error(`everything below ${told} was told to be on disk, found below ${log.persisted}`);
	if (log.persisted > appended) throw new Error(`${log.persisted - appended} records that were never appended`);
	if (log.first > trimmed) throw new Error(`begins at ${log.first}, deleted below ${trimmed}`);
	let position = log.first;
	for (let from = log.first; from < log.persisted; ) {
		const { events, next } = await log.read(from, { bytesMax: 65_536, eventsMax: 1000 });
		for (const found of events) {
			if (found.position !== position) throw new Error(`position ${found.position}, not ${position}`);
			if (found.text !== texts[position]) throw new Error(`another record at ${position}: ${found.text.slice(0, 20)}`);
			position++;
		}
		if (next <= from) throw new Error(`a read from ${from} does not advance`);
		from = next;
	}
	if (position !== log.persisted) throw new Error(`read up to ${position}, not ${log.persisted}`);
	let remembered = Number(restored[0]?.slice('below '.length) ?? log.first);
	for (const record of replayed) if (record.position === remembered) remembered++;
	if (remembered !== log.persisted) throw new Error(`remembers up to ${remembered}, not ${log.persisted}`);
	return { records: log.persisted - log.first, next: log.next };
}
