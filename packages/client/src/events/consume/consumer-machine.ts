import type { MachineTable } from '@spock/protocol/internal';

export type ConsumerState = 'away' | 'opening' | 'open' | 'refused' | 'leaving' | 'abandoning' | 'closing' | 'ended';

export type ConsumerEvent =
	| 'adopted'
	| 'lost'
	| 'opened'
	| 'refused'
	| 'refused for good'
	| 'retry due'
	| 'drain, some out'
	| 'drain, none out'
	| 'last one settled'
	| 'leave'
	| 'gone'
	| 'close';

export type ConsumerAction =
	| 'open'
	| 'serve'
	| 'void deliveries'
	| 'drop waiting'
	| 'schedule retry'
	| 'cancel timer'
	| 'ask to close'
	| 'fail'
	| 'end';

/**
 * The life of a consumer over the connections of its downlink. `adopted`: there is a new connection, also in the place of one that
 * finishes after a goaway. `refused`: the sidecar does not open it, or has closed it; `for good` if waiting cannot mend that. A
 * `drain` stops to take events and waits for those in the app's hands; `leave` does not wait. `gone`: the sidecar has closed it
 * because it was asked to. In `abandoning` the answer to the opening is awaited, only to close what it opened.
 */
export const consumerMachine: MachineTable<ConsumerState, ConsumerEvent, ConsumerAction> = {
	away: {
		adopted: ['opening', 'open'],
		'refused for good': ['ended', 'fail', 'end'],
		'drain, some out': ['ended', 'end'],
		'drain, none out': ['ended', 'end'],
		leave: ['ended', 'end'],
		close: ['ended', 'end'],
	},
	opening: {
		adopted: ['opening', 'open'],
		lost: ['away'],
		opened: ['open', 'serve'],
		refused: ['refused', 'schedule retry'],
		'refused for good': ['ended', 'fail', 'end'],
		'drain, some out': ['abandoning'],
		'drain, none out': ['abandoning'],
		leave: ['abandoning'],
		close: ['ended', 'end'],
	},
	open: {
		adopted: ['opening', 'void deliveries', 'open'],
		lost: ['away', 'void deliveries'],
		refused: ['refused', 'void deliveries', 'schedule retry'],
		'refused for good': ['ended', 'void deliveries', 'fail', 'end'],
		'drain, some out': ['leaving', 'drop waiting'],
		'drain, none out': ['closing', 'ask to close', 'void deliveries'],
		leave: ['closing', 'ask to close', 'void deliveries'],
		close: ['ended', 'void deliveries', 'end'],
	},
	refused: {
		adopted: ['opening', 'cancel timer', 'open'],
		lost: ['away', 'cancel timer'],
		'refused for good': ['ended', 'cancel timer', 'fail', 'end'],
		'retry due': ['opening', 'open'],
		'drain, some out': ['ended', 'cancel timer', 'end'],
		'drain, none out': ['ended', 'cancel timer', 'end'],
		leave: ['ended', 'cancel timer', 'end'],
		close: ['ended', 'cancel timer', 'end'],
	},
	leaving: {
		adopted: ['ended', 'void deliveries', 'end'],
		lost: ['ended', 'void deliveries', 'end'],
		refused: ['ended', 'void deliveries', 'end'],
		'refused for good': ['ended', 'void deliveries', 'end'],
		'last one settled': ['closing', 'ask to close'],
		leave: ['closing', 'ask to close', 'void deliveries'],
		close: ['ended', 'void deliveries', 'end'],
	},
	abandoning: {
		adopted: ['ended', 'end'],
		lost: ['ended', 'end'],
		opened: ['closing', 'ask to close'],
		refused: ['ended', 'end'],
		'refused for good': ['ended', 'end'],
		close: ['ended', 'end'],
	},
	closing: {
		adopted: ['ended', 'end'],
		lost: ['ended', 'end'],
		refused: ['ended', 'end'],
		'refused for good': ['ended', 'end'],
		gone: ['ended', 'end'],
		close: ['ended', 'end'],
	},
	ended: {},
};
