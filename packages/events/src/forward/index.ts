import { Forwarding, type ForwardingHost, type ForwardingOptions } from './forwarding.ts';

export type { ForwardMistakes } from './forwarder.ts';
export { Forwarding, type ForwardingHost, type ForwardingOptions } from './forwarding.ts';

/** Forwarding for one service, once that is there. */
export type MakeForwarding = (host: ForwardingHost) => Forwarding;

/**
 * Streams that go from the sidecar's log to stores elsewhere, for the option `stores` of {@link EventService}:
 *
 *     new EventService({ ..., stores: forwardTo({ storeOf: (stream) => (stream === 'audit' ? undefined : store) }) });
 *
 * It is an entry of its own, so that who has no such store loads none of it. Stores are not closed by the service.
 */
export function forwardTo(options: ForwardingOptions): MakeForwarding {
	return (host) => new Forwarding(options, host);
}
