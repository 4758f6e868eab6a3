import { type ServiceInstance, SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { instance } from '../../../test/fake-backend-source.ts';
import { chooseMember, type MemberWord } from './chain-choice.ts';

const down = new SpockError('UNAVAILABLE', 'away');
const denied = new SpockError('ACL_DENIED', 'no');
const HERE: readonly ServiceInstance[] = [instance('here')];
const THERE: readonly ServiceInstance[] = [instance('there')];
const word = (more: Partial<MemberWord>): MemberWord => {
	return { answer: undefined, error: undefined, knew: false, isLate: false, ...more };
};
const silent = word({});
const late = word({ isLate: true });
const empty = word({ answer: [[]] });
const failing = word({ error: down });
const knows = (instances: readonly ServiceInstance[]): MemberWord => word({ answer: [instances], knew: true });

const WAITING = { kind: 'waiting' };
const answered = (member: number, instances: readonly ServiceInstance[]): object => {
	return { kind: 'answered', member, answer: [instances] };
};
const failed = (member: number): object => ({ kind: 'failed', member, error: down });

describe('which member of a chain has the word', () => {
	it.each<[what: string, first: MemberWord, second: MemberWord, choice: object]>([
		['the first knows the service: it answers', knows(HERE), knows(THERE), answered(0, HERE)],
		['the first does not know it: the second answers', empty, knows(THERE), answered(1, THERE)],
		['nobody knows it: an empty answer', empty, empty, answered(0, [])],
		['the first has said nothing yet: it is waited for', silent, knows(THERE), WAITING],
		['the first has said nothing and is late: the second answers', late, knows(THERE), answered(1, THERE)],
		['the first is late and the second does not know it: wait', late, empty, WAITING],
		['the first fails and never knew it: the second answers', failing, knows(THERE), answered(1, THERE)],
		['the first fails and the second does not know it: nobody can say that it is gone', failing, empty, failed(0)],
		['the second fails and the first does not know it: nobody can say that it is gone', empty, failing, failed(1)],
		[
			'the first knows it and fails: its instances stay, and the failure is told',
			{ ...knows(HERE), error: down },
			knows(THERE),
			failed(0),
		],
		[
			'the first fails and knew it in an earlier watch: nobody stands in',
			{ ...failing, knew: true },
			knows(THERE),
			failed(0),
		],
		['the first knew it earlier and is late: it is waited for', { ...late, knew: true }, knows(THERE), WAITING],
		[
			'the first said that it does not know it, and now fails: the second answers',
			{ ...empty, error: down },
			knows(THERE),
			answered(1, THERE),
		],
		['the second knows it and fails: its instances stay', empty, { ...knows(THERE), error: down }, failed(1)],
		['the second has said nothing yet: it is waited for', empty, silent, WAITING],
		['the first denies and the second fails: what may pass is the reason', word({ error: denied }), failing, failed(1)],
		[
			'the first denies and the second is late: it may answer yet',
			word({ error: denied }),
			late,
			{ kind: 'failed', member: 0, error: expect.objectContaining({ code: 'UNAVAILABLE', cause: denied }) },
		],
		['both deny: that is final', word({ error: denied }), word({ error: denied }), { ...failed(0), error: denied }],
		['both fail: the first one says why', failing, word({ error: new SpockError('UNAVAILABLE', 'other') }), failed(0)],
	])('%s', (_what, first, second, choice) => {
		expect(chooseMember([first, second])).toEqual(choice);
	});
});
