import type { DiscoveryEvent } from '@spock/discovery';
import { SpockError } from '@spock/protocol';
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
		['warn', { type: 'held', query, count: 2, holdMs: 10 }, /no valid entry left/],
		['warn', { type: 'hold-ended', query, outcome: 'emptied', heldMs: 5 }, /is confirmed/],
		['warn', { type: 'hold-ended', query, outcome: 'returned', heldMs: 5 }, /valid entries again/],
		[
			'warn',
			{ type: 'instances-refused', query, count: 1, added: 1, instances: [{ instance: 'a', reason: 'has no host' }] },
			/invalid instances left out/,
		],
		['info', { type: 'instances-refused', query, count: 0, added: 0, instances: [] }, /valid again/],
		['warn', { type: 'panic', query, active: true, healthy: 1, instances: 3 }, /serving all/],
		['warn', { type: 'panic', query, active: false, healthy: 3, instances: 3 }, /enough instances/],
		['warn', { type: 'state-restored', what: 'barista', ageMs: 5 }, /saved state/],
		['warn', { type: 'state-refused', file: 'f', refusal: 'torn', reason: 'cut off' }, /state file ignored/],
		['error', { type: 'state-write', outcome: 'failed', error: new Error('full'), isNews: true }, /cannot write/],
		['warn', { type: 'address-failed', address: 'http://a', reason: 'refused' }, /address of the registry fails/],
		['info', { type: 'address-recovered', address: 'http://a', outageMs: 5 }, /answers again/],
		['warn', { type: 'registration-moved', id: 'b1', service: 's', from: 'one/b1', to: 'two/b1' }, /moved to another/],
	])('%s for %j', (level, event, message) => {
		expect(logged(event)).toEqual([[level, expect.any(Object), expect.stringMatching(message)]]);
	});

	it('a deregistration is one line by default, and a warning while the registry refuses it', () => {
		const leaving = { type: 'registration', id: 'a', service: 's', instance: 'a', state: 'deregistered' } as const;
		expect(logged({ ...leaving, phase: 'leaving' })).toMatchObject([['debug', {}, 'registration changed']]);
		expect(logged({ ...leaving, phase: 'gone' })).toMatchObject([['info', {}, 'registration changed']]);
		const error = new SpockError('UNAVAILABLE', 'refused');
		expect(logged({ ...leaving, phase: 'leaving', error })).toMatchObject([
			['warn', { reason: 'refused' }, 'registration changed'],
		]);
	});

	it('a disk that stays full is told once', () => {
		expect(logged({ type: 'state-write', outcome: 'failed', error: new Error('full'), isNews: false })).toEqual([]);
		expect(logged({ type: 'state-write', outcome: 'ok' })).toEqual([]);
	});

	it('an internal fault of a registrar is logged with its cause', () => {
		const error = SpockError.from(new TypeError('fetch failed'));
		const registration = { id: 'b1', service: 'barista', instance: null, phase: 'held', state: 'pending' } as const;
		expect(logged({ type: 'registration', ...registration, error })).toEqual([
			['warn', expect.objectContaining({ reason: 'an internal fault: fetch failed' }), 'registration changed'],
		]);
	});
});
