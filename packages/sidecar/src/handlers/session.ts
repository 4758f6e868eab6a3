import { type HelloReply, PROTOCOL_VERSIONS, SpockError, type StatusReply, type WireLimits } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import { answer, type Handler } from '../connection/answer.ts';
import { ReplyCache } from './reply-cache.ts';

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

/** What the sidecar knows of itself. It grows with what is watched, which clients decide. */
export function statusHandler(status: () => StatusReply, clock: Pick<Clock, 'now'>): Handler<'status'> {
	const replies = new ReplyCache<StatusReply>(clock);
	return () => replies.find('') ?? replies.put('', answer(status()));
}
