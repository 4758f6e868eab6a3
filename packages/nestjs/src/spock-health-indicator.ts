import { Inject, Injectable, Optional } from '@nestjs/common';
import { Diplomat } from '@spock/client';
import type { AppRegistration } from '@spock/client/integrations';
import { booleanOption, knownMembers } from '@spock/protocol/internal';

/** Options of `SpockHealthIndicator.check`. */
export interface SpockHealthOptions {
	/** The client to look at. Default: the one without a name. */
	readonly diplomat?: Diplomat;
	/**
	 * True: `down` while there is no connection to the sidecar. Default false: lookups go on from what is known, so an app that waits
	 * for its sidecar keeps its traffic.
	 */
	readonly requireSidecar?: boolean;
}

/** What @nestjs/terminus takes from an indicator; nothing of that package is imported. */
export type SpockHealthResult<K extends string> = Record<
	K,
	{
		readonly status: 'up' | 'down';
		/** State of the connection to the sidecar. */
		readonly sidecar: string;
		/** State of the app's own registration, with the option `register`; `waiting` before the sidecar has accepted it. */
		readonly registration?: string;
		/** Why it is down, or why the registration is pending. */
		readonly message?: string;
	}
>;

/** By which client an app registers itself. */
const registrations = new WeakMap<Diplomat, AppRegistration>();

/** The app is registered by this client: its health is a part of the client's. */
export function followRegistration(diplomat: Diplomat, own: AppRegistration): void {
	registrations.set(diplomat, own);
}

/**
 * For a health check of @nestjs/terminus, or without it: `up` while the app can look services up and, with the option `register`, once
 * the registry has known it; `down` from the beginning of the shutdown.
 */
export class SpockHealthIndicator {
	readonly #diplomat: Diplomat | undefined;

	constructor(diplomat?: Diplomat) {
		this.#diplomat = diplomat;
	}

	/** Never rejects for what it reports; throws a TypeError for wrong options, or if there is no client without a name. */
	check<const K extends string>(key: K, options: SpockHealthOptions = {}): SpockHealthResult<K> {
		knownMembers('option', options, ['diplomat', 'requireSidecar']);
		const { diplomat = this.#diplomat, requireSidecar = false } = options;
		booleanOption('requireSidecar', requireSidecar);
		if (diplomat === undefined) throw new TypeError('give diplomat: there is no client without a name');
		const { state, lastError } = diplomat.status();
		const own = registrations.get(diplomat);
		const isOpen = state !== 'draining' && state !== 'closed';
		const isUp = isOpen && own?.isReady !== false && (!requireSidecar || state === 'ready');
		const message = reasonOf(own) ?? (isUp ? null : lastError);
		const result = {
			status: isUp ? ('up' as const) : ('down' as const),
			sidecar: state,
			...(own !== undefined && { registration: own.registration?.state ?? 'waiting' }),
			...(message !== null && { message }),
		};
		return { [key]: result } as SpockHealthResult<K>;
	}
}
Injectable()(SpockHealthIndicator);
Optional()(SpockHealthIndicator, undefined, 0);
Inject(Diplomat)(SpockHealthIndicator, undefined, 0);

function reasonOf(own: AppRegistration | undefined): string | null {
	return own?.registration?.error ?? (own?.error instanceof Error ? own.error.message : null);
}
