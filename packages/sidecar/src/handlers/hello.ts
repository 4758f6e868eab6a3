import { type HelloReply, PROTOCOL_VERSIONS, SpockError, type WireLimits } from '@spock/protocol';

import { answer, type Handler } from '../connection/answer.ts';

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
