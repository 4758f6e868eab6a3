import { Buffer } from 'node:buffer';

import type { LogEvent } from '../foundation/log-record.ts';
import type { GroupEventState } from './group-event-machine.ts';
import type { Ranked } from './ranked-heap.ts';

/** Who had the last delivery of an event. */
export interface GroupEventHolder {
	readonly ackWaitMs: number;
	/** Puts a delivery of it into the next batch. */
	add(item: GroupEvent): void;
	giveCreditBack(item: GroupEvent): void;
	/** Answers to that delivery no longer count. */
	forget(item: GroupEvent): void;
}

/** One event that a group has read and not done. The one object that is made for it, besides its deliveries. */
export class GroupEvent implements Ranked {
	state: GroupEventState = 'waiting';
	/** Deliveries so far. */
	deliveries: number;
	/** Who had the last delivery, while that may still be answered. */
	holder: GroupEventHolder | undefined = undefined;
	n = 0;
	/** A consumer was lost that had it: perhaps by this event. */
	isSuspect: boolean;
	/** The next delivery is the last one, and no other event may be out beside it. */
	goesAlone = false;
	/** Waiting: its position. Out: when its ack wait is over. Backing off: when it is due. An event is in one heap at most. */
	rank = 0;
	heapIndex = -1;
	/** Who gets the next delivery; once that is made, the same as `holder`. */
	nextHolder: GroupEventHolder | undefined = undefined;
	/** What its consumer asked for, until the machine has acted on it. */
	retryDelayMs: number | undefined = undefined;
	deadReason = '';
	/** When the last delivery began. */
	deliveredAtMs = 0;

	readonly event: LogEvent;
	/** Of its text, in UTF-8. */
	readonly bytes: number;

	constructor(event: LogEvent, deliveries: number) {
		this.event = event;
		this.deliveries = deliveries;
		this.isSuspect = deliveries > 0;
		this.bytes = Buffer.byteLength(event.text);
	}
}
