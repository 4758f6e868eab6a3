import type { DiscoveryEvent } from '@spock/discovery';
import { FakeClock } from '@spock/testkit';
import type { Logger } from 'pino';
import { describe, expect, it } from 'vitest';

import { logDiscovery } from './discovery-log.ts';
import { LimitedLog } from './limited-log.ts';

const query = { service: 'barista' };

function logged(event: DiscoveryEvent): [level: string, facts: object, message: string][] {
	const lines: [string, object, string][] = [];
	const write = (level: string) => (facts: object, message: string) => lines.push([level, facts, message]);
	const log = {
		trace: write('trace'),
		debug: write('debug'),
		info: write('info'),
		warn: write('warn'),
		error: write('error'),
	};
	logDiscovery(new LimitedLog(log as unknown as Logger, new FakeClock()), event);
	return lines;
}

describe('the log of what keeps answers honest', () => {
	it.each<[string, DiscoveryEvent, RegExp]>([
		['warn', { type: 'held', query, count: 2, holdMs: 10 }, /nothing is left/],
		['warn', { type: 'hold-ended', query, outcome: 'emptied', heldMs: 5 }, /gone for good/],
		['warn', { type: 'hold-ended', query, outcome: 'returned', heldMs: 5 }, /back/],
		[
			'warn',
			{ type: 'instances-refused', query, count: 1, added: 1, instances: [{ instance: 'a', reason: 'has no host' }] },
			/bad instances are left out/,
		],
		['info', { type: 'instances-refused', query, count: 0, added: 0, instances: [] }, /can be used again/],
		['warn', { type: 'panic', query, active: true, healthy: 1, instances: 3 }, /all are served/],
		['warn', { type: 'panic', query, active: false, healthy: 3, instances: 3 }, /enough instances/],
		['warn', { type: 'state-restored', what: 'barista', ageMs: 5 }, /an earlier sidecar kept/],
		['warn', { type: 'state-refused', file: 'f', refusal: 'torn', reason: 'cut off' }, /not used: cut off/],
		['error', { type: 'state-write', outcome: 'failed', error: new Error('full'), isNews: true }, /cannot be written/],
	])('%s for %j', (level, event, message) => {
		expect(logged(event)).toEqual([[level, expect.any(Object), expect.stringMatching(message)]]);
	});

	it('a disk that stays full is told once', () => {
		expect(logged({ type: 'state-write', outcome: 'failed', error: new Error('full'), isNews: false })).toEqual([]);
		expect(logged({ type: 'state-write', outcome: 'ok' })).toEqual([]);
	});
});
