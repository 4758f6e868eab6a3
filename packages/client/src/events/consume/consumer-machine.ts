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
		lost: null,
		opened: null,
		refused: null,
		'refused for good': ['ended', 'fail', 'end'],
		'retry due': null,
		'drain, some out': ['ended', 'end'],
		'drain, none out': ['ended', 'end'],
		'last one settled': null,
		leave: ['ended', 'end'],
		gone: null,
		close: ['ended', 'end'],
	},
	opening: {
		adopted: ['opening', 'open'],
		lost: ['away'],
		opened: ['open', 'serve'],
		refused: ['refused', 'schedule retry'],
		'refused for good': ['ended', 'fail', 'end'],
		'retry due': null,
		'drain, some out': ['abandoning'],
		'drain, none out': ['abandoning'],
		'last one settled': null,
		leave: ['abandoning'],
		gone: null,
		close: ['ended', 'end'],
	},
	open: {
		adopted: ['opening', 'void deliveries', 'open'],
		lost: ['away', 'void deliveries'],
		opened: null,
		refused: ['refused', 'void deliveries', 'schedule retry'],
		'refused for good': ['ended', 'void deliveries', 'fail', 'end'],
		'retry due': null,
		'drain, some out': ['leaving', 'drop waiting'],
		'drain, none out': ['closing', 'ask to close', 'void deliveries'],
		'last one settled': null,
		leave: ['closing', 'ask to close', 'void deliveries'],
		gone: null,
		close: ['ended', 'void deliveries', 'end'],
	},
	refused: {
		adopted: ['opening', 'cancel timer', 'open'],
		lost: ['away', 'cancel timer'],
		opened: null,
		refused: null,
		'refused for good': ['ended', 'cancel timer', 'fail', 'end'],
		'retry due': ['opening', 'open'],
		'drain, some out': ['ended', 'cancel timer', 'end'],
		'drain, none out': ['ended', 'cancel timer', 'end'],
		'last one settled': null,
		leave: ['ended', 'cancel timer', 'end'],
		gone: null,
		close: ['ended', 'cancel timer', 'end'],
	},
	leaving: {
		adopted: ['ended', 'void deliveries', 'end'],
		lost: ['ended', 'void deliveries', 'end'],
		opened: null,
		refused: ['ended', 'void deliveries', 'end'],
		'refused for good': ['ended', 'void deliveries', 'end'],
		'retry due': null,
		'drain, some out': null,
		'drain, none out': null,
		'last one settled': ['closing', 'ask to close'],
		leave: ['closing', 'ask to close', 'void deliveries'],
		gone: null,
		close: ['ended', 'void deliveries', 'end'],
	},
	abandoning: {
		adopted: ['ended', 'end'],
		lost: ['ended', 'end'],
		opened: ['closing', 'ask to close'],
		refused: ['ended', 'end'],
		'refused for good': ['ended', 'end'],
		'retry due': null,
		'drain, some out': null,
		'drain, none out': null,
		'last one settled': null,
		leave: null,
		gone: null,
		close: ['ended', 'end'],
	},
	closing: {
		adopted: ['ended', 'end'],
		lost: ['ended', 'end'],
		opened: null,
		refused: ['ended', 'end'],
		'refused for good': ['ended', 'end'],
		'retry due': null,
		'drain, some out': null,
		'drain, none out': null,
		'last one settled': null,
		leave: null,
		gone: ['ended', 'end'],
		close: ['ended', 'end'],
	},
	ended: {
		adopted: null,
		lost: null,
		opened: null,
		refused: null,
		'refused for good': null,
		'retry due': null,
		'drain, some out': null,
		'drain, none out': null,
		'last one settled': null,
		leave: null,
		gone: null,
		close: null,
	},
};
