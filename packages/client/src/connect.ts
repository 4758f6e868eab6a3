import { type ServiceSource, SpockError } from '@spock/protocol';
import { signalOption } from '@spock/protocol/internal';

import { Diplomat } from './diplomat.ts';
import { throwIfAborted } from './foundation/errors.ts';
import { type DiplomatOptions, type ResolvedOptions, resolveOptions } from './foundation/options.ts';
import { RemoteSource } from './sources/remote-source.ts';

/** Options of {@link connect}. */
export interface ConnectOptions extends DiplomatOptions {
	/** Stops waiting: `connect` rejects with ABORTED, its cause the signal's reason, and leaves nothing behind. */
	readonly signal?: AbortSignal;
}

/** Options of {@link createDiplomat}: an address, or a source of the caller's. */
export interface CreateOptions extends DiplomatOptions {
	/**
	 * Direct mode: services come from this source and there is no sidecar. The client owns it from now on: `drain` and
	 * `close` close it. Options about the connection are not used.
	 */
	readonly source?: ServiceSource;
}

/**
 * Connects to the sidecar, and waits up to `readyTimeoutMs` for one that has not started yet. Rejects with TIMEOUT, whose
 * message reports what was found at the address and what to do; ABORTED; or PROTOCOL when the two have no version in common.
 * The caller ends the client with `drain` or `close`; a failed `connect` leaves nothing to end.
 */
export async function connect(options: ConnectOptions = {}): Promise<Diplomat> {
	const signal = signalOption('signal', options.signal);
	throwIfAborted(signal, 'connect');
	const resolved = resolveOptions(options);
	const { readyTimeoutMs, fallbackAfterMs } = resolved;
	const diplomat = made(options, resolved);
	try {
		const timeoutMs = options.fallback === undefined ? readyTimeoutMs : Math.min(readyTimeoutMs, fallbackAfterMs);
		await diplomat.ready({ signal, timeoutMs });
		return diplomat;
	} catch (error) {
		// With a fallback the client works without a sidecar, and keeps trying to connect.
		if (options.fallback !== undefined && SpockError.is(error, 'TIMEOUT')) return diplomat;
		await diplomat.close();
		throw error;
	}
}

/**
 * A client that is usable at once: it connects in the background, and calls wait for that within their deadlines (or, with
 * `whileDisconnected: 'fail'`, reject). Throws for a wrong option.
 */
export function createDiplomat(options: CreateOptions = {}): Diplomat {
	return made(options, resolveOptions(options));
}

function made({ source, fallback }: CreateOptions, resolved: ResolvedOptions): Diplomat {
	if (source !== undefined) {
		if (fallback !== undefined) throw new TypeError('give source or fallback, not both: a source replaces the sidecar');
		return new Diplomat(resolved, source);
	}
	const sidecar = new RemoteSource(resolved, fallback);
	return new Diplomat(resolved, sidecar, sidecar);
}
