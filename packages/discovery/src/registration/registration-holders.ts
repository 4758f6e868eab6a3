import type { RegistrationReply, ReportedStatus } from '@spock/protocol';

import type { InstanceHealth } from '../foundation/registrar.ts';

/** Clients of one registration that are remembered while they are away; the oldest are forgotten. */
const AWAY_MAX = 64;
const STATUSES: readonly ReportedStatus[] = ['critical', 'warning', 'passing'];

/** Whoever registered: a connection of an app, or the app itself. */
export interface RegistrationHolder {
	/** The same for every connection of one client, and of no other one; undefined for a client that says none. */
	readonly identity?: string | undefined;
	/** Of two connections of one client the newer has the larger: what the older says after it is late. Default: none is late. */
	readonly id?: number;
	/** Told whenever a registration that it holds changes. Must not throw. */
	told(registration: RegistrationReply): void;
}

/** What one holder has said, and by how many claims that were not given up. */
interface Held {
	claims: number;
	health: InstanceHealth;
	/** Why its word does not count now: nothing was heard of it for too long. */
	silence: string | undefined;
}

/**
 * Who holds one registration, and what each says of it. The connections of one client are one holder: the newest speaks
 * for it, however long the kernel keeps an older one that is dead.
 */
export class RegistrationHolders {
	/** In the order of their last words. */
	readonly #held = new Map<RegistrationHolder, Held>();
	/** Clients whose connection is gone, by their identity, and when it went: they come back, and their words may be there first. */
	readonly #away = new Map<string, number>();

	get size(): number {
		return this.#held.size;
	}

	/** True if this connection, or another one of its client, holds it. */
	has(holder: RegistrationHolder): boolean {
		return this.#keyOf(holder) !== undefined;
	}

	/**
	 * True if a newer connection of the same client holds it. What this one says then was said before that, and comes late: the network
	 * had kept it, say, until a cable was mended.
	 */
	isOutdated(holder: RegistrationHolder): boolean {
		const { id: newest } = this.#keyOf(holder) ?? {};
		return newest !== undefined && holder.id !== undefined && newest > holder.id;
	}

	/** True while another client holds it. */
	hasOthersThan(holder: RegistrationHolder): boolean {
		return this.size > (this.has(holder) ? 1 : 0);
	}

	/** One of them, the same until it says something else. */
	get first(): RegistrationHolder | undefined {
		return this.#held.keys().next().value;
	}

	/** One more claim of this holder. Gives what is to be called when it is given up; `last` is called with its last one. */
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
			// It may have been let go since, and have come again.
			if (held.claims === 0 && this.#held.get(holder) === held) last();
		};
	}

	/** What this holder says from now on. False if it is none. */
	says(holder: RegistrationHolder, health: InstanceHealth): boolean {
		const key = this.#keyOf(holder);
		const held = key && this.#held.get(key);
		if (key === undefined || held === undefined) return false;
		this.#held.delete(key);
		this.#held.set(key, held);
		held.health = health;
		return true;
	}

	/** Nothing is heard of this connection any more, for this reason; or it is again. */
	silence(holder: RegistrationHolder, reason: string | undefined): void {
		const held = this.#held.get(holder);
		if (held !== undefined) held.silence = reason;
	}

	/** The best that any of them says, and of equal words the latest. Of those that are silent nothing counts. */
	health(): InstanceHealth | undefined {
		let best: InstanceHealth | undefined;
		for (const { health, silence } of this.#held.values()) {
			const one: InstanceHealth = silence === undefined ? health : { status: 'critical', note: silence };
			if (best === undefined || STATUSES.indexOf(one.status) >= STATUSES.indexOf(best.status)) best = one;
		}
		return best;
	}

	/** Lets go this connection, however many claims it has. Gives what it said last; undefined if it holds nothing. */
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

	/** Lets go the client of this connection. */
	deleteClient(holder: RegistrationHolder): void {
		const key = this.#keyOf(holder);
		if (key !== undefined) this.#held.delete(key);
		if (holder.identity !== undefined) this.#away.delete(holder.identity);
	}

	clear(): void {
		this.#held.clear();
		this.#away.clear();
	}

	/** Tells each of them how it is. */
	tell(reply: RegistrationReply): void {
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
