import type { SpockError } from '@spock/protocol';
import { Backoff, type Clock, type Random, type TimerHandle } from '@spock/protocol/internal';

import type { BackendWatch } from '../../../foundation/backend.ts';
import { WatchLoop, type WatchLoopOptions } from '../../../watch/watch-loop.ts';

/** While every watch fails, one of them tries again at the latest after this. */
const TRY_MS_MAX = 1000;
/** While what some watch was given is not confirmed: how often it is looked whether there is a leader, and asked again where that did not help. */
const LOOK_MS_MIN = 1000;
const LOOK_MS_MAX = 10_000;
/** How seldom the back-offs are ended because somebody was answered. */
const WAKE_MS_MIN = 1000;

/** A watch that runs; what it is told to do is done within a moment, and not at once. */
export interface ConsulWatch extends BackendWatch {
	/** Asks again without an index: what is known may be outdated, and the query that is held would not tell. */
	reread(): void;
	/** Callers wait: it tries again before its back-off ends, if it fails and Consul answers others. */
	retry(): void;
}

interface Member {
	readonly loop: Pick<WatchLoop<unknown>, 'retry' | 'reread'>;
	/**
	 * Of what it suffers alone: `tried` since another was answered, `own` when that was in vain. Others' answers then do not end its
	 * back-off, until it was answered or all are away.
	 */
	trouble: 'none' | 'tried' | 'own';
	/** What it was told last came too late. */
	isUnconfirmed: boolean;
	/** Why its last query failed; undefined if it did not. */
	error: SpockError | undefined;
	/** Some query of it has been answered. */
	isKnown: boolean;
}

/**
 * All watches of one Consul, so that one that is answered again ends the back-offs of the others. Alone each would wait for
 * the end of its own, up to 30 s after the outage. While all fail because Consul is away, one of them tries each second, in turn:
 * an outage costs a sidecar a query a second, however many watches it has.
 */
export class WatchRecovery {
	readonly #clock: Clock;
	readonly #random: Random | undefined;
	readonly #emptied: () => void;
	readonly #look: () => Promise<void>;
	readonly #looks: Backoff;
	#lookTimer: TimerHandle | undefined;
	/** In the order in which they are tried. */
	readonly #members = new Set<Member>();
	#timer: TimerHandle | undefined;
	#wokenAtMs = Number.NEGATIVE_INFINITY;

	/** `emptied` is called when the last watch was stopped. `look` resolves if there is a leader; it must settle. */
	constructor(
		clock: Clock,
		random: Random | undefined,
		emptied: () => void = () => undefined,
		look: () => Promise<void> = () => Promise.resolve(),
	) {
		this.#look = look;
		this.#looks = new Backoff({ delayMsMin: LOOK_MS_MIN, delayMsMax: LOOK_MS_MAX, ...(random && { random }) });
		this.#emptied = emptied;
		this.#clock = clock;
		this.#random = random;
	}

	/** Starts a watch. Whoever starts one stops it. */
	start<T>(options: Omit<WatchLoopOptions<T>, 'clock' | 'random'>): ConsulWatch {
		const loop = new WatchLoop<T>({
			...options,
			answered: (value, meta) => {
				const wasFailing = member.error !== undefined;
				member.error = undefined;
				member.trouble = 'none';
				member.isKnown = true;
				member.isUnconfirmed = meta?.isUnconfirmed === true;
				options.answered(value, meta);
				this.#answered(wasFailing);
				if (member.isUnconfirmed) this.#lookLater();
			},
			failed: (error) => {
				member.error = error;
				if (member.trouble === 'tried') member.trouble = 'own';
				options.failed(error);
				this.#failed();
			},
			clock: this.#clock,
			...(this.#random && { random: this.#random }),
		});
		const member: Member = { loop, trouble: 'none', isUnconfirmed: false, error: undefined, isKnown: false };
		this.#members.add(member);
		loop.start();
		return {
			reread: () => loop.reread(),
			retry: () => {
				// While all are away, one of them tries each second.
				if (member.error !== undefined && !isRefused(member.error) && !this.#areAllAway()) loop.retry();
			},
			stop: () => {
				loop.stop();
				this.#members.delete(member);
				if (this.#members.size > 0) return;
				this.stop();
				this.#emptied();
			},
		};
	}

	/** True while some watch was answered and has not failed since: what Consul refuses to another is no word about Consul. */
	get isSomeWell(): boolean {
		return [...this.#members].some(({ error, isKnown }) => isKnown && error === undefined);
	}

	/** Every watch that fails tries again within a moment. */
	retry(): void {
		this.#retry(() => true);
	}

	/** Every watch whose last answer came too late asks again within a moment. */
	confirm(): void {
		for (const { loop, error, isUnconfirmed } of this.#members) if (isUnconfirmed && error === undefined) loop.reread();
	}

	/** A server that has lost the leader ends nothing that it holds when there is one again. */
	#lookLater(): void {
		if (this.#lookTimer !== undefined) return;
		if (!this.#isSomeUnconfirmed()) {
			this.#looks.reset();
			return;
		}
		const again = (): void => {
			this.#lookTimer = undefined;
			this.#lookLater();
		};
		this.#lookTimer = this.#clock.setTimeout(() => {
			if (!this.#isSomeUnconfirmed()) return again();
			this.#look().then(
				() => {
					if (this.#lookTimer === undefined) return;
					this.confirm();
					again();
				},
				() => {
					if (this.#lookTimer === undefined) return;
					// Not for want of an answer to what was asked: it is looked again soon.
					this.#looks.reset();
					again();
				},
			);
		}, this.#looks.next());
		this.#lookTimer.unref?.();
	}

	#isSomeUnconfirmed(): boolean {
		return [...this.#members].some(({ error, isUnconfirmed }) => isUnconfirmed && error === undefined);
	}

	/** Ends what is planned; the watches end by themselves. */
	stop(): void {
		this.#clock.clearTimeout(this.#lookTimer);
		this.#lookTimer = undefined;
		this.#looks.reset();
		this.#clock.clearTimeout(this.#timer);
		this.#timer = undefined;
	}

	/**
	 * An answer to one whose query was held all the time is no sign of a denied token; one after a failure does. None is a sign of a
	 * query that Consul refuses, or that failed again while others were answered.
	 */
	#answered(wasFailing: boolean): void {
		if (this.#clock.now() - this.#wokenAtMs < WAKE_MS_MIN) return;
		this.#retry(({ trouble }, error) => !isRefused(error) && (wasFailing || (isAway(error) && trouble !== 'own')));
	}

	#retry(isWorthIt: (member: Member, error: SpockError) => boolean): void {
		for (const member of this.#members) {
			const { loop, error } = member;
			if (error === undefined || !isWorthIt(member, error)) continue;
			this.#wokenAtMs = this.#clock.now();
			member.trouble = 'tried';
			loop.retry();
		}
	}

	#failed(): void {
		if (!this.#areAllAway()) return;
		for (const member of this.#members) member.trouble = 'none';
		if (this.#timer !== undefined) return;
		const random = this.#random ?? Math.random;
		// Not all sidecars of a datacenter in step.
		const delayMs = (TRY_MS_MAX / 2) * (1 + random());
		this.#timer = this.#clock.setTimeout(() => {
			this.#timer = undefined;
			if (!this.#areAllAway()) return;
			const member = [...this.#members].find(({ error }) => error !== undefined && isAway(error)) as Member;
			this.#members.delete(member);
			this.#members.add(member);
			member.loop.retry();
			this.#failed();
		}, delayMs);
	}

	/** True if none is well, and some are away: what Consul has refused or denied is no sign of how it is now. */
	#areAllAway(): boolean {
		let someAway = false;
		for (const { error } of this.#members) {
			if (error === undefined) return false;
			someAway ||= isAway(error);
		}
		return someAway;
	}
}

/** True if Consul does not answer, or is not able to: no other query would be answered either. */
function isAway(error: SpockError): boolean {
	const status = error.details['status'];
	const isAnswer = isRefused(error) || (typeof status === 'number' && status < 500 && status !== 429);
	return error.code === 'UNAVAILABLE' && !isAnswer;
}

/** True if Consul has answered that it cannot answer this query, such as one for an unknown datacenter. */
function isRefused({ details }: SpockError): boolean {
	return details['isRefused'] === true;
}
