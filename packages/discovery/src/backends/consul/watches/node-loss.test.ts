import type { ServiceInstance } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { readHealthEntries } from './health-entry.ts';
import { whileMoving } from './node-loss.ts';

type Answer = { readonly value: readonly ServiceInstance[]; readonly index: number; readonly meta?: { ageMs: number } };

/** What Consul answers for one instance at these nodes, with the status of the node and of the check that its sidecar renews. */
function published(
	...at: readonly (readonly [node: string, ofNode: string, ofApp: string])[]
): readonly ServiceInstance[] {
	return readHealthEntries(
		at.map(([Node, ofNode, ofApp], number) => ({
			Node: { Node, Address: '10.0.0.9' },
			Service: { ID: 'b1', CreateIndex: number, Address: '10.0.0.1', Port: 80, Meta: { 'spock-owner': 'pod' } },
			Checks: [
				{ CheckID: 'serfHealth', Status: ofNode },
				{ CheckID: 'spock:ttl:b1', Status: ofApp },
			],
		})),
	);
}

const WELL = published(['one', 'passing', 'passing']);
const LOST = published(['one', 'critical', 'passing']);
const MOVED = published(['one', 'critical', 'passing'], ['two', 'passing', 'passing']);

function consul(...answers: readonly Answer[]) {
	const clock = new FakeClock();
	const left = [...answers];
	const asked: number[] = [];
	const fetch = whileMoving(
		(index: number, signal: AbortSignal): Promise<Answer> =>
			new Promise((resolve, reject) => {
				asked.push(index);
				const next = left.shift();
				if (next !== undefined) resolve(next);
				signal.addEventListener('abort', () => reject(new Error('aborted')));
			}),
		clock,
	);
	const ask = (index: number): Promise<Answer> => fetch(index, new AbortController().signal);
	return { clock, asked, ask };
}

describe('an answer that a failed node leaves without an instance', () => {
	it('is replaced by the next one, in which its sidecar has registered it elsewhere', async () => {
		const { ask, asked } = consul({ value: WELL, index: 1 }, { value: LOST, index: 2 }, { value: MOVED, index: 3 });
		await ask(0);
		expect((await ask(1)).value).toMatchObject([{ instance: 'two/b1', status: 'passing' }]);
		expect(asked).toEqual([0, 1, 2]);
	});

	it('is believed when no other comes, as old as it is by then', async () => {
		const { ask, clock } = consul({ value: WELL, index: 1 }, { value: LOST, index: 2, meta: { ageMs: 5 } });
		await ask(0);
		const asking = ask(1);
		await clock.advance(1000);
		expect(await asking).toMatchObject({ index: 2, meta: { ageMs: 1005 }, value: [{ status: 'critical' }] });
	});

	it('is believed at once where nothing was well, the app itself is ill, or the query was not held', async () => {
		const { ask } = consul({ value: LOST, index: 1 });
		expect((await ask(0)).index).toBe(1);
		const ill = consul({ value: WELL, index: 1 }, { value: published(['one', 'critical', 'critical']), index: 2 });
		await ill.ask(0);
		expect((await ill.ask(1)).index).toBe(2);
		const shared = consul({ value: WELL, index: 1 }, { value: LOST, index: 2 }, { value: LOST, index: 2 });
		await shared.ask(0);
		expect((await shared.ask(1)).value).toEqual(LOST);
	});
});

describe('one instance that is registered at two agents', () => {
	it('is one, the healthiest, and of two alike the newest', () => {
		expect(MOVED.map(({ instance }) => instance)).toEqual(['two/b1']);
		const both = published(['one', 'passing', 'passing'], ['two', 'passing', 'passing']);
		expect(both.map(({ instance }) => instance)).toEqual(['two/b1']);
		expect(published(['one', 'passing', 'passing'], ['two', 'passing', 'warning'])).toMatchObject([
			{ instance: 'one/b1' },
		]);
	});

	it('is another one where it has another address or owner', () => {
		const at = (Node: string, Address: string, owner: string) => ({
			Node: { Node, Address: '10.0.0.9' },
			Service: { ID: 'b1', Address, Port: 80, Meta: { 'spock-owner': owner } },
		});
		const entries = [at('one', '10.0.0.1', 'pod'), at('two', '10.0.0.2', 'pod'), at('three', '10.0.0.1', 'another')];
		expect(readHealthEntries(entries)).toHaveLength(3);
	});
});
