import { SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import { parseIndex } from '../client/answer-headers.ts';
import { CATALOG_TABLES } from '../client/catalog-tables.ts';
import type { ConsulParameters } from '../client/consul-call.ts';
import type { ConsulQuestion } from '../client/consul-client.ts';
import { type AddressAsk, type AddressCalls, datacenterIn } from './address-calls.ts';
import { AddressTrust } from './address-trust.ts';

/** A deadline for what a look asks. */
const LOOK_MS = 2000;
/** A key that is missing has the index of all keys. Source: https://developer.hashicorp.com/consul/api-docs/kv#read-key */
const MISSING_KEY = '.spock-index';

/** All tables that questions are about. */
const TABLES: readonly Pick<ConsulQuestion<number>, 'parameters' | 'send'>[] = [
	...CATALOG_TABLES.map(({ filter, send }) => ({ parameters: { filter }, send })),
	{ send: (client, common) => client.kv.get({ ...common, key: MISSING_KEY }) },
];

/**
 * Who an answer is believed for: the address that gave it `itself`, or the `leader`, which it was asked for. `none`: the address is in
 * doubt, and has no leader.
 */
export type AnsweredBy = 'itself' | 'leader' | 'none';

/** What {@link BelievedCalls} need. */
export interface BelievedCallsOptions {
	readonly clock: Clock;
	readonly calls: AddressCalls;
	/** The parameters of reads in a datacenter; undefined: the addresses' own. */
	readonly parameters: (datacenter: string | undefined) => ConsulParameters;
}

/** Calls to one address, whose answers are the leader's while the address is in doubt: see {@link AddressTrust}. */
export class BelievedCalls {
	readonly #options: BelievedCallsOptions;
	readonly #trust: AddressTrust;

	constructor(options: BelievedCallsOptions) {
		this.#options = options;
		const { clock } = options;
		this.#trust = new AddressTrust({ clock, indexAt: (...of) => this.#indexAt(...of) });
	}

	/** As `AddressCalls.ask`. `isOldGood`: where there is no leader, what the address knows is better than nothing. */
	async ask<T>(
		number: number,
		ask: AddressAsk,
		question: ConsulQuestion<T>,
		signal: AbortSignal | undefined,
		isOldGood: boolean,
	): Promise<{ readonly value: T; readonly by: AnsweredBy }> {
		const { calls } = this.#options;
		const { parameters } = ask;
		const datacenter = datacenterIn(parameters);
		const isDoubted = !isConsistent(parameters) && this.#trust.isDoubted(number, datacenter);
		if (!isDoubted) return { value: await calls.ask(number, ask, question, signal), by: 'itself' };
		try {
			const value = await calls.ask(number, { ...ask, parameters: leadersOf(parameters) }, question, signal);
			this.#trust.answered(number, datacenter);
			return { value, by: 'leader' };
		} catch (reason) {
			if (!isOldGood || !isFailedAnswer(reason)) throw reason;
			return { value: await calls.ask(number, ask, question, signal), by: 'none' };
		}
	}

	/** An address has failed to answer a question. */
	failed(number: number, { parameters = {} }: Pick<ConsulQuestion<unknown>, 'parameters'>): void {
		this.#trust.failed(number, datacenterIn(parameters));
	}

	/** True if an address has answered by itself with a lower index than was known before: it must be asked again. */
	isBehind(number: number, by: AnsweredBy, parameters: ConsulParameters, index: number, known: number): boolean {
		if (index >= known || by !== 'itself' || isConsistent(parameters)) return false;
		this.#trust.wentBack(number, datacenterIn(parameters));
		return true;
	}

	/** Idempotent; no address is looked at after it. */
	stop(): void {
		this.#trust.stop();
	}

	async #indexAt(number: number, datacenter: string | undefined, isLeaders: boolean): Promise<number> {
		const { calls, parameters } = this.#options;
		const own = parameters(datacenter);
		const indexes = TABLES.map(async (table) => {
			const read = { ...(isLeaders ? leadersOf(own) : own), ...table.parameters };
			const ask = { parameters: read, timeoutMs: LOOK_MS, isHeld: false, isProof: true };
			const question = { ...table, parameters: read, read: indexOf };
			return calls.ask(number, ask, question, undefined).catch((error: SpockError) => {
				// What the token may not read is not asked for either.
				if (error.code === 'ACL_DENIED') return 0;
				throw error;
			});
		});
		return Math.max(...(await Promise.all(indexes)));
	}
}

function indexOf({ headers }: Parameters<ConsulQuestion<number>['read']>[0]): number {
	const index = parseIndex(headers['x-consul-index']);
	if (index === undefined) throw new Error('its response has no X-Consul-Index');
	return index;
}

/** Whether the leader answers it once that has applied all that it leads. */
function isConsistent(parameters: ConsulParameters): boolean {
	return parameters['consistent'] !== undefined;
}

/**
 * The same for the leader, once it has applied its log: one that was just restarted leads before that, and answers a default read with
 * what it knew once. What an agent has cached may be from before.
 */
function leadersOf({ stale: _stale, cached: _cached, ...others }: ConsulParameters): ConsulParameters {
	return { ...others, consistent: '' };
}

/** Consul has answered that it cannot answer, as it does where it has no leader. */
function isFailedAnswer(reason: unknown): boolean {
	const status = reason instanceof SpockError ? reason.details['status'] : undefined;
	return typeof status === 'number' && status >= 500;
}
