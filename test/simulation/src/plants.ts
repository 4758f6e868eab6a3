import { EVENT_PLANTS } from './events/event-plants.ts';
import {
	answersLate,
	callsStaleLive,
	countsFromLoss,
	failsFirstLookups,
	forgetsWhenLost,
	reportsEndsTwice,
	reportsFailures,
} from './faulty-client.ts';
import {
	firesLate,
	hidesStandstills,
	neverClears,
	neverFires,
	readsProcess,
	readsProcessQuietly,
	standsStill,
	wallAhead,
} from './faulty-clock.ts';
import { doubled, exchanged, lost, reordered, replaced } from './faulty-lines.ts';
import {
	failsWith,
	goesBack,
	keepsFirst,
	losesCritical,
	losesDeregistrations,
	losesLastWord,
	losesRegistrations,
} from './faulty-registry.ts';
import type { Injection, Plant } from './injection.ts';
import { SERVER_PLANTS } from './servers/server-plants.ts';
import type { Invariant } from './violation.ts';

const REPLY = /^\{"id":\d+,"data":/;
const PING_REPLY = /^\{"id":\d+,"data":".* ping /;
const PUSH = /^\{"event":"(service|key)"/;
const GOAWAY = /^\{"event":"goaway"/;
const HEARTBEAT = /"func":"ping"(?!.* ping )/;
/** So soon that apps end subscriptions. */
const IDLE_MS = 1000;
const HOUR_MS = 3_600_000;
/** Twice the longest time between two heartbeats of a client. */
const LATE_MS = 4000;

/** Between two ticks of a heartbeat, at the least. */
const TICK_MS = 500;

/** At least one for each promise. */
export const PLANTS: readonly Plant[] = [
	// What passes between a client and a sidecar.
	row('a reply is sent twice', 'settles once and in time', 1, { sidecarWrites: doubled(REPLY) }),
	row('two replies exchange their ids', 'answers reach their caller', 1, { sidecarWrites: exchanged(PING_REPLY) }),
	row('a push is sent twice', 'revisions never go back', 1, { sidecarWrites: doubled(PUSH) }),
	row('two pushes change places', 'revisions never go back', 6, { sidecarWrites: reordered(PUSH) }),
	row('a delta builds on another snapshot than the last one', 'revisions never go back', 1, {
		sidecarWrites: replaced(/"base":(?=\d)/, '"base":1'),
	}),
	row('pushes are lost', 'ages are true', 9, { clientReads: lost(PUSH) }),
	row('an unsubscribe is answered and has no effect', 'revisions never go back', 4, {
		clientOptions: { idleSubscriptionMs: IDLE_MS },
		sidecarReads: replaced(/"func":"unwatch(Service|Key)"/, '"func":"ping"'),
	}),
	row('goaways are lost', 'goaway is heeded', 6, { clientReads: lost(GOAWAY) }),
	row('heartbeats of apps are lost', 'failures stay with whom they are of', 9, { sidecarReads: lost(HEARTBEAT) }),
	row('instances are taken out of answers', 'an empty answer is held back', 1, {
		sidecarWrites: replaced(/"instances":\[.*\]/, '"instances":[]'),
	}),
	row('an answer from before is sent as a live one', 'ages are true', 6, {
		sidecarWrites: replaced(/"source":"last-known-good"/, '"source":"live"'),
	}),
	row('a frame arrives in pieces', 'no fault escapes', 1, { clientReads: replaced(/\}$/, '') }),
	row('an error arrives with another code', 'errors are those that may come', 1, {
		clientReads: replaced(/"code":"[A-Z_]+"/, '"code":"BAD_REQUEST"'),
	}),
	row('a sidecar never learns that an app has closed its connection', 'nothing leaks', 1, { losesEnds: true }),
	// Clocks and signals.
	row('no timer of an app fires', 'settles once and in time', 1, { appClock: neverFires() }),
	row('timers of apps fire late', 'settles once and in time', 1, { appClock: firesLate(LATE_MS) }),
	row('the heartbeat timer of an app never fires', 'silence is noticed', 72, {
		hasStandstills: true,
		appClock: neverFires(500, 2000),
	}),
	row('a timer of an app that is cleared goes on', 'nothing leaks', 1, { appClock: neverClears }),
	row('a timer of a sidecar that is cleared goes on', 'nothing leaks', 1, { sidecarClock: neverClears }),
	row('no timer of a sidecar fires', 'the life cycle ends', 4, { sidecarClock: neverFires() }),
	row('SIGTERM is lost', 'the life cycle ends', 1, { losesSigterm: true }),
	row('the clock of a sidecar stands still', 'ages are true', 110, { sidecarClock: standsStill }),
	row('a sidecar does not notice that it stood still', 'ages are true', 381, {
		hasStandstills: true,
		sidecarClock: hidesStandstills,
	}),
	row('the time of day of a sidecar is an hour ahead', 'ages are true', 1, { sidecarClock: wallAhead(HOUR_MS) }),
	row('a clock shows the time of the process', 'time and chance are given', 1, { sidecarClock: readsProcess }),
	row('a clock shows the time of the process, and nothing is thrown', 'time and chance are given', 1, {
		sidecarClock: readsProcessQuietly,
	}),
	row('random numbers are those of the process', 'time and chance are given', 1, {
		random: () => () => Math.random(),
	}),
	// The registry.
	row('the registry keeps its first answer', 'changes arrive', 1, { answers: keepsFirst }),
	row('every second answer of the registry is an older one', 'revisions never go back', 35, { answers: goesBack }),
	row('two queries have one answer', 'answers are what the registry had', 1, { ignoresConditions: true }),
	row('an instance of no service is among the answers', 'answers reach their caller', 7, { hasStranger: true }),
	row('the registry is asked with the index of before', 'a watch asks anew', 3, {
		asks: (index, before) => (index === 0 ? before : index),
	}),
	row('the registry fails with an error of the caller', 'errors are those that may come', 1, {
		error: failsWith('BAD_REQUEST'),
	}),
	row('a registration is acknowledged and not written', 'nothing acknowledged is lost', 1, {
		registrar: losesRegistrations,
	}),
	row('the registry keeps an older word', 'nothing acknowledged is lost', 5, { registrar: losesLastWord }),
	row('that an instance is critical is not written', 'silence is noticed', 2, { registrar: losesCritical }),
	row('a deregistration is acknowledged and not done', 'nothing leaks', 7, { registrar: losesDeregistrations }),
	// What a client and a sidecar are given, and what stands between an app and its client.
	row('a sidecar is told to hold nothing back', 'an empty answer is held back', 6, { emptyHoldMs: 0 }),
	row('a client is given larger limits', 'memory is bounded', 2, {
		clientOptions: { inFlightMax: 4096, waitingMax: 65_536 },
	}),
	row('an app gives up what is known when it has no connection', 'a known lookup goes on', 4, {
		diplomat: forgetsWhenLost,
	}),
	row('an app does not wait for what it does not know', 'what may be answered is waited for', 3, {
		diplomat: failsFirstLookups,
	}),
	row('an app takes an answer from before for a live one', 'ages are true', 1, { diplomat: callsStaleLive }),
	row('a lost connection counts as true until the loss was noticed', 'ages are true', 1, {
		diplomat: countsFromLoss(0),
	}),
	row('the heartbeat takes the time of its tick for that of the last byte', 'ages are true', 1, {
		diplomat: countsFromLoss(TICK_MS),
	}),
	row('an app has its answers late', 'settles once and in time', 1, { diplomat: answersLate(LATE_MS) }),
	row('an app reports that every call has failed', 'failures stay with whom they are of', 53, {
		diplomat: reportsFailures,
	}),
	row('the end of a call is reported twice', 'settles once and in time', 1, { begin: reportsEndsTwice }),
	...EVENT_PLANTS,
	...SERVER_PLANTS,
];

/** The plant of this name; throws if it is unknown. */
export function plantOf(name: string): Plant {
	const plant = PLANTS.find((one) => one.name === name);
	if (plant !== undefined) return plant;
	throw new RangeError(`unknown plant "${name}"; expected one of: ${PLANTS.map((one) => one.name).join(', ')}`);
}

function row(name: string, invariant: Invariant, seed: number, injection: Injection): Plant {
	return { name, invariant, seed, injection: { hasEvents: false, ...injection } };
}
