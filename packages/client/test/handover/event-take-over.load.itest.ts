import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';
import { waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { countFromEnv } from '../count-from-env.ts';
import { audit, readAll } from '../events/event-book.ts';
import { EventPlace } from '../events/event-place.ts';

/** `npm run suite handover` asks for 200. */
const TURNS = countFromEnv('SPOCK_HANDOVER_TURNS', 12);
/** Each such turn the sidecar in place is stopped first, as one that hangs, so that its log is claimed by force. */
const HUNG_EVERY = 4;
const STREAMS = ['orders', 'clicks'];
const QUIET_TIMES = 5;
const HEARTBEAT_MS = 1000;
/** Goal: 250 ms. Generous, because other work shares the machine: what is meant to be found is a producer that stands still. */
const GAP_MS_MAX = 10_000;
const REPORTS = fileURLToPath(new URL('../../../../reports/', import.meta.url));

interface Payload {
	readonly run: string;
	readonly count: number;
}

/** What one group was given, over all take-overs. */
class GroupBook {
	readonly seen = new Map<string, Set<number>>();
	again = 0;
	/** Events that came for the first time behind a later one of the same producer and stream. */
	outOfOrder = 0;
	readonly #last = new Map<string, number>();

	note(stream: string, { run, count }: Payload): void {
		const counts = this.seen.get(run) ?? new Set();
		this.seen.set(run, counts);
		if (counts.has(count)) {
			this.again++;
			return;
		}
		counts.add(count);
		const key = `${run} ${stream}`;
		if (count < (this.#last.get(key) ?? 0)) this.outOfOrder++;
		this.#last.set(key, count);
	}
}

/** Times of producers, the longest of each turn. */
function gapFigures(gapsMs: readonly number[]): Record<'p50' | 'p99' | 'longest', number> {
	const sorted = [...gapsMs].sort((one, other) => one - other);
	const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
	return { p50: at(0.5), p99: at(0.99), longest: at(1) };
}

function report(figures: Readonly<Record<string, unknown>>): void {
	process.stdout.write(`${JSON.stringify(figures)}\n`);
	if (process.env['SPOCK_HANDOVER_TURNS'] === undefined) return;
	mkdirSync(REPORTS, { recursive: true });
	writeFileSync(join(REPORTS, 'event-handover.json'), `${JSON.stringify(figures, null, '\t')}\n`);
}

it(
	`${TURNS} take-overs in a row under a load of events: none is lost or there twice, also where the sidecar in place hangs`,
	async () => {
		await using place = await EventPlace.make();
		await place.startSidecar();
		await using diplomat = await connect({ path: place.path, heartbeatMs: HEARTBEAT_MS });
		const events = openEvents<Record<string, Payload>>({ diplomat });
		const book = new GroupBook();
		const handlers = STREAMS.map((stream) =>
			events.handle(stream, { group: 'audit', from: 'first', order: 'stream' }, ({ data }) => book.note(stream, data)),
		);
		const apps = [0, 1, 2, 3].map((index) =>
			place.startApp({
				run: `app-${index}`,
				streams: STREAMS,
				everyMs: 10 + index,
				perTurn: 1 + index,
				heartbeatMs: HEARTBEAT_MS,
			}),
		);
		const goneOn = async (): Promise<void> => {
			const before = apps.map(({ told }) => told.persisted);
			await waitFor(
				'every producer to go on',
				() => apps.every(({ told }, index) => told.persisted > (before[index] ?? 0)),
				60_000,
			);
		};
		const gaps: Record<'quiet' | 'asked' | 'hung', number[]> = { quiet: [], asked: [], hung: [] };
		for (let turn = 1; turn <= TURNS; turn++) {
			// What the machine makes them wait for without a take-over, to compare.
			for (const { told } of apps) told.gapMs = 0;
			for (let times = 0; times < QUIET_TIMES; times++) await goneOn();
			gaps.quiet.push(...apps.map(({ told }) => told.gapMs));
			for (const { told } of apps) told.gapMs = 0;
			const isHung = turn % HUNG_EVERY === 0;
			// Every other one wakes while its clients are still there, with their events in its sockets.
			const wakesEarly = turn % (2 * HUNG_EVERY) === 0;
			const { old, next } = isHung ? place.stopAndReplaceSidecar() : place.replaceSidecar();
			if (wakesEarly) await waitFor('a claim by force', () => place.ownerHasChanged());
			else if (isHung) await goneOn();
			if (isHung) old.child.kill('SIGCONT');
			const ended = await Promise.race([old.finished, next.finished]);
			expect(next.child.exitCode, `${next.stdout()}${next.stderr()}`).toBe(null);
			expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
			await goneOn();
			await goneOn();
			gaps[isHung ? 'hung' : 'asked'].push(...apps.map(({ told }) => told.gapMs));
		}
		const accepted = apps.map(({ told }) => told.accepted);
		await waitFor('all of it on disk', () => apps.every(({ told }, index) => told.persisted >= (accepted[index] ?? 0)));
		for (const app of apps) await app.kill();
		const found = audit(await readAll(place.path, STREAMS), place.told);
		const counted = (): number =>
			[...book.seen].reduce((sum, [run, { size }]) => sum + (run === 'audit' ? 0 : size), 0);
		await waitFor('the group to have everything', () => counted() >= found.events, 60_000);
		await diplomat.drain();
		await Promise.all(handlers);
		const { again, outOfOrder } = book;
		report({
			'take-overs': TURNS,
			...found,
			group: { again, outOfOrder },
			'gap in ms, quiet': gapFigures(gaps.quiet),
			'gap in ms, asked': gapFigures(gaps.asked),
			'gap in ms, hung': gapFigures(gaps.hung),
		});
		expect(found).toMatchObject({ lostPersisted: 0, lostAccepted: 0, twice: 0, outOfOrder: 0, holes: 0, examples: [] });
		expect(counted()).toBe(found.events);
		expect(outOfOrder).toBe(0);
		expect(gapFigures([...gaps.asked, ...gaps.hung]).longest).toBeLessThan(GAP_MS_MAX);
	},
	120_000 + TURNS * 10_000,
);
