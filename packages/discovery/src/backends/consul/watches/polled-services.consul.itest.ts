import { findConsul, startConsul, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { watchedMany } from '../../../../test/watched-many.ts';

const binary = findConsul(process.env);
/** What a change takes, generously: less than the wait of a query, after which it would be seen in any case. */
const PUSHED_MS = 10_000;

it('70 services, 60 of them polled: checks, nodes, tags, edits, other names, and what has no check are all seen in their time', async () => {
	await using consul = await startConsul({ binary });
	const names = Array.from({ length: 70 }, (_, number) => `s${number}`);
	const register = (name: string, more: Record<string, unknown> = {}): Promise<void> =>
		consul.put('/v1/agent/service/register', { Name: name, ID: name, Address: '10.0.0.1', Port: 80, ...more });
	const check = { CheckID: 'check-s1', TTL: '10m', Status: 'passing' };
	for (const name of names) await register(name, name === 's1' ? { Check: check } : {});
	await using one = watchedMany([consul.url], { random: Math.random, heldMax: 10 });
	const all = new Map(names.map((name) => [name, one.watch(name)]));
	const last = (name: string) => all.get(name)?.answers.at(-1);
	await waitFor('all answers', () => names.every((name) => last(name)?.length === 1));
	await waitFor('the poll', () => one.polled() === 60);
	const within = (what: string, ms: number, probe: () => boolean) => waitFor(what, probe, ms);

	await consul.put('/v1/agent/check/fail/check-s1');
	await within('a check', PUSHED_MS, () => last('s1')?.[0]?.status === 'critical');
	await register('s2', { Tags: ['v2'] });
	await within('tags', PUSHED_MS, () => last('s2')?.[0]?.tags[0] === 'v2');
	await consul.put('/v1/agent/service/deregister/s3');
	await within('the end of a service without checks', PUSHED_MS, () => last('s3')?.length === 0);
	await register('s3');
	await within('its return', PUSHED_MS, () => last('s3')?.length === 1);
	await consul.put('/v1/agent/maintenance?enable=true&reason=test');
	await within("the node's maintenance", PUSHED_MS, () =>
		names.every((name) => last(name)?.[0]?.status === 'maintenance'),
	);
	await consul.put('/v1/agent/maintenance?enable=false');
	await within('its end', PUSHED_MS, () => last('s5')?.[0]?.status === 'passing');
	await register('s4', { Address: '10.0.0.9', Weights: { Passing: 7, Warning: 1 } });
	await register('s6', { ID: 's6-second' });
	await within('an edit', PUSHED_MS, () => last('s4')?.[0]?.host === '10.0.0.9' && last('s4')?.[0]?.weight === 7);
	await within('a second instance without checks', PUSHED_MS, () => last('s6')?.length === 2);
	await register('s7', { ID: 's6-second' });
	await within(
		'its registration under another name',
		PUSHED_MS,
		() => last('s6')?.length === 1 && last('s7')?.length === 2,
	);
	await consul.put('/v1/catalog/register', {
		Node: 'n2',
		Address: '10.2.0.1',
		Service: { Service: 's8', ID: 'far', Port: 80 },
	});
	await within('an instance of another node', PUSHED_MS, () => last('s8')?.length === 2);
	await consul.put('/v1/catalog/register', { Node: 'n2', Address: '10.2.0.2', SkipNodeUpdate: false });
	await within(
		"that node's other address",
		PUSHED_MS,
		() => last('s8')?.some(({ host }) => host === '10.2.0.2') === true,
	);
	for (const { errors } of all.values()) expect(errors).toEqual([]);

	// With room for all each has a query of its own again.
	for (const name of names.slice(0, 60)) all.get(name)?.stop();
	await waitFor('queries of their own', () => one.polled() === 0);
	await register('s69', { Tags: ['v3'] });
	await within('a change after that', PUSHED_MS, () => last('s69')?.[0]?.tags[0] === 'v3');
});
