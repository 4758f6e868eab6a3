import type { SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import { isPassed } from '../client/consul-call.ts';
import type { ConsulQuestion } from '../client/consul-client.ts';
import type { AddressAsk } from './address-calls.ts';
import type { AnsweredBy, BelievedCalls } from './believed-calls.ts';

/** How long after a refusal for want of room a call is made once more: those who hold too much have given something up by then. */
const ROOM_MS = 200;

/** How long after every address has refused a token as unknown the refusal of one alone is believed. */
const TOKEN_REFUSED_MS = 10_000;

/** Which address answered. */
export interface Answered<T> {
	readonly number: number;
	readonly value: T;
	readonly by: AnsweredBy;
}

/** One question to the addresses in turn. */
export interface Round<T> {
	readonly question: ConsulQuestion<T>;
	/** The number of the address that is asked first. */
	readonly first: number;
	/** How an address is asked; `addressesLeft` counts it. */
	readonly ask: (number: number, addressesLeft: number) => AddressAsk;
	readonly signal: AbortSignal | undefined;
	/** Called after each address, whatever its outcome. */
	readonly ended?: (number: number) => void;
	/** See `BelievedCalls.ask`. */
	readonly isOldGood?: boolean;
}

/** What {@link AddressRounds} need. */
export interface AddressRoundsOptions {
	readonly clock: Clock;
	/** How many addresses there are. */
	readonly count: number;
	readonly believed: BelievedCalls;
	/** It is not asked first any more, and given nothing more to hold for a while. */
	readonly failed: (number: number) => void;
	readonly answered: (number: number) => void;
	/** An address has refused for want of room. */
	readonly lessRoom: () => void;
	/** Throws CLOSED once nothing is asked any more. */
	readonly refuseIfClosed: () => void;
}

/** Asks one address after the other until one answers: which failure another address may not have, and which is the answer. */
export class AddressRounds {
	readonly #options: AddressRoundsOptions;
	/** When every address refused the token as unknown last. */
	#tokenRefusedAtMs = Number.NEGATIVE_INFINITY;

	constructor(options: AddressRoundsOptions) {
		this.#options = options;
	}

	/** Each address once, and the first once more where all are full. Rejects with the failure of the last one, or one that is final. */
	async ask<T>({ question, first, ask, signal, ended, isOldGood = false }: Round<T>): Promise<Answered<T>> {
		const { clock, count, believed, lessRoom, refuseIfClosed } = this.#options;
		const behind = new Set<number>();
		for (let attempt = 0; ; attempt++) {
			const number = (first + attempt) % count;
			const hasOther = attempt + 1 < count;
			try {
				const asked = ask(number, count - attempt);
				const answered = await believed.ask(number, asked, question, signal, isOldGood && !hasOther);
				this.#options.answered(number);
				for (const one of behind) this.#failedAt(one, question);
				return { number, ...answered };
			} catch (reason) {
				const error = reason as SpockError;
				// Nothing was asked, or nothing had changed: no sign of how the address is.
				if (error.details['isQueued'] === true || error.details['isQuietEnd'] === true) throw error;
				if (error.details['isUnknownToken'] === true) {
					// A server that has just started refuses every token until it has read its data. What all refuse is unknown.
					behind.add(number);
					const nowMs = clock.now();
					if (behind.size === count) this.#tokenRefusedAtMs = nowMs;
					if (hasOther && nowMs - this.#tokenRefusedAtMs >= TOKEN_REFUSED_MS) continue;
					throw error;
				}
				// Another server may have a leader, room (429), or a working network; none knows a permission better.
				if (error.code !== 'UNAVAILABLE') throw error;
				const isFull = error.details['isFull'] === true;
				// That Consul cannot answer this query is no failure of the address.
				if (error.details['isRefused'] === true) {
					if (hasOther) continue;
					throw error;
				}
				if (isFull) lessRoom();
				else this.#failedAt(number, question);
				if (hasOther) continue;
				if (!isFull || attempt >= count || !(await isPassed(clock, ROOM_MS, signal))) throw error;
				refuseIfClosed();
			} finally {
				ended?.(number);
			}
		}
	}

	#failedAt(number: number, question: Pick<ConsulQuestion<unknown>, 'parameters'>): void {
		this.#options.believed.failed(number, question);
		this.#options.failed(number);
	}
}

/** Of the time that is left, for one of those that are left; the last one may be asked once more. */
export function shareOf(leftMs: number, addressesLeft: number): number {
	return Math.max(1, Math.floor(leftMs / Math.max(1, addressesLeft)));
}
