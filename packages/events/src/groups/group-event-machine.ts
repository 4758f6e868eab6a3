import type { MachineTable } from '@spock/protocol/internal';

export type GroupEventState = 'waiting' | 'out' | 'backing off' | 'dead' | 'done';
export type GroupEventInput =
	| 'credit'
	| 'acked'
	| 'nacked'
	| 'ack wait over'
	| 'extended'
	| 'consumer lost'
	| 'due'
	| 'buried'
	| 'dead letter stored';
export type GroupEventAction =
	| 'deliver'
	| 'start ack wait'
	| 'cancel timer'
	| 'give credit back'
	| 'schedule'
	| 'line up'
	| 'leave line'
	| 'store dead letter'
	| 'release key'
	| 'keep done';

/**
 * One event in a group. `waiting`: for its key, or for a consumer with credit. `out`: delivered. `backing off`: its next delivery has a
 * time. `dead`: its dead letter is being stored, and it is not done before. It holds its key from the first delivery until it is done.
 *
 * `buried` is `term`, or a failure of the last attempt. An ack counts until the next delivery begins, so also while the event backs off or waits again.
 * It does not count later: the event is out at another consumer then, and ending it there would let the next event of its key out beside
 * it. At least once allows the repetition.
 */
export const groupEventMachine: MachineTable<GroupEventState, GroupEventInput, GroupEventAction> = {
	waiting: {
		credit: ['out', 'deliver', 'start ack wait'],
		acked: ['done', 'leave line', 'release key', 'keep done'],
		buried: ['dead', 'leave line', 'store dead letter'],
	},
	out: {
		acked: ['done', 'cancel timer', 'give credit back', 'release key', 'keep done'],
		nacked: ['backing off', 'cancel timer', 'give credit back', 'schedule'],
		'ack wait over': ['backing off', 'give credit back', 'schedule'],
		extended: ['out', 'cancel timer', 'start ack wait'],
		'consumer lost': ['waiting', 'cancel timer', 'give credit back', 'line up'],
		buried: ['dead', 'cancel timer', 'give credit back', 'store dead letter'],
	},
	'backing off': {
		acked: ['done', 'cancel timer', 'release key', 'keep done'],
		due: ['waiting', 'line up'],
		buried: ['dead', 'cancel timer', 'store dead letter'],
	},
	dead: {
		'dead letter stored': ['done', 'release key', 'keep done'],
	},
	done: {},
};
