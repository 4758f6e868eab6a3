import { type FakeClock, type FakeConsul, type FakeConsulRequest, waitFor } from '@spock/testkit';

import type { WatchedMany, WatchedQuestion } from './watched-many.ts';

export const names = (count: number): string[] => Array.from({ length: count }, (_, number) => `s${number}`);
export const paths = (fake: FakeConsul): string[] => fake.requests.map(({ path }) => path);

/** Asks for the index of a service alone. */
export const isLook = ({ path, query }: FakeConsulRequest): boolean =>
	path.startsWith('/v1/health/service/') && query.get('filter') === 'Service.ID == ""';

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
