import { type ErrorCode, SpockError } from '@spock/protocol';

import type { EventStore, StoreReader } from '../foundation/event-store.ts';
import type { LogEvent } from '../foundation/log-record.ts';

/** What a case needs: a store of its own, and a hand on what is behind it. */
export interface StoreFixture {
	readonly store: EventStore;
	/** New events of a stream, for `append`: each above all that were given before. Their payloads are `0` to `count - 1`. */
	events(stream: string, count: number): readonly LogEvent[] | Promise<readonly LogEvent[]>;
	/** Three events as those, of which the store never takes the second. Absent if it takes any. */
	eventsWithBad?(stream: string): readonly LogEvent[] | Promise<readonly LogEvent[]>;
	/** Ends the store as its process would, and opens another one over what it has kept. */
	reopen(): EventStore | Promise<EventStore>;
	/** Takes away what was stored of a stream from a position on. Absent if the store never loses what it has acknowledged. */
	lose?(stream: string, from: number): void | Promise<void>;
	/** Ends the store, if the case has not, and what is behind it. */
	close(): void | Promise<void>;
}

/** One promise of the contract, to be given to any test runner. */
export interface ContractCase {
	/** The promise, in words. */
	readonly name: string;
	/** Keeps it, or rejects with an AssertionError of node:assert, or an Error that says what was waited for in vain. */
	run(): Promise<void>;
}

/** A fixture, and how long to wait at it. */
export interface Bench extends StoreFixture {
	readonly patienceMs: number;
}

/** Cases by their names. */
export type Cases = Readonly<Record<string, (bench: Bench) => Promise<void>>>;

const READ = { eventsMax: 100, bytesMax: 1024 * 1024 };
const LOOK_EVERY_MS = 5;

/** Appends new events to the store and gives them. */
export async function appendNew({ events, store }: Bench, stream: string, count: number): Promise<readonly LogEvent[]> {
	const made = await events(stream, count);
	await store.append(stream, made, () => undefined);
	return made;
}

/** Reads until so many events were given; rejects when they do not come. */
export async function readMany({ patienceMs }: Bench, reader: StoreReader, count: number): Promise<LogEvent[]> {
	const startedMs = performance.now();
	const events: LogEvent[] = [];
	while (events.length < count) {
		const page = await reader.read(READ);
		events.push(...page);
		if (page.length > 0) continue;
		if (performance.now() - startedMs > patienceMs) {
			throw new Error(`waited ${patienceMs} ms in vain for ${count} events; there were ${events.length}`);
		}
		await new Promise<void>((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
	}
	return events;
}

/** What is there, up to a marker that the bench appends behind it: a store may take its time to give what it has. */
export async function readToEnd(bench: Bench, reader: StoreReader, stream: string): Promise<LogEvent[]> {
	const [marker] = (await appendNew(bench, stream, 1)) as [LogEvent];
	const events: LogEvent[] = [];
	while (events.every(({ position }) => position !== marker.position))
		events.push(...(await readMany(bench, reader, 1)));
	return events.filter(({ position }) => position !== marker.position);
}

export function positionsOf(events: readonly LogEvent[]): number[] {
	return events.map(({ position }) => position);
}

/** For `assert.rejects`: a SpockError with one of these codes. */
export function hasCode(...codes: readonly ErrorCode[]): (error: unknown) => boolean {
	return (error) => SpockError.is(error) && codes.includes(error.code);
}
