import { findConsul, startConsul, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { names } from '../../../../test/polled-site.ts';
import { watchedMany } from '../../../../test/watched-many.ts';

const binary = findConsul(process.env);
/** Twice what an agent allows one address. */
const SERVICES = 400;
/** Less than the wait of a query, and than the pace of a poll. */
const PUSHED_MS = 5000;

it('at a real agent on this machine, with its default limit, 400 services have a query each, and every change is pushed', async () => {
	await using consul = await startConsul({ binary });
	const register = (name: string, port: number): Promise<void> =>
		consul.put('/v1/agent/service/register', { Name: name, ID: name, Address: '10.0.0.1', Port: port });
	for (const name of names(SERVICES)) await register(name, 1);
	await using one = watchedMany([consul.url], { random: Math.random });
	const all = names(SERVICES).map((name) => one.watch(name));
	const ports = (): (number | undefined)[] => all.map(({ answers }) => answers.at(-1)?.[0]?.port);
	await waitFor('all answers', () => ports().every((port) => port === 1), 60_000);
	await waitFor('a query for each', () => one.polled() === 0, 60_000);
	for (const number of [0, 149, 150, 399]) {
		await register(`s${number}`, 2);
		await waitFor(`the change of s${number}`, () => ports()[number] === 2, PUSHED_MS);
	}
	// One id, another name.
	await consul.put('/v1/agent/service/register', { Name: 's398', ID: 's397', Address: '10.0.0.1', Port: 3 });
	await waitFor('the old name', () => all[397]?.answers.at(-1)?.length === 0, PUSHED_MS);
	await waitFor('the new name', () => all[398]?.answers.at(-1)?.length === 2, PUSHED_MS);
	for (const { errors } of all) expect(errors).toEqual([]);
	expect(one.events.filter((event) => event.type === 'backend-query' && event.outcome === 'failed')).toEqual([]);
});
