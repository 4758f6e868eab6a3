import type { AddressStatus } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { DiscoveryListener } from '../../../foundation/discovery-event.ts';

/** What is known of one address. */
interface Known {
	readonly url: string;
	lastSuccessAtMs?: number;
	/** Since when it is not `up`, and why; absent while it is. */
	trouble?: { readonly state: 'no-leader' | 'down'; readonly sinceMs: number; readonly error: string };
}

/** How each address of Consul was when it was asked last, whichever of them is preferred. */
export class AddressHealth {
	readonly #clock: Clock;
	readonly #onEvent: DiscoveryListener | undefined;
	readonly #known: readonly Known[];

	constructor(clock: Clock, urls: readonly string[], onEvent: DiscoveryListener | undefined) {
		this.#clock = clock;
		this.#onEvent = onEvent;
		this.#known = urls.map((url) => ({ url }));
	}

	/** It answered. `knowsLeader`: whether it knows a leader; undefined where the answer does not show it. */
	answered(number: number, knowsLeader: boolean | undefined): void {
		const known = this.#known[number] as Known;
		known.lastSuccessAtMs = this.#clock.now();
		if (knowsLeader === false) this.#fail(known, 'no-leader', 'it knows no leader');
		// What an agent answers by itself is no sign of a leader.
		else if (knowsLeader === true || known.trouble?.state === 'down') this.#recover(known);
	}

	/** It did not answer. `isLeaderless`: it answered that there is no leader. */
	failed(number: number, error: string, isLeaderless: boolean): void {
		const known = this.#known[number] as Known;
		if (isLeaderless) known.lastSuccessAtMs = this.#clock.now();
		this.#fail(known, isLeaderless ? 'no-leader' : 'down', error);
	}

	/** All of them, in order; `asked` is the number of the preferred one. */
	status(asked: number): AddressStatus[] {
		const nowMs = this.#clock.now();
		const age = (atMs: number | undefined): number | null => (atMs === undefined ? null : Math.max(0, nowMs - atMs));
		return this.#known.map(({ url, lastSuccessAtMs, trouble }, number) => ({
			address: url,
			state: trouble?.state ?? (lastSuccessAtMs === undefined ? 'untried' : 'up'),
			isAsked: number === asked,
			lastSuccessAgeMs: age(lastSuccessAtMs),
			error: trouble?.error ?? null,
			failingForMs: age(trouble?.sinceMs),
		}));
	}

	#fail(known: Known, state: 'no-leader' | 'down', error: string): void {
		const { url: address, trouble } = known;
		known.trouble = { state, error, sinceMs: trouble?.sinceMs ?? this.#clock.now() };
		if (trouble?.state !== state) this.#onEvent?.({ type: 'address-failed', address, reason: error });
	}

	#recover(known: Known): void {
		const { url: address, trouble } = known;
		if (trouble === undefined) return;
		delete known.trouble;
		this.#onEvent?.({ type: 'address-recovered', address, outageMs: this.#clock.now() - trouble.sinceMs });
	}
}

/** Why nothing can be asked: one or more addresses answer without a leader, and none with one. Undefined otherwise. */
export function noLeaderIn(addresses: readonly AddressStatus[]): string | undefined {
	const leaderless = addresses.filter(({ state }) => state === 'no-leader');
	const silent = addresses.filter(({ state }) => state === 'down');
	if (leaderless.length === 0 || leaderless.length + silent.length < addresses.length) return undefined;
	const names = (some: readonly AddressStatus[]): string => some.map(({ address }) => address).join(' and ');
	const answer = `${names(leaderless)} ${leaderless.length === 1 ? 'answers' : 'answer'} without one`;
	const fail = silent.length === 0 ? '' : `; ${names(silent)} ${silent.length === 1 ? 'fails' : 'fail'}`;
	return `no leader: ${answer}${fail}`;
}
