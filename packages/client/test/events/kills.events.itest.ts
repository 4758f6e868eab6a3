import { setTimeout as delay } from 'node:timers/promises';

import { waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { countFromEnv } from '../count-from-env.ts';
import { audit, readAll } from './event-book.ts';
import { EventPlace } from './event-place.ts';

const TIMES = countFromEnv('SPOCK_EVENTS_TIMES', 20);
/** An app lives for less than this, in milliseconds, once it has handed over its first events. */
const LIFE_MS_MAX = 60;
const STREAMS = ['orders', 'clicks'];
const TEST_MS_MAX = 120_000 + TIMES * 5000;
const NOTHING_WRONG = { lostPersisted: 0, lostAccepted: 0, twice: 0, outOfOrder: 0, holes: 0, examples: [] };

function report(fault: string, found: object): void {
	process.stdout.write(`${JSON.stringify({ fault, times: TIMES, ...found })}\n`);
}

it(
	'an app that is killed loses no event that has left it, and none is there twice',
	async () => {
		await using place = await EventPlace.make();
		await place.startSidecar();
		for (let time = 0; time < TIMES; time++) {
			const app = place.startApp({ run: `app-${time}`, streams: STREAMS, everyMs: 0, perTurn: 1 + (time % 40) });
			await waitFor('the first events', () => app.told.accepted > 0);
			await delay(Math.random() * LIFE_MS_MAX);
			await app.kill();
		}
		const found = audit(await readAll(place.path, STREAMS), place.told);
		report('app killed', found);
		expect(found.events).toBeGreaterThan(TIMES);
		expect(found).toMatchObject(NOTHING_WRONG);
	},
	TEST_MS_MAX,
);

it(
	'a sidecar that is killed loses no event of its producers, which go on with the next one',
	async () => {
		await using place = await EventPlace.make();
		await place.startSidecar();
		const apps = [0, 1, 2, 3].map((index) =>
			place.startApp({ run: `app-${index}`, streams: STREAMS, everyMs: 1 + index, perTurn: 1 + 5 * index }),
		);
		for (let time = 0; time < TIMES; time++) {
			const before = apps.map(({ told }) => told.persisted);
			await waitFor('every producer to go on', () =>
				apps.every(({ told }, index) => told.persisted > (before[index] ?? 0)),
			);
			await delay(Math.random() * LIFE_MS_MAX);
			await place.killSidecar();
			await place.startSidecar();
		}
		// What the last sidecar took with it comes again: before that, an app that is killed takes it along.
		const accepted = apps.map(({ told }) => told.accepted);
		await waitFor('all of it on disk', () => apps.every(({ told }, index) => told.persisted >= (accepted[index] ?? 0)));
		for (const app of apps) await app.kill();
		const found = audit(await readAll(place.path, STREAMS), place.told);
		report('sidecar killed', found);
		expect(found).toMatchObject(NOTHING_WRONG);
	},
	TEST_MS_MAX,
);

it(
	'where both are killed, what was told persisted is there',
	async () => {
		await using place = await EventPlace.make();
		const times = Math.ceil((TIMES * 3) / 10);
		for (let time = 0; time < times; time++) {
			await place.startSidecar();
			const apps = [0, 1].map((index) =>
				place.startApp({ run: `app-${time}-${index}`, streams: STREAMS, everyMs: index, perTurn: 1 + 7 * index }),
			);
			await waitFor('persisted events', () => apps.every(({ told }) => told.persisted > 0));
			await delay(Math.random() * LIFE_MS_MAX);
			await Promise.all([place.killSidecar(), ...apps.map((app) => app.kill())]);
		}
		await place.startSidecar();
		const found = audit(await readAll(place.path, STREAMS), place.told);
		report('both killed', found);
		// What was accepted and no more is promised only while one of them lives.
		expect(found).toMatchObject({ lostPersisted: 0, twice: 0, outOfOrder: 0, holes: 0 });
	},
	TEST_MS_MAX,
);
