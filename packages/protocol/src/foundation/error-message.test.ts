import { describe, expect, it } from 'vitest';

import { causesOf, messageOf } from './error-message.ts';

const refused = (place: string): Error =>
	Object.assign(new Error(`connect ECONNREFUSED ${place}`), { code: 'ECONNREFUSED' });

describe('the message of an error', () => {
	it.each<[string, unknown, string]>([
		['its own', new Error('lost'), 'lost'],
		[
			'those of several errors',
			new AggregateError([refused('::1:7'), refused('1.2.3.4:7')]),
			'connect ECONNREFUSED ::1:7; connect ECONNREFUSED 1.2.3.4:7',
		],
		['the same reason once', new AggregateError([new Error('lost'), new Error('lost')]), 'lost'],
		['its own before those of several', new AggregateError([new Error('a')], 'none of them'), 'none of them: a'],
		['that of the cause', new Error('', { cause: new AggregateError([new Error('a'), new Error('b')]) }), 'a; b'],
		[
			'why a fetch failed',
			new TypeError('fetch failed', { cause: refused('::1:7') }),
			'fetch failed: connect ECONNREFUSED ::1:7',
		],
		['a code', Object.assign(new AggregateError([]), { code: 'ETIMEDOUT' }), 'ETIMEDOUT'],
		['codes of several', new AggregateError([Object.assign(new Error(), { code: 'EX' })]), 'EX'],
		['a name', new RangeError(), 'RangeError'],
		['an object of another realm', { message: 'from afar' }, 'from afar'],
		['an object without anything', Object.create(null), 'no reason given'],
		['no error', 'why', 'why'],
		['nothing', undefined, 'undefined'],
	])('%s', (_what, error, message) => expect(messageOf(error)).toBe(message));

	it('an error that causes itself has an end, and so have many errors', () => {
		const own = new Error('');
		own.cause = new AggregateError([own]);
		expect(messageOf(own)).toBe('no reason given');
		expect(
			causesOf(new AggregateError(Array.from({ length: 50 }, (_, index) => new Error(String(index))))),
		).toHaveLength(8);
	});
});
