import { settle } from '@spock/testkit';
import { SimClaims, SimDisk, SimFiles, type SimOwner } from '@spock/testkit/sim-files';
import { describe, expect, it } from 'vitest';
import { event, makeSimLog, openSimLog, readAll, type SimLog } from '../../test/open-sim-log.ts';
import type { LogOwner } from '../foundation/files.ts';

interface Bugs {
	/** Of the one that is replaced. */
	readonly before?: (owner: SimOwner) => LogOwner;
	/** Of its successor. */
	readonly after?: (owner: SimOwner) => LogOwner;
}

interface Outcome {
	/** Texts that one of the owners told to be on disk. */
	readonly told: readonly string[];
	/** Texts that a third one finds. */
	readonly found: readonly string[];
	readonly predecessor: SimLog;
}

/** The owner hangs, another process takes the log, and then the first one goes on: at each moment it also appends. */
async function takeOver({ before = (owner) => owner, after = (owner) => owner }: Bugs = {}): Promise<Outcome> {
	const disk = new SimDisk();
	const claims = new SimClaims();
	const told: string[] = [];
	const texts: string[] = [];
	const open = async (owner: LogOwner, files: SimFiles, isForced: boolean): Promise<SimLog> => {
		const opened: SimLog = await openSimLog({ claims, owner, files, limits: { replayMs: 1 } }, isForced);
		return opened;
	};
	const tell = async ({ log }: SimLog, text: string): Promise<void> => {
		const position = log.append(event(text));
		texts.push(text);
		await settle();
		if (log.persisted > position) told.push(text);
	};
	const predecessor = await open(before(claims.owner()), new SimFiles(disk), false);
	await tell(predecessor, 'first');
	const files = new SimFiles(disk);
	let isRead = false;
	files.before = (operation) => {
		if (operation !== 'syncDirectory' || isRead) return undefined;
		isRead = true;
		// The successor has read all there is.
		return tell(predecessor, 'while it is read').catch(() => undefined);
	};
	const successor = await open(after(claims.owner()), files, true);
	await tell(successor, 'of the successor');
	await tell(predecessor, 'after the take-over').catch(() => undefined);
	await tell(successor, 'last');
	claims.die();
	const third = await open(claims.owner(), new SimFiles(disk), false);
	return { told, found: await readAll(third.log), predecessor };
}

describe('an owner that was replaced while it hung', () => {
	it('acknowledges nothing any more, and nothing of it supersedes what its successor wrote', async () => {
		const { told, found, predecessor } = await takeOver();
		expect(told).toEqual(['first', 'of the successor', 'last']);
		expect(found).toEqual(['first', 'of the successor', 'last']);
		expect([predecessor.log.state, predecessor.log.reason]).toEqual([
			'released',
			'another process has claimed the log',
		]);
	});

	it('loses what it acknowledges if it does not look who owns the log', async () => {
		const blind = (owner: SimOwner): LogOwner => ({
			claim: (from) => owner.claim(from),
			isOurs: async () => true,
			release: () => owner.release(),
		});
		const { told, found } = await takeOver({ before: blind });
		expect(told.filter((text) => !found.includes(text))).toContain('after the take-over');
	});

	it('loses what it acknowledges if its successor claims the log after it has read it', async () => {
		const late = (owner: SimOwner): LogOwner => {
			let looks = 0;
			return {
				claim: async () => undefined,
				isOurs: async () => {
					if (looks++ === 0) return true;
					await owner.claim('anyone');
					return owner.isOurs();
				},
				release: () => owner.release(),
			};
		};
		const { told, found } = await takeOver({ after: late });
		expect(told.filter((text) => !found.includes(text))).toEqual(['while it is read']);
	});
});

describe('a successor that is replaced by force itself', () => {
	it.each(['write', 'syncDirectory', 'sync', 'create', 'remove'] as const)(
		'while it claims the log (%s) gives up, and the last one has everything',
		async (moment) => {
			const disk = new SimDisk();
			const claims = new SimClaims();
			const hung = await openSimLog({ disk, claims, limits: { replayMs: 1 } });
			hung.log.append(event('first'));
			await settle();
			const files = new SimFiles(disk);
			const last = makeSimLog({ disk, claims, limits: { replayMs: 1 } });
			let opened: Promise<void> | undefined;
			files.before = (operation) => {
				if (operation === moment) opened ??= last.log.open(true);
				return opened;
			};
			const middle = makeSimLog({ files, claims, limits: { replayMs: 1 } });
			const outcome = await middle.log.open(true).then(
				() => 'open',
				(error: unknown) => error,
			);
			// Not every operation is a part of claiming: where it is open already, the first commit shows it.
			if (outcome === 'open') middle.log.append(event('of the middle'));
			else expect(outcome).toMatchObject({ code: 'UNAVAILABLE' });
			await settle();
			await opened;
			expect(opened).toBeDefined();
			last.log.append(event('of the last'));
			hung.log.append(event('of the hung'));
			await settle();
			expect([hung.log.state, middle.log.state, last.log.state]).toEqual(['released', 'released', 'receiving']);
			expect(middle.log.persisted).toBeLessThanOrEqual(2);
			claims.die();
			const { log } = await openSimLog({ disk, claims, limits: { replayMs: 1 } });
			expect(await readAll(log)).toEqual(['first', 'of the last']);
		},
	);
});

describe('an owner that learns that the log is not its own', () => {
	/** Long enough that two of them need two segments. */
	const LONG = 'x'.repeat(5000);

	it('acknowledges no batch that it did not write for that reason, whatever it is told next', async () => {
		const claims = new SimClaims();
		const real = claims.owner();
		let answers: boolean[] = [];
		const owner: LogOwner = {
			claim: (from) => real.claim(from),
			isOurs: async () => answers.shift() ?? true,
			release: () => real.release(),
		};
		const { log, disk } = await openSimLog({ claims, owner });
		log.append(event(LONG));
		await settle();
		// The file of the second one is not made.
		answers = [false];
		log.append(event(LONG));
		await settle();
		expect([log.state, log.persisted]).toEqual(['released', 2]);
		claims.die();
		expect(await readAll((await openSimLog({ disk, claims })).log)).toEqual([LONG]);
	});

	it('closes its windows at once, also where its directory hangs', async () => {
		const claims = new SimClaims();
		const { log, files, windows } = await openSimLog({ claims });
		log.append(event('first'));
		await settle();
		let goOn = (): void => undefined;
		const hanging = new Promise<void>((resolve) => {
			goOn = resolve;
		});
		const list = files.list.bind(files);
		files.list = (directory) => hanging.then(() => list(directory));
		await claims.owner().claim('anyone');
		log.append(event('second'));
		await settle();
		expect([log.state, windows.at(-1)]).toEqual(['released', false]);
		goOn();
		await settle();
		expect(log.reason).toBe('another process has claimed the log');
	});
});
