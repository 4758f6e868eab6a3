import type { RegistrationReply, ReportedStatus } from '@spock/protocol';

import type { InstanceHealth } from '../foundation/registrar.ts';

/** Clients of one registration that are remembered while they are away; the oldest are forgotten. */
const AWAY_MAX = 64;
const STATUSES: readonly ReportedStatus[] = ['critical', 'warning', 'passing'];

/** Whatever registered an instance: a connection of an app, or the app itself. */
export interface RegistrationHolder {
	/** The same for every connection of one client, and of no other; undefined for a client without one. */
	readonly identity?: string | undefined;
	/** The app of its token; undefined for a client that has shown none with a name. */
	readonly app?: string | undefined;
	/** Whose share of all registrations it uses. Default: none, and there is no share. */
	readonly share?: string;
	/** True for another sidecar, which registers for its own clients: it is limited by its share alone. Default false. */
	readonly isSidecar?: boolean;
	/** The newer of two connections of one client has the larger number: later requests of the older one are outdated. Default: none is. */
	readonly id?: number;
	/** Called whenever a registration that it holds changes. Must not throw. */
	told(registration: RegistrationReply): void;
}

/** The last report of one holder, and its claims that were not given up. */
interface Held {
	claims: number;
	health: InstanceHealth;
	/** Why its report does not count now: it was silent for too long. */
	silence: string | undefined;
}

/**
 * The holders of one registration, with the last report of each. The connections of one client are one holder: the newest counts,
 * however long the kernel keeps a dead older one open.
 */
export class RegistrationHolders {
	/** In the order of their last reports. */
	readonly #held = new Map<RegistrationHolder, Held>();
	/** Clients whose connection is gone, by identity, and since when: they may come back, and report before they claim. */
	readonly #away = new Map<string, number>();

	get size(): number {
		return this.#held.size;
	}

	/** True if this connection, or another one of its client, holds it. */
	has(holder: RegistrationHolder): boolean {
		return this.#keyOf(holder) !== undefined;
	}

	/** True if a client of this share holds it. */
	hasOfShare(share: string): boolean {
		for (const holder of this.#held.keys()) if (holder.share === share) return true;
		return false;
	}

	/** True if just this connection holds it. */
	isHeldBy(holder: RegistrationHolder): boolean {
		return this.#held.has(holder);
	}

	/**
	 * True if a newer connection of the same client holds it. A request on this one is then outdated, for example one that the network
	 * delayed until a cable was replaced.
	 */
	isOutdated(holder: RegistrationHolder): boolean {
		const { id: newest } = this.#keyOf(holder) ?? {};
		return newest !== undefined && holder.id !== undefined && newest > holder.id;
	}

	/** True while another client holds it. */
	hasOthersThan(holder: RegistrationHolder): boolean {
		return this.size > (this.has(holder) ? 1 : 0);
	}

	/** One of them, the same until it reports something else. */
	get first(): RegistrationHolder | undefined {
		return this.#held.keys().next().value;
	}

	/** Adds a claim of this holder. Returns a function that gives it up; `last` is called when the last one is given up. */
	add(holder: RegistrationHolder, health: InstanceHealth, last: () => void): () => void {
		const key = this.#keyOf(holder);
		const held = (key === holder ? this.#held.get(holder) : undefined) ?? { claims: 0, health, silence: undefined };
		if (key !== undefined) this.#held.delete(key);
		if (holder.identity !== undefined) this.#away.delete(holder.identity);
		this.#held.set(holder, held);
		held.claims++;
		held.health = health;
		held.silence = undefined;
		return () => {
			held.claims--;
			// It may have been released since, and have come back.
			if (held.claims === 0 && this.#held.get(holder) === held) last();
		};
	}

	/** Sets the report of this holder. False if it is not a holder. */
	says(holder: RegistrationHolder, health: InstanceHealth): boolean {
		const key = this.#keyOf(holder);
		const held = key && this.#held.get(key);
		if (key === undefined || held === undefined) return false;
		this.#held.delete(key);
		this.#held.set(key, held);
		held.health = health;
		return true;
	}

	/** This connection is silent, for this reason; undefined: it is heard again. */
	silence(holder: RegistrationHolder, reason: string | undefined): void {
		const held = this.#held.get(holder);
		if (held !== undefined) held.silence = reason;
	}

	/** The best report of any of them, and of equal reports the latest. A silent holder counts as critical. */
	health(): InstanceHealth | undefined {
		let best: InstanceHealth | undefined;
		for (const { health, silence } of this.#held.values()) {
			const one: InstanceHealth = silence === undefined ? health : { status: 'critical', note: silence };
			if (best === undefined || STATUSES.indexOf(one.status) >= STATUSES.indexOf(best.status)) best = one;
		}
		return best;
	}

	/** Removes this connection, however many claims it has. Returns its last report; undefined if it is not a holder. */
	delete(holder: RegistrationHolder): InstanceHealth | undefined {
		const held = this.#held.get(holder);
		this.#held.delete(holder);
		return held?.health;
	}

	/** This client has lost its connection, and is expected back. */
	left(holder: RegistrationHolder, nowMs: number): void {
		const { identity } = holder;
		if (identity === undefined) return;
		this.#away.delete(identity);
		this.#away.set(identity, nowMs);
		const [oldest] = this.#away.keys();
		if (this.#away.size > AWAY_MAX && oldest !== undefined) this.#away.delete(oldest);
	}

	/** True for a client that held it until it lost its connection, not longer ago than this. */
	isAway({ identity }: RegistrationHolder, nowMs: number, graceMs: number): boolean {
		const leftAtMs = identity === undefined ? undefined : this.#away.get(identity);
		return leftAtMs !== undefined && nowMs - leftAtMs < graceMs;
	}

	/** Removes the client of this connection. */
	deleteClient(holder: RegistrationHolder): void {
		const key = this.#keyOf(holder);
		if (key !== undefined) this.#held.delete(key);
		if (holder.identity !== undefined) this.#away.delete(holder.identity);
	}

	clear(): void {
		this.#held.clear();
		this.#away.clear();
	}

	/** Notifies each of them of the state. */
	notify(reply: RegistrationReply): void {
		for (const holder of this.#held.keys()) holder.told(reply);
	}

	#keyOf(holder: RegistrationHolder): RegistrationHolder | undefined {
		if (this.#held.has(holder)) return holder;
		const { identity } = holder;
		if (identity === undefined) return undefined;
		for (const one of this.#held.keys()) if (one.identity === identity) return one;
		return undefined;
	}
}
