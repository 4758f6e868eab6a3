import type { MachineTable } from '@spock/protocol/internal';

export type OutboxStateName = 'away' | 'opening' | 'idle' | 'can send' | 'blocked' | 'ending' | 'ended';

export type OutboxEvent =
	| 'emitted'
	| 'adopted'
	| 'opened, some kept'
	| 'opened, none kept'
	| 'window used up'
	| 'window, room'
	| 'acked, some left'
	| 'acked, none left'
	| 'stalled'
	| 'lost'
	| 'no events here'
	| 'drain, some kept'
	| 'drain, none kept'
	| 'close';

export type OutboxAction =
	| 'keep'
	| 'send'
	| 'resend'
	| 'forget'
	| 'settle'
	| 'open producer'
	| 'dial uplink'
	| 'end old uplink'
	| 'end uplink'
	| 'drop uplink'
	| 'report'
	| 'reject kept';

/**
 * The producer of events in a client. `adopted`: there is a call line, a new one or, after a delay, the same. `lost`: the call line or
 * the uplink is gone. `stalled`: nothing was persisted for too long while the window allowed it; with a window of 0 the sidecar is
 * full, and the uplink is well.
 */
export const outboxMachine: MachineTable<OutboxStateName, OutboxEvent, OutboxAction> = {
	away: {
		emitted: ['away', 'keep'],
		adopted: ['opening', 'open producer', 'dial uplink'],
		'drain, some kept': ['ending'],
		'drain, none kept': ['ended'],
		close: ['ended', 'reject kept'],
	},
	opening: {
		emitted: ['opening', 'keep'],
		adopted: ['opening', 'open producer', 'dial uplink', 'end old uplink'],
		'opened, some kept': ['can send', 'forget', 'settle', 'resend'],
		'opened, none kept': ['idle', 'forget', 'settle'],
		'acked, some left': ['opening', 'forget', 'settle'],
		'acked, none left': ['opening', 'forget', 'settle'],
		stalled: ['opening', 'drop uplink', 'open producer', 'dial uplink'],
		lost: ['away', 'drop uplink'],
		'no events here': ['away', 'drop uplink', 'report'],
		'drain, some kept': ['ending'],
		'drain, none kept': ['ended', 'drop uplink'],
		close: ['ended', 'drop uplink', 'reject kept'],
	},
	idle: {
		emitted: ['can send', 'keep', 'send'],
		adopted: ['opening', 'open producer', 'dial uplink', 'end old uplink'],
		lost: ['away', 'drop uplink'],
		'drain, none kept': ['ended', 'end uplink'],
		close: ['ended', 'end uplink'],
	},
	'can send': {
		emitted: ['can send', 'keep', 'send'],
		adopted: ['opening', 'open producer', 'dial uplink', 'end old uplink'],
		'window used up': ['blocked'],
		'acked, some left': ['can send', 'forget', 'settle'],
		'acked, none left': ['idle', 'forget', 'settle'],
		stalled: ['opening', 'drop uplink', 'open producer', 'dial uplink'],
		lost: ['away', 'drop uplink'],
		'drain, some kept': ['ending'],
		close: ['ended', 'drop uplink', 'reject kept'],
	},
	blocked: {
		emitted: ['blocked', 'keep'],
		adopted: ['opening', 'open producer', 'dial uplink', 'end old uplink'],
		'window, room': ['can send', 'send'],
		'acked, some left': ['blocked', 'forget', 'settle'],
		'acked, none left': ['idle', 'forget', 'settle'],
		stalled: ['opening', 'drop uplink', 'open producer', 'dial uplink'],
		lost: ['away', 'drop uplink'],
		'drain, some kept': ['ending'],
		close: ['ended', 'drop uplink', 'reject kept'],
	},
	ending: {
		adopted: ['ending', 'open producer', 'dial uplink', 'end old uplink'],
		'opened, some kept': ['ending', 'forget', 'settle', 'resend'],
		'opened, none kept': ['ended', 'forget', 'settle', 'end uplink'],
		'window, room': ['ending', 'send'],
		'acked, some left': ['ending', 'forget', 'settle'],
		'acked, none left': ['ended', 'forget', 'settle', 'end uplink'],
		stalled: ['ending', 'drop uplink', 'open producer', 'dial uplink'],
		lost: ['ending', 'drop uplink'],
		'no events here': ['ending', 'drop uplink', 'report'],
		close: ['ended', 'drop uplink', 'reject kept'],
	},
	ended: {},
};
