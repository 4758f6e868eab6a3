import { channel } from 'node:diagnostics_channel';

import type { KeyQuery, SpockError } from '@spock/protocol';

// Applications subscribe with node:diagnostics_channel by the names below. Nothing is built or published while nobody
// has subscribed. https://nodejs.org/api/diagnostics_channel.html

/** `spock:client:connect`: hello was answered. */
export interface ConnectMessage {
	readonly address: string;
	/** Name and version the sidecar gave, or null for a baseline sidecar. */
	readonly sidecar: string | null;
	/** True for every connection but the first. */
	readonly again: boolean;
}

/** `spock:client:disconnect`: a connection that had been ready is gone, or an attempt failed. */
export interface DisconnectMessage {
	readonly address: string;
	readonly error: SpockError;
	/** True if the connection had been ready. */
	readonly wasReady: boolean;
}

/** `spock:client:request:start`: a call was made; the same `call` comes again at its end. */
export interface RequestStartMessage {
	readonly func: string;
	readonly call: object;
}

/** `spock:client:request:end`: a call was settled; `error` is undefined when it succeeded. */
export interface RequestEndMessage extends RequestStartMessage {
	readonly durationMs: number;
	readonly error: SpockError | undefined;
}

/** `spock:client:fault`: the sidecar sent what the protocol does not allow, or a reply that nobody waits for. */
export interface FaultMessage {
	readonly address: string;
	readonly kind: 'frame' | 'late reply' | 'push' | 'failure without a request';
	readonly message: string;
}

/** `spock:client:config:error`: a configuration is not what the registry says; `error` says why. Never with a value. */
export interface ConfigErrorMessage extends KeyQuery {
	readonly error: SpockError;
}

interface Publisher<T> {
	/** True while somebody listens: ask before building a message. */
	readonly hasSubscribers: boolean;
	publish(message: T): void;
}

export const connectChannel: Publisher<ConnectMessage> = channel('spock:client:connect');
export const disconnectChannel: Publisher<DisconnectMessage> = channel('spock:client:disconnect');
export const requestStartChannel: Publisher<RequestStartMessage> = channel('spock:client:request:start');
export const requestEndChannel: Publisher<RequestEndMessage> = channel('spock:client:request:end');
export const faultChannel: Publisher<FaultMessage> = channel('spock:client:fault');
export const configErrorChannel: Publisher<ConfigErrorMessage> = channel('spock:client:config:error');
