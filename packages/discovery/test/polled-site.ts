import type { ServiceInstance } from '@spock/protocol';
import {
	FakeClock,
	type FakeConsul,
	type FakeConsulInstance,
	type FakeConsulOptions,
	startFakeConsul,
	waitFor,
} from '@spock/testkit';

import { type WatchedMany, type WatchedQuestion, watchedMany } from './watched-many.ts';

export const names = (count: number): string[] => Array.from({ length: count }, (_, number) => `s${number}`);
export const paths = (fake: FakeConsul): string[] => fake.requests.map(({ path }) => path);

/** Queries for the index of the catalog of a datacenter, which are held while a service of it is polled. */
export const INDEX_QUERIES = 3;

export async function watchAll(one: WatchedMany, count: number): Promise<Map<string, WatchedQuestion>> {
	const all = new Map(names(count).map((name) => [name, one.watch(name)]));
	await waitFor('all answers', () => [...all.values()].every(({ answers }) => answers.length > 0));
	return all;
}

/** Every question is answered, confirmed, and rests; only so many queries block. */
export async function atRest(fake: FakeConsul, clock: FakeClock, blocked: number): Promise<void> {
	await waitFor('what is held', () => fake.blocked === blocked);
	for (let tick = 0; tick < 5; tick++) {
		await clock.advance(1000);
		await waitFor('quiet', () => fake.blocked === blocked);
	}
}

/** One healthy instance of each of so many services. */
export function setAll(fake: FakeConsul, count: number, checks: FakeConsulInstance['checks'] = []): void {
	for (const name of names(count)) fake.set(name, [{ id: name, checks }]);
}

/** Services that were asked for from this request on, in their order. */
export function servicesAsked(fake: FakeConsul, from = 0): string[] {
	const start = '/v1/health/service/';
	return fake.requests
		.slice(from)
		.filter(({ path }) => path.startsWith(start))
		.map(({ path }) => path.slice(start.length));
}

/** A Consul whose services are watched by one backend on a fake clock, all at rest. */
export interface PolledSite extends AsyncDisposable {
	readonly clock: FakeClock;
	readonly fake: FakeConsul;
	readonly one: WatchedMany;
	readonly all: ReadonlyMap<string, WatchedQuestion>;
	/** The newest answer to the question for this service. */
	answer(name: string): readonly ServiceInstance[] | undefined;
}

/** Options of {@link polledSite}. */
export interface PolledSiteOptions {
	readonly consul?: FakeConsulOptions;
	/** What Consul has at first. Default: one healthy instance of each service, without checks. */
	readonly before?: (fake: FakeConsul) => void;
	readonly random?: () => number;
}

/** So many services, `s0` and on. Only the first has a query of its own; the others are polled. */
export async function polledSite(
	count: number,
	{ consul = { hasOwnIndexes: true }, before = (fake) => setAll(fake, count), random }: PolledSiteOptions = {},
): Promise<PolledSite> {
	const clock = new FakeClock();
	const fake = await startFakeConsul(consul);
	before(fake);
	const one = watchedMany([fake.url], { heldMax: 1, clock, ...(random && { random }) });
	const all = await watchAll(one, count);
	await atRest(fake, clock, 1 + INDEX_QUERIES);
	return {
		...{ clock, fake, one, all },
		answer: (name) => all.get(name)?.answers.at(-1),
		[Symbol.asyncDispose]: async () => {
			await one[Symbol.asyncDispose]();
			await fake[Symbol.asyncDispose]();
		},
	};
}
