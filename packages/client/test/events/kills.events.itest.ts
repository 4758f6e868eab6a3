import { setTimeout as delay } from 'node:timers/promises';

import { waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { countFromEnv } from '../count-from-env.ts';
import { type Audit, audit, readAll, sumAudits, untilAllRead } from './event-book.ts';
import { EventPlace } from './event-place.ts';

const TIMES = countFromEnv('SPOCK_EVENTS_TIMES', 20);
/** An app lives for less than this, in milliseconds, once it has handed over its first events. */
const LIFE_MS_MAX = 60;
/** Kills in one directory; then its log is read to the end, and the next one is begun: what a full log deletes could not be counted. */
const KILLS_MAX = 25;
/** Directories at the same time: most of a kill waits for a disk, and for the start of a process. */
const PLACES_AT_ONCE = 2;
const APPS_AT_ONCE = 5;
/** Generous, because other work may share the machine. */
const GO_ON_MS_MAX = 60_000;
const STREAMS = ['orders', 'clicks'];
const TEST_MS_MAX = 120_000 + TIMES * 10_000;
const NOTHING_WRONG = { lostPersisted: 0, lostAccepted: 0, twice: 0, outOfOrder: 0, holes: 0, examples: [] };

/** Runs `kill` so many times, in several places, and audits each of them. */
async function killOften(
	fault: string,
	times: number,
	killIn: (place: EventPlace, times: number) => Promise<void>,
): Promise<Audit> {
	let left = times;
	const audits: Audit[] = [];
	const work = async (): Promise<void> => {
		while (left > 0) {
			const kills = Math.min(KILLS_MAX, left);
			left -= kills;
			await using place = await EventPlace.make();
			await killIn(place, kills);
			// What the last one has sent may still be in the kernel.
			await untilAllRead(place.path);
			audits.push(audit(await readAll(place.path, STREAMS), place.told));
		}
	};
	await Promise.all(Array.from({ length: PLACES_AT_ONCE }, work));
	const found = sumAudits(audits);
	process.stdout.write(`${JSON.stringify({ fault, times, ...found })}\n`);
	return found;
}

it(
	'an app that is killed loses no event that has left it, and none is there twice',
	async () => {
		const found = await killOften('app killed', TIMES, async (place, times) => {
			await place.startSidecar();
			for (let time = 0; time < times; time += APPS_AT_ONCE) {
				const count = Math.min(APPS_AT_ONCE, times - time);
				const killOne = async (index: number): Promise<void> => {
					const perTurn = 1 + Math.floor(Math.random() * 40);
					const app = place.startApp({ run: `app-${time + index}`, streams: STREAMS, everyMs: 0, perTurn });
					await waitFor('the first events', () => app.told.accepted > 0, GO_ON_MS_MAX);
					await delay(Math.random() * LIFE_MS_MAX);
					await app.kill();
				};
				await Promise.all(Array.from({ length: count }, (_, index) => killOne(index)));
			}
		});
		expect(found.events).toBeGreaterThan(TIMES);
		expect(found).toMatchObject(NOTHING_WRONG);
	},
	TEST_MS_MAX,
);

it(
	'a sidecar that is killed loses no event of its producers, which go on with the next one',
	async () => {
		const found = await killOften('sidecar killed', TIMES, async (place, times) => {
			await place.startSidecar();
			const apps = [0, 1, 2, 3].map((index) =>
				place.startApp({ run: `app-${index}`, streams: STREAMS, everyMs: 4 + 2 * index, perTurn: 1 + 3 * index }),
			);
			for (let time = 0; time < times; time++) {
				const before = apps.map(({ told }) => told.persisted);
				await waitFor(
					'every producer to go on',
					() => apps.every(({ told }, index) => told.persisted > (before[index] ?? 0)),
					GO_ON_MS_MAX,
				);
				await delay(Math.random() * LIFE_MS_MAX);
				await place.killSidecar();
				await place.startSidecar();
			}
			// What the last sidecar took with it comes again: before that, an app that is killed takes it along.
			const accepted = apps.map(({ told }) => told.accepted);
			await waitFor(
				'all of it on disk',
				() => apps.every(({ told }, index) => told.persisted >= (accepted[index] ?? 0)),
				GO_ON_MS_MAX,
			);
			for (const app of apps) await app.kill();
		});
		expect(found).toMatchObject(NOTHING_WRONG);
	},
	TEST_MS_MAX,
);

it(
	'where both are killed, what was told persisted is there',
	async () => {
		const found = await killOften('both killed', Math.ceil((TIMES * 3) / 10), async (place, times) => {
			for (let time = 0; time < times; time++) {
				await place.startSidecar();
				const apps = [0, 1].map((index) =>
					place.startApp({ run: `app-${time}-${index}`, streams: STREAMS, everyMs: index, perTurn: 1 + 7 * index }),
				);
				await waitFor('persisted events', () => apps.every(({ told }) => told.persisted > 0), GO_ON_MS_MAX);
				await delay(Math.random() * LIFE_MS_MAX);
				await Promise.all([place.killSidecar(), ...apps.map((app) => app.kill())]);
			}
			await place.startSidecar();
		});
		// What was accepted and no more is promised only while one of them lives.
		expect(found).toMatchObject({ lostPersisted: 0, twice: 0, outOfOrder: 0, holes: 0 });
	},
	TEST_MS_MAX,
);
