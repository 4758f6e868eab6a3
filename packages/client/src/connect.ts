import type { ServiceSource } from '@spock/protocol';
import { signalOption } from '@spock/protocol/internal';

import { throwIfAborted } from './call.ts';
import { Diplomat } from './diplomat.ts';
import { type DiplomatOptions, resolveOptions } from './options.ts';
import { SidecarSource } from './sidecar-source.ts';

/** Options of {@link connect}. */
export interface ConnectOptions extends DiplomatOptions {
	/** Stops waiting: `connect` rejects with ABORTED, its cause the signal's reason, and leaves nothing behind. */
	readonly signal?: AbortSignal;
}

/** Options of {@link createDiplomat}: an address, or a source of one's own. */
export interface CreateOptions extends DiplomatOptions {
	/**
	 * Direct mode: services come from this source and there is no sidecar. The client owns it from now on: `drain` and
	 * `close` close it. Options about the connection are not used.
	 */
	readonly source?: ServiceSource;
}

/**
 * Connects to the sidecar, waiting for one that is not there yet for `readyTimeoutMs`. Rejects with TIMEOUT, whose
 * message says what was found at the address and what to do; ABORTED; or PROTOCOL when the two have no version in common.
 * The caller ends the client with `drain` or `close`; a failed `connect` leaves nothing to end.
 */
export async function connect(options: ConnectOptions = {}): Promise<Diplomat> {
	const signal = signalOption('signal', options.signal);
	throwIfAborted(signal, 'connect');
	const diplomat = createDiplomat(options);
	try {
		await diplomat.ready({ signal });
		return diplomat;
	} catch (error) {
		await diplomat.close();
		throw error;
	}
}

/**
 * A client that is usable at once: it connects in the background, and calls wait for that within their deadlines (or, with
 * `whileDisconnected: 'fail'`, reject). Throws for a wrong option.
 */
export function createDiplomat(options: CreateOptions = {}): Diplomat {
	const { source } = options;
	const resolved = resolveOptions(options);
	if (source !== undefined) return new Diplomat(resolved, source);
	const sidecar = new SidecarSource(resolved);
	return new Diplomat(resolved, sidecar, sidecar);
}
