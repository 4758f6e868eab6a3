import { type HelloReply, PROTOCOL_VERSIONS, SpockError, type TakeOverReply, type WireLimits } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import { type Answer, answer, type Caller, type Handler } from '../connection/answer.ts';
import type { HandOver } from '../take-over/hand-over.ts';
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
