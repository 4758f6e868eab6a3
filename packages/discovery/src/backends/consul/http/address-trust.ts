import type { Clock, TimerHandle } from '@spock/protocol/internal';

/** How often an address is looked at that is in doubt, and has not caught up. */
const LOOK_MS_MIN = 100;
const LOOK_MS_MAX = 10_000;
/** One restore makes the index of every question lower: so long after an address was confirmed it is asked again, and is not in doubt. */
const CONFIRMED_MS = 1000;

/** What an {@link AddressTrust} needs. */
export interface AddressTrustOptions {
	readonly clock: Clock;
	/** The highest index of what that address knows by itself, or through the leader. */
	readonly indexAt: (number: number, datacenter: string | undefined, isLeaders: boolean) => Promise<number>;
}

interface Doubt {
	readonly number: number;
	readonly datacenter: string | undefined;
	/** What it knew by itself at the last look; undefined before the first one. */
	before: number | undefined;
	delayMs: number;
	look: 'none' | 'running' | TimerHandle;
}

/**
 * Which addresses are believed when they answer by themselves. A server that was restarted replays its log, and answers meanwhile with what
 * it knew once; its headers report a contact with the leader just now. So an address that has failed, or whose answer is older than
 * one before, is asked for the leader's answers until it knows all that the leader knows. An address that was never in doubt costs nothing.
 */
export class AddressTrust {
	readonly #options: AddressTrustOptions;
	/** By address and datacenter. */
	readonly #doubts = new Map<string, Doubt>();
	readonly #confirmedAtMs = new Map<string, number>();
	#isStopped = false;

	constructor(options: AddressTrustOptions) {
		this.#options = options;
	}

	/** Whether only the leader's answers are believed there, for a datacenter; undefined: its own. */
	isDoubted(number: number, datacenter: string | undefined): boolean {
		return this.#doubts.has(placeOf(number, datacenter));
	}

	/** The address has failed: it may have been restarted. */
	failed(number: number, datacenter: string | undefined): void {
		for (const one of new Set([datacenter, undefined])) this.#doubt(number, one);
	}

	/** It has answered with a lower index than before. */
	wentBack(number: number, datacenter: string | undefined): void {
		const confirmedAtMs = this.#confirmedAtMs.get(placeOf(number, datacenter)) ?? Number.NEGATIVE_INFINITY;
		if (this.#options.clock.now() - confirmedAtMs >= CONFIRMED_MS) this.#doubt(number, datacenter);
	}

	/** It has given an answer of the leader: from now on it is looked whether it has caught up. */
	answered(number: number, datacenter: string | undefined): void {
		const doubt = this.#doubts.get(placeOf(number, datacenter));
		if (doubt?.look === 'none') void this.#look(doubt);
	}

	/** Idempotent; nothing is asked after it. */
	stop(): void {
		this.#isStopped = true;
		for (const doubt of this.#doubts.values()) this.#end(doubt);
	}

	#doubt(number: number, datacenter: string | undefined): void {
		const place = placeOf(number, datacenter);
		const known = this.#doubts.get(place);
		// What it knew before it failed does not count.
		if (known !== undefined) this.#end(known);
		this.#doubts.set(place, { number, datacenter, before: undefined, delayMs: LOOK_MS_MIN, look: 'none' });
		this.#confirmedAtMs.delete(place);
	}

	#end(doubt: Doubt): void {
		if (typeof doubt.look !== 'string') this.#options.clock.clearTimeout(doubt.look);
		doubt.look = 'none';
	}

	async #look(doubt: Doubt): Promise<void> {
		const { clock } = this.#options;
		const place = placeOf(doubt.number, doubt.datacenter);
		const isCurrent = (): boolean => this.#doubts.get(place) === doubt && !this.#isStopped;
		doubt.look = 'running';
		// Where it fails, or has no leader, the questions fail too, and report it.
		const hasCaughtUp = await this.#hasCaughtUp(doubt).catch(() => false);
		if (!isCurrent()) return;
		if (hasCaughtUp) {
			this.#doubts.delete(place);
			this.#confirmedAtMs.set(place, clock.now());
			return;
		}
		const timer = clock.setTimeout(() => void this.#look(doubt), doubt.delayMs);
		timer.unref?.();
		doubt.look = timer;
		doubt.delayMs = Math.min(LOOK_MS_MAX, doubt.delayMs * 2);
	}

	/**
	 * Whether it knows what the leader knew before. One that knew more than the leader did then has not noticed yet that the cluster was
	 * restored from a snapshot.
	 */
	async #hasCaughtUp(doubt: Doubt): Promise<boolean> {
		const { indexAt } = this.#options;
		const { number, datacenter } = doubt;
		const before = doubt.before ?? (await indexAt(number, datacenter, false));
		const leaders = await indexAt(number, datacenter, true);
		if (before === leaders) return true;
		const own = await indexAt(number, datacenter, false);
		doubt.before = own;
		return before < leaders && leaders <= own;
	}
}

function placeOf(number: number, datacenter: string | undefined): string {
	return datacenter === undefined ? String(number) : `${number} ${datacenter}`;
}
