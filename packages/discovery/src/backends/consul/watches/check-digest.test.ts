import { describe, expect, it } from 'vitest';

import { diffChecks, digestChecks, type StateEntry } from './check-digest.ts';

const check = (more: Partial<StateEntry> = {}): StateEntry => ({
	Node: 'n1',
	CheckID: 'c1',
	ServiceID: 's1',
	ServiceName: 'barista',
	Status: 'critical',
	...more,
});
const diff = (before: readonly StateEntry[], after: readonly StateEntry[]) => {
	const { services, nodes } = diffChecks(digestChecks(before), digestChecks(after));
	return { services: [...services].sort(), nodes: [...nodes].sort() };
};

describe('a diff of checks', () => {
	it.each<[string, StateEntry[], StateEntry[], string[], string[]]>([
		[
			'nothing changed, in another order',
			[check(), check({ CheckID: 'c2' })],
			[check({ CheckID: 'c2' }), check()],
			[],
			[],
		],
		['another output is none', [check()], [{ ...check(), Output: 'took 7 ms' } as StateEntry], [], []],
		['another status', [check()], [check({ Status: 'warning' })], ['barista'], []],
		['a check that passes again', [check()], [check({ Status: 'passing' })], ['barista'], []],
		['a check that passes, come or gone', [check({ Status: 'passing' })], [], [], []],
		['a check that came', [check()], [check(), check({ Node: 'n2', ServiceName: 'waiter' })], ['waiter'], []],
		['a check that is gone', [check(), check({ Node: 'n2', ServiceName: 'waiter' })], [check()], ['waiter'], []],
		['one went and one came', [check()], [check({ Node: 'n2', ServiceName: 'waiter' })], ['barista', 'waiter'], []],
		['the same check under another service', [check()], [check({ ServiceName: 'waiter' })], ['barista', 'waiter'], []],
		["a node's own check", [], [check({ ServiceID: '', ServiceName: '' })], [], ['n1']],
		[
			'ids with newlines in them, cut elsewhere',
			[check({ ServiceID: 'a\nb', CheckID: 'c' })],
			[check({ ServiceID: 'a', CheckID: 'b\nc' }), check({ ServiceID: 'a\nb', CheckID: 'c', Status: 'warning' })],
			['barista'],
			[],
		],
		[
			'another check, whose ids with newlines look like the first',
			[check({ ServiceID: 'a\nb', CheckID: 'c' })],
			[check({ ServiceID: 'a', CheckID: 'b\nc' })],
			['barista'],
			[],
		],
		['the same id at two nodes is two checks', [check()], [check(), check({ Node: 'n2' })], ['barista'], []],
	])('%s', (_what, before, after, services, nodes) => {
		expect(diff(before, after)).toEqual({ services, nodes });
	});
});
