import {
	type HelloReply,
	PROTOCOL_VERSIONS,
	SpockError,
	type StatusReply,
	type TakeOverReply,
	type WireLimits,
} from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import { type Answer, answer, type Caller, type Handler } from '../connection/answer.ts';
import type { HandOver } from '../take-over/hand-over.ts';
import type { StatusView } from './status-view.ts';
import { ToldAgain } from './told-again.ts';

/** Optional parts of the protocol that this sidecar speaks. */
export const FEATURES: readonly string[] = Object.freeze(['push', 'goaway', 'window']);

/** Agrees on a version and tells who this process is and what it allows. */
export function helloHandler(sidecar: string, instance: string, limits: WireLimits): Handler<'hello'> {
	return (hello, { caller }) => {
		const { versions } = hello;
		const version = PROTOCOL_VERSIONS.find((known) => versions.includes(known));
		if (version === undefined) {
			const message = `this sidecar speaks version ${PROTOCOL_VERSIONS.join(', ')}, the client ${versions.join(', ')}`;
			throw new SpockError('UNSUPPORTED_VERSION', message, { details: { versions: PROTOCOL_VERSIONS } });
		}
		caller.greet(hello);
		return answer<HelloReply>({ version, sidecar, instance, features: FEATURES, limits });
	};
}

/** Gives the value back. */
export const pingHandler: Handler<'ping'> = (data) => answer(data);

/** Somebody takes the place of this sidecar, or says that it has. */
export function takeOverHandler(handOver: HandOver, clock: Pick<Clock, 'now'>): Handler<'takeOver'> {
	const told = new ToldAgain<TakeOverReply>(clock);
	const begin = (caller: Caller): Answer<TakeOverReply> => {
		// Whoever says it is noted each time, and refused when there is nothing to take any more.
		handOver.begin(caller);
		const key = String(caller.frameBytesMax);
		return told.find(key) ?? told.tell(key, answer(handOver.questions(caller.frameBytesMax)));
	};
	return ({ step }, { caller }) => (step === 'begin' ? begin(caller) : handOver.finish().then(answer));
}

/** Services in a view: nobody reads more. */
const VIEW_SERVICES_MAX = 2000;
/** What a reply is longer than its payload, at most. */
const REPLY_HEAD_BYTES = 64;

/** What the sidecar knows of itself, and on demand what its status page shows. It grows with what is watched, which clients decide. */
export function statusHandler(
	status: () => StatusReply,
	clock: Pick<Clock, 'now'>,
	view?: () => StatusView,
): Handler<'status'> {
	const told = new ToldAgain<StatusReply>(clock);
	const withView = (bytesMax: number): Answer<StatusReply> => {
		const rest = { ...status(), watches: [], keyWatches: [] };
		return view === undefined ? answer(rest) : fitting(rest, view(), bytesMax);
	};
	return (data, { caller: { frameBytesMax } }) => {
		const isWide = data?.view === true && view !== undefined;
		const key = isWide ? String(frameBytesMax) : '';
		return told.find(key) ?? told.tell(key, isWide ? withView(frameBytesMax - REPLY_HEAD_BYTES) : answer(status()));
	};
}

/** With as many changes, and then services, as fit: in an outage there is most to tell, and most need to see it. */
function fitting(rest: StatusReply, whole: StatusView, bytesMax: number): Answer<StatusReply> {
	let view: StatusView = { ...whole, services: whole.services.slice(0, VIEW_SERVICES_MAX) };
	for (;;) {
		const payload = answer<StatusReply>({ ...rest, view });
		const { changes, services } = view;
		if (Buffer.byteLength(payload) <= bytesMax || changes.length + services.length === 0) return payload;
		if (changes.length > 0) view = { ...view, changes: changes.slice(changes.length - (changes.length >> 1)) };
		else view = { ...view, services: services.slice(0, services.length >> 1) };
	}
}
