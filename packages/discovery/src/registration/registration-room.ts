import { SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import { shareOf } from '../foundation/registrar.ts';
import type { Registration } from './registration.ts';
import type { RegistrationHolder } from './registration-holders.ts';

/** Registrations that were replaced and are not yet deregistered, as while the registry is away. */
const REPLACED_MAX = 64;

/** Of all registrations, those that one share may have: others have room for as many. */
const REGISTRATIONS_SHARE = 0.5;

/** What a {@link RegistrationRoom} acts on. */
export interface RegistrationRoomOptions {
	readonly registrationsMax: number;
	readonly registrationsPerHolderMax: number;
	/** How long one that no client holds is safe: its client may only be reconnecting. */
	readonly graceMs: number;
	readonly clock: Clock;
	readonly registrations: ReadonlyMap<string, Registration>;
}

/**
 * The limits of registrations. Those that outlive their clients do not keep the living out: where there is no room, a new registration
 * replaces one that no client holds, of the app (or else the client) that has most of those, the one that was left last. It is deregistered.
 */
export class RegistrationRoom {
	readonly #options: RegistrationRoomOptions;
	readonly #replaced = new Set<Registration>();

	constructor(options: RegistrationRoomOptions) {
		this.#options = options;
	}

	/** Makes room for one that this client registers, `known` if it is here already. Throws OVERLOADED, and UNKNOWN_FUNC if the limit is 0. */
	enter(id: string, known: Registration | undefined, holder: RegistrationHolder): void {
		const { registrationsMax, registrations } = this.#options;
		if (registrationsMax === 0) {
			const message = 'this sidecar registers nothing: its limit of registrations is 0';
			throw new SpockError('UNKNOWN_FUNC', message, { details: { registrationsMax } });
		}
		this.#refuseHolder(id, known, holder);
		// One that was replaced, and is registered again, needs room like a new one.
		if (known !== undefined && !this.#replaced.has(known)) return;
		if (registrations.size - this.#replaced.size >= registrationsMax) this.#replace(id);
		if (known !== undefined) this.#replaced.delete(known);
	}

	/** It is here no longer. */
	left(registration: Registration): void {
		this.#replaced.delete(registration);
	}

	#replace(id: string): void {
		const { registrationsMax } = this.#options;
		const victim = this.#replaced.size < REPLACED_MAX ? this.#unheld() : undefined;
		if (victim === undefined) {
			const message = `${registrationsMax} instances are registered here, which is the limit`;
			throw new SpockError('OVERLOADED', message, { details: { id, registrationsMax } });
		}
		this.#replaced.add(victim);
		// It goes on retrying, and reports its outcome by events.
		victim.withdraw().catch(() => undefined);
	}

	/** The one that is replaced next. */
	#unheld(): Registration | undefined {
		const { registrations, clock, graceMs } = this.#options;
		const before = clock.now() - graceMs;
		const shares = new Map<string, Registration[]>();
		for (const one of registrations.values()) {
			if (one.phase !== 'held' || one.unheldSinceMs === undefined || one.unheldSinceMs > before) continue;
			const share = shareOf(one.definition.value);
			shares.set(share, [...(shares.get(share) ?? []), one]);
		}
		const most = Math.max(...[...shares.values()].map(({ length }) => length));
		const candidates = [...shares.values()].filter(({ length }) => length === most).flat();
		const [first, ...others] = candidates;
		return others.reduce((a, b) => ((b.unheldSinceMs ?? 0) >= (a?.unheldSinceMs ?? 0) ? b : a), first);
	}

	#refuseHolder(id: string, known: Registration | undefined, holder: RegistrationHolder): void {
		const { registrationsMax, registrationsPerHolderMax, registrations } = this.#options;
		if (known?.holders.has(holder)) return;
		const all = [...registrations.values()];
		const count = all.filter(({ holders }) => holders.has(holder)).length;
		if (count >= registrationsPerHolderMax && holder.isSidecar !== true) {
			const message = `this connection has registered ${count} instances, which is the limit`;
			throw new SpockError('OVERLOADED', message, { details: { id, registrationsPerHolderMax } });
		}
		const { share } = holder;
		if (share === undefined || known?.holders.hasOfShare(share)) return;
		const shareMax = Math.max(registrationsPerHolderMax, Math.ceil(registrationsMax * REGISTRATIONS_SHARE));
		if (all.filter(({ holders }) => holders.hasOfShare(share)).length < shareMax) return;
		const message = `the clients of this app or address have registered ${shareMax} instances, which is their share of ${registrationsMax}`;
		throw new SpockError('OVERLOADED', message, { details: { id, registrationsMax } });
	}
}
