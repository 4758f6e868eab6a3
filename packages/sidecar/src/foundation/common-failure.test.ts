import type { StatusReply } from '@spock/protocol';
import { expect, it } from 'vitest';

import { commonFailureOf, outageSentence, ownError } from './common-failure.ts';

const AT = 1_800_000_000_000;
const time = (at: number): string => new Date(at).toISOString().slice(11, 19);

type Watch = { readonly state: string; readonly error: string | null };
const up = { name: 'consul', state: 'up', error: null, lastSuccessAgeMs: 0 };
const down = { name: 'consul', state: 'down', error: 'refused', lastSuccessAgeMs: 5000 };

function statusOf(watches: readonly Watch[], backend: object = down, more: object = {}): StatusReply {
	return { backend, watches, keyWatches: [], registrations: [], ...more } as unknown as StatusReply;
}

const stale: Watch = { state: 'stale', error: 'refused' };
const fresh: Watch = { state: 'fresh', error: null };
const cold: Watch = { state: 'cold', error: 'refused' };

it.each([
	['everything is well', [fresh], up, ''],
	[
		'all answers are old',
		[stale, stale],
		down,
		'consul has not answered since 07:59:55: apps get the last known answers',
	],
	[
		'some answers are old, and some are missing',
		[stale, cold, fresh],
		down,
		'consul has not answered since 07:59:55: apps get the last known answers of 1 of 3 services; 1 of 3 services have no answer',
	],
	['no service is watched', [], down, 'consul has not answered since 07:59:55'],
	[
		'it answers without a leader',
		[stale],
		{ ...down, lastSuccessAgeMs: 0, addressStatus: [{ state: 'no-leader', failingForMs: 5000 }, { state: 'down' }] },
		'consul has no leader since 07:59:55: apps get the last known answers',
	],
	['it never answered', [], { ...down, lastSuccessAgeMs: null }, 'consul has not answered yet'],
	[
		'one of two registries is down',
		[stale, fresh],
		{ ...down, name: 'consul,local', members: [down, { ...up, name: 'local' }] },
		'consul has not answered since 07:59:55: apps get the last known answers of 1 of 2 services',
	],
])('what apps get when %s', (_what, watches, backend, sentence) => {
	expect(outageSentence(commonFailureOf(statusOf(watches, backend), AT), time)).toBe(sentence);
});

it('an error of several watches, keys or registrations is common; one of a single watch is its own', () => {
	const denied = { state: 'stale', error: 'denied' };
	const status = statusOf([denied, { state: 'cold', error: 'too long' }], up, { registrations: [denied] });
	const failure = commonFailureOf(status, AT);
	expect(failure).toMatchObject({ registries: [], errors: ['denied'] });
	expect([ownError('denied', failure), ownError('too long', failure), ownError('denied', null)]).toEqual([
		null,
		'too long',
		'denied',
	]);
	expect(outageSentence(failure, time)).toBe('');
});

it('the time of the last answer stays as it is while its age is rounded, and moves with an answer', () => {
	const first = commonFailureOf(statusOf([stale]), AT);
	const later = (ageMs: number, at: number) =>
		commonFailureOf(statusOf([stale], { ...down, lastSuccessAgeMs: ageMs }), at, first);
	expect(later(6300, AT + 1000)?.registries).toEqual(first?.registries);
	expect(later(10, AT + 9000)?.registries).toEqual([{ name: 'consul', since: AT + 8990 }]);
});

it('at most five errors are shown for all; the others stay in their rows', () => {
	const watches = Array.from({ length: 20 }, (_, index) => ({ state: 'stale', error: `error ${index % 10}` }));
	expect(commonFailureOf(statusOf(watches), AT)?.errors).toHaveLength(5);
});
