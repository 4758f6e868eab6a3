import type { SpockError } from '@spock/protocol';

/** Why a client ended. `refused`: the sidecar speaks another version of the protocol; `error` says so. */
export interface Closed {
	readonly reason: 'drain' | 'close' | 'refused';
	readonly error?: SpockError;
}
