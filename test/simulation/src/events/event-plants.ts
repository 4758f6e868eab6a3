import { lost, lostEvery, replaced } from '../faulty-lines.ts';
import type { Plant } from '../injection.ts';
import { forgetsNames, neverSyncs, neverWaits, syncsAgain } from './faulty-log.ts';

const KEPT = 'a persisted event is kept';
const ORDER = 'events keep their order';
const HANDLED = 'every event is handled';

/** Faults of events, each in a world that has them. */
export const EVENT_PLANTS: readonly Plant[] = [
	// The disk.
	row('events are acknowledged without a sync', KEPT, 1, { eventFiles: neverSyncs, eventSyncs: true }),
	row('events are acknowledged before their write has ended', KEPT, 35, { eventFiles: neverWaits, eventSyncs: false }),
	row('the name of a file of the log is not durable', KEPT, 1, { eventFiles: forgetsNames }),
	row('a sync that failed is tried again on the same file', KEPT, 11, { eventFiles: syncsAgain, eventSyncs: true }),
	row('a torn tail is kept', ORDER, 381, { eventBugs: { keepsTornTail: true } }),
	// Producers and groups.
	row('a gap in the numbers of a producer is taken', ORDER, 1, {
		eventBugs: { producers: { takesGaps: true } },
		sidecarReads: lostEvery(20, /^\{"seq"/),
	}),
	row('a group that is sent back goes on with what is new', HANDLED, 1, {
		sidecarReads: replaced(/"to":"first"/, '"to":"new"'),
	}),
	row('producers are told before the commit', KEPT, 1, { eventBugs: { producers: { tellsBeforeCommit: true } } }),
	row('an event is done when it is delivered', HANDLED, 2, { eventBugs: { groups: { doneOnDelivery: true } } }),
	row('a key is free when its event failed', ORDER, 1, { eventBugs: { groups: { keyReleasedOnNack: true } } }),
	row('credit is not given back for a failure', HANDLED, 10, { eventBugs: { groups: { creditKeptOnNack: true } } }),
	row('acks are lost on the way', HANDLED, 3, { sidecarReads: lost(/^\{"func":"ack"/) }),
];

function row(name: string, invariant: Plant['invariant'], seed: number, injection: Plant['injection']): Plant {
	return { name, invariant, seed, injection: { hasEvents: 'only', ...injection } };
}
