import type { SpockError } from '@spock/protocol';
import { type AgeClock, ageClockOf, type Clock } from '@spock/protocol/internal';

import type { AnswerMeta } from '../../../foundation/backend.ts';
import type { FetchAnswer } from '../../../watch/watch-loop.ts';
import type { ConsulParameters } from '../client/consul-call.ts';
import type { ConsulQuestion } from '../client/consul-client.ts';
import { type AddressAsk, CALL_MS, datacenterIn } from './address-calls.ts';
import { type AddressRounds, shareOf } from './address-rounds.ts';
import type { BelievedCalls } from './believed-calls.ts';
import type { HeldPlace } from './held-room.ts';

/** What was confirmed longer ago than this when it came is not called live. */
export const LIVE_AGE_MS_MAX = 10_000;
/** The server adds up to a sixteenth of the wait as jitter; two seconds more are for the network and a busy machine. */
const WAIT_SLACK = 1.0625;
const WAIT_SLACK_MS = 2000;
/**
 * For all further addresses together, where the one that held a query, or should have, has failed: until then what is served is called
 * live without a confirmation.
 */
const FURTHER_MS = 2000;

/** What a `BlockingQuery` needs of its connection to Consul. */
export interface BlockingQueryContext {
	readonly clock: Clock;
	/** How long the server holds a query in which nothing changes. */
	readonly waitMs: number;
	/** How many addresses there are. */
	readonly count: number;
	readonly rounds: AddressRounds;
	readonly believed: BelievedCalls;
	/** See `AddressCalls.isTimely`. */
	readonly isTimely: (number: number, datacenter: string | undefined) => boolean;
	/** The number of the address that is preferred now. */
	readonly preferred: () => number;
	/** Takes room for a query that has no place of its own; false where there is none. */
	readonly enter: (number: number) => boolean;
	readonly leave: (number: number) => void;
}

/** Where a query is held, and which address is asked first. */
export interface BlockingQueryPlaces {
	readonly placeNow?: (() => HeldPlace | undefined) | undefined;
	/** The number of the address to ask first, in place of the preferred one. */
	readonly firstNow?: (() => number) | undefined;
}

/** One call of a query. */
interface Asking {
	readonly index: number;
	readonly place: HeldPlace | undefined;
	/** By the age clock. */
	askedAtMs: number;
	isHeld: boolean;
	/** By when all further addresses must have answered, by the clock. */
	furtherUntilMs: number | undefined;
}

/**
 * One blocking query after the other, for one watch loop: the first does not block, nor does one to an address that did
 * not give the index. They are held where the watch has its place, which moves with them; with no place of its own where there is
 * room for one more; else they do not block. Where a proxy ends one that was held, it is asked again at once, once, and does not block
 * then. A server whose state was replaced by a snapshot ends what it holds with the index that it was asked with.
 * Source: https://github.com/hashicorp/consul/blob/v1.20.2/agent/blockingquery/blockingquery.go (AbandonCh)
 */
export class BlockingQuery<A extends FetchAnswer<unknown>> {
	readonly #context: BlockingQueryContext;
	readonly #question: ConsulQuestion<A>;
	readonly #places: BlockingQueryPlaces;
	readonly #ages: AgeClock;
	readonly #parameters: ConsulParameters;
	readonly #datacenter: string | undefined;
	/** The number of the address that gave the last index. */
	#origin: number | undefined;
	/** The index of the last answer: a lower one is believed only of the leader. */
	#known = 0;

	constructor(context: BlockingQueryContext, question: ConsulQuestion<A>, places: BlockingQueryPlaces) {
		this.#context = context;
		this.#question = question;
		this.#places = places;
		this.#ages = ageClockOf(context.clock);
		this.#parameters = question.parameters ?? {};
		this.#datacenter = datacenterIn(this.#parameters);
	}

	/** The answer after this index; 0: the one that is known now. Rejects with a SpockError. */
	async fetch(index: number, signal: AbortSignal): Promise<A> {
		try {
			return await this.#query(index, signal, false);
		} catch (reason) {
			// Not held: what is answered now shows how Consul is, and that this is no proxy with nothing behind it.
			if ((reason as SpockError).details?.['isQuietEnd'] === true) return this.#query(0, signal, true);
			throw reason;
		}
	}

	/** `isAgain`: of all that a caller is served nothing was confirmed since the wait before it. */
	async #query(index: number, signal: AbortSignal, isAgain: boolean, isBehind = false): Promise<A> {
		const { rounds, believed, preferred, leave, isTimely } = this.#context;
		const { placeNow, firstNow } = this.#places;
		const place = placeNow?.();
		const askedAtMs = this.#ages.now();
		const furtherUntilMs = isAgain ? this.#context.clock.now() + FURTHER_MS : undefined;
		const asking: Asking = { index, place, askedAtMs, isHeld: false, furtherUntilMs };
		const answered = await rounds.ask({
			question: this.#question,
			first: firstNow?.() ?? place?.settle(preferred()) ?? preferred(),
			ask: (number, addressesLeft) => this.#ask(asking, number, addressesLeft),
			signal,
			ended: (number) => {
				if (asking.isHeld && placeNow === undefined) leave(number);
			},
			isOldGood: this.#known === 0,
		});
		const { number, value: answer, by } = answered;
		if (!isBehind && believed.isBehind(number, by, this.#parameters, answer.index, this.#known)) {
			const again = await this.#query(0, signal, true, true);
			// Its state was replaced, where the leader answers the same.
			return index > 0 && again.index < index ? { ...again, isAbandoned: true } : again;
		}
		this.#known = answer.index;
		// It goes on where it was answered, or has no place any more.
		if (place?.move(number) === false) place.release();
		const readAtMs = this.#ages.now();
		const isEarly = asking.isHeld && readAtMs - asking.askedAtMs < this.#context.waitMs;
		// What was held may be older than its last byte was read: it may have waited for this process.
		const sentAtMs = asking.isHeld ? Math.max(asking.askedAtMs, this.#ages.sentAtMs()) : asking.askedAtMs;
		const isVouched = by !== 'none' && isTimely(number, this.#datacenter);
		const full = { ...answer, meta: agedMeta(answer.meta, readAtMs - sentAtMs, isVouched) };
		return isEarly && answer.index <= index ? { ...full, isAbandoned: true } : full;
	}

	#ask(asking: Asking, number: number, addressesLeft: number): AddressAsk {
		const { clock, count, isTimely, enter, waitMs } = this.#context;
		const { index, place } = asking;
		const isOrigin = number === this.#origin;
		const isFirst = this.#origin === undefined;
		// The address that is asked last is the one that answers, because a failure asks the next one.
		this.#origin = number;
		asking.askedAtMs = this.#ages.now();
		const nowMs = clock.now();
		// What is held at an address that is late would be no sign of how old it is.
		const canHold = index > 0 && isOrigin && isTimely(number, this.#datacenter);
		asking.isHeld = canHold && (this.#places.placeNow === undefined ? enter(number) : place?.number === number);
		if (addressesLeft < count) asking.furtherUntilMs ??= nowMs + FURTHER_MS;
		const { furtherUntilMs } = asking;
		if (asking.isHeld) {
			return {
				parameters: { ...this.#parameters, index: String(index), wait: `${waitMs}ms` },
				timeoutMs: Math.ceil(waitMs * WAIT_SLACK) + WAIT_SLACK_MS,
				isHeld: true,
				isProof: false,
			};
		}
		// An answer is as old as its call, and not as the wait for that.
		const taken = (): void => {
			asking.askedAtMs = this.#ages.now();
		};
		return {
			parameters: this.#parameters,
			timeoutMs: furtherUntilMs === undefined ? CALL_MS : shareOf(furtherUntilMs - nowMs, addressesLeft),
			isHeld: false,
			isProof: this.#parameters['cached'] === undefined,
			turn: { isFirst, untilMs: furtherUntilMs ?? nowMs + CALL_MS, taken },
		};
	}
}

/**
 * How fresh an answer is that was sent so long ago: as old as the call for it, or as the time that it waited for this process. What an
 * address that is late has held is no sign of how old it is.
 */
function agedMeta(meta: AnswerMeta | undefined, sentMsAgo: number, isTimely: boolean): AnswerMeta {
	const ageMs = (meta?.ageMs ?? 0) + sentMsAgo;
	return { ...meta, ageMs, ...((!isTimely || ageMs > LIVE_AGE_MS_MAX) && { isUnconfirmed: true }) };
}
