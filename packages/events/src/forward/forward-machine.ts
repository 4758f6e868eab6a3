import type { MachineTable } from '@spock/protocol/internal';

export type ForwardState =
	| 'asking'
	| 'idle'
	| 'sending'
	| 'window full'
	| 'alone'
	| 'parking'
	| 'backing off'
	| 'stopped';
export type ForwardEvent =
	| 'answered'
	| 'appended'
	| 'window used up'
	| 'progress'
	| 'none left'
	| 'refused'
	| 'parked'
	| 'store went back'
	| 'look failed'
	| 'failed'
	| 'due'
	| 'stop';
export type ForwardAction =
	| 'ask'
	| 'go on'
	| 'send'
	| 'send alone'
	| 'advance'
	| 'forget in flight'
	| 'park'
	| 'report'
	| 'schedule'
	| 'cancel timer'
	| 'keep place';

/**
 * The way of a stream to its store. `asking`: the store is asked what it holds, and sending goes on behind that. This is the one way back into
 * `sending`, at the start, after a failure and after the store has lost events, so that stepping back is written once and nothing is
 * sent to a store of which nobody knows what it has. It also waits until what was in flight is settled: an append that was forgotten
 * cannot overtake the one that repeats it.
 *
 * `alone`: something in a batch was refused, so the first event that is not stored is sent by itself. Only when that is refused it
 * is the event, and not the batch: then it is `parking`. `look failed`: the store could not say whether it holds what it has
 * acknowledged. Where events are under way these show how the store is.
 */
export const forwardMachine: MachineTable<ForwardState, ForwardEvent, ForwardAction> = {
	asking: {
		answered: ['sending', 'go on', 'send'],
		failed: ['backing off', 'report', 'schedule'],
		stop: ['stopped', 'keep place'],
	},
	idle: {
		appended: ['sending', 'send'],
		'store went back': ['asking', 'ask'],
		'look failed': ['backing off', 'report', 'schedule'],
		stop: ['stopped', 'keep place'],
	},
	sending: {
		appended: ['sending', 'send'],
		'window used up': ['window full'],
		progress: ['sending', 'advance', 'send'],
		'none left': ['idle'],
		refused: ['alone', 'forget in flight', 'send alone'],
		'store went back': ['asking', 'forget in flight', 'ask'],
		failed: ['backing off', 'forget in flight', 'report', 'schedule'],
		stop: ['stopped', 'forget in flight', 'keep place'],
	},
	'window full': {
		progress: ['sending', 'advance', 'send'],
		refused: ['alone', 'forget in flight', 'send alone'],
		'store went back': ['asking', 'forget in flight', 'ask'],
		failed: ['backing off', 'forget in flight', 'report', 'schedule'],
		stop: ['stopped', 'forget in flight', 'keep place'],
	},
	alone: {
		progress: ['sending', 'advance', 'send'],
		refused: ['parking', 'forget in flight', 'park'],
		'store went back': ['asking', 'forget in flight', 'ask'],
		failed: ['backing off', 'forget in flight', 'report', 'schedule'],
		stop: ['stopped', 'forget in flight', 'keep place'],
	},
	parking: {
		parked: ['asking', 'ask'],
		failed: ['backing off', 'report', 'schedule'],
		stop: ['stopped', 'keep place'],
	},
	'backing off': {
		due: ['asking', 'ask'],
		stop: ['stopped', 'cancel timer', 'keep place'],
	},
	stopped: {},
};
