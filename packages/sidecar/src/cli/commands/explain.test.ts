import type { ExplainReply, WatcherStatus } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { PLAIN } from '../output/page.ts';
import { formatExplanation } from './explain.ts';

const explained = (reply: ExplainReply, next?: string): string =>
	formatExplanation(reply, { wallNowMs: 10_000, look: PLAIN, next }).toString();

const reply: ExplainReply = {
	service: 'barista',
	tags: ['v1'],
	datacenter: 'dc2',
	state: 'fresh',
	source: 'live',
	ageMs: 0,
	verifiedAt: 9000,
	changedAt: 4000,
	revision: 7,
	error: null,
	held: null,
	panic: false,
	instances: [
		{
			instance: 'n1/b1',
			host: '10.0.0.1',
			port: 80,
			weight: 3,
			status: 'passing',
			included: true,
			reason: 'all its checks pass',
			changedAt: 1000,
			checks: [{ id: 'c1', name: 'HTTP', status: 'passing' }],
		},
		{
			instance: 'n1/b2',
			host: '10.0.0.2',
			port: 80,
			weight: 1,
			status: 'critical',
			included: false,
			reason: 'the check "HTTP" is critical',
			changedAt: null,
			checks: [],
		},
	],
	instanceCount: 2,
	frameBytes: 500,
	watchers: [
		{ connection: 1, client: '@spock/client/0.1.0', pid: 4711 },
		{ connection: 2, client: null, pid: null },
	],
	watcherCount: 3,
};

describe('the page of explain', () => {
	it('names the bad entries that are left out, and calls the service not unknown for them', () => {
		const refused = [{ instance: 'n1/b\u001b9', reason: 'has the port 70000, which is not from 0 to 65535' }];
		const page = explained({ ...reply, instances: [], instanceCount: 0, refused, refusedCount: 3 });
		expect(page).toContain('n1/b\\u001b9  it has the port 70000, which is not from 0 to 65535\nand 2 more');
		expect(page).not.toContain('is registered');
	});

	it('is a table of instances, a table of checks, and how it stands', () => {
		expect(explained(reply).split('\n')).toEqual([
			'barista [v1] @dc2: 1 of 2 instances get work',
			'state     fresh (live), confirmed by the registry 1.0 s ago',
			'changed   6.0 s ago, revision 7',
			'watchers  #1 @spock/client/0.1.0 (pid 4711), #2 unnamed, and 1 more',
			'',
			'SERVED  INSTANCE  ADDRESS      WEIGHT  CHANGED    WHY',
			'yes     n1/b1     10.0.0.1:80  3       9.0 s ago  all its checks pass',
			'no      n1/b2     10.0.0.2:80  1                  the check "HTTP" is critical',
			'',
			'INSTANCE  STATUS   CHECK  NAME',
			'n1/b1     passing  c1     HTTP',
		]);
	});

	it('shows holds, panics, errors and an empty state, and lets no name steer the terminal', () => {
		const text = explained({
			...reply,
			service: 'bar\u001b[31mista',
			state: 'cold',
			source: null,
			changedAt: null,
			held: { forMs: 4000, endsInMs: 6000 },
			panic: true,
			error: 'refused\u0007',
			instances: [],
			instanceCount: 0,
			watchers: [],
			watcherCount: 0,
		});
		expect(text.split('\n')).toEqual([
			'bar\\u001b[31mista [v1] @dc2: the registry has not answered for it',
			'state     cold: nothing to serve',
			'held      the registry has returned no instances for 4.0 s; believed in 6.0 s',
			'panic     too few instances are healthy: all are served',
			'error     refused\\u0007',
			'watchers  none',
		]);
	});

	it('says first of an unknown service that no instance is registered, and where the names are', () => {
		const none = { ...reply, instances: [], instanceCount: 0 };
		const hint = 'barista [v1] @dc2: no instance is registered; `sidecar list` shows the names and their tags';
		const next = '`sidecar list` shows the names and their tags';
		expect(explained(none, next).split('\n')[0]).toBe(hint);
		expect(explained(reply)).not.toContain('is registered');
	});

	it('adds up how its watchers were pushed what has changed, and says how long the last pushes were', () => {
		const [first, second] = reply.watchers as [WatcherStatus, WatcherStatus];
		const pushed = { whole: 1, delta: 312, parts: 0, lastBytes: 294 };
		const row = (...watchers: readonly WatcherStatus[]) => explained({ ...reply, watchers }).split('\n')[4];
		expect(row({ ...first, pushed }, second)).toBe('pushed    1 whole, 312 deltas, 0 in parts; last 294 bytes');
		const large = { whole: 300, delta: 0, parts: 2, lastBytes: 190_000 };
		expect(row({ ...first, pushed }, { ...second, pushed: large })).toBe(
			'pushed    301 whole, 312 deltas, 2 in parts; last 294 to 190000 bytes',
		);
	});

	it('says for which clients the snapshot is too long, and that not all instances are shown', () => {
		const { watchers } = reply;
		const page = explained({
			...reply,
			instanceCount: 5000,
			frameBytes: 1_200_000,
			watchers: watchers.map((watcher) => ({ ...watcher, oversize: true })),
		});
		expect(page).toContain('shown     2 of 5000');
		expect(page).toContain('#1 @spock/client/0.1.0 (pid 4711) (too long for it)');
		expect(page).toContain('too long  a frame of 1200000 bytes: raise frameBytesMax');
	});
});
