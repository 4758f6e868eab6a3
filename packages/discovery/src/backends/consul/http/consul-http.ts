import { type BackendStatus, SpockError } from '@spock/protocol';
import { type Clock, durationMsOption, integerOption, oneOfOption, systemClock } from '@spock/protocol/internal';

import type { FetchAnswer } from '../../../watch/watch-loop.ts';
import { ConsulToken, TokenReplacement } from '../auth/consul-token.ts';
import type { ConsulParameters } from '../client/consul-call.ts';
import type { ConsulCallOptions, ConsulQuestion } from '../client/consul-client.ts';
import { type ConsulEndpoint, createEndpoints } from '../client/consul-endpoints.ts';
import {
	type ConsulConnectionOptions,
	DEFAULT_CONSUL_ADDRESS,
	DEFAULT_CONSUL_CONSISTENCY,
	DEFAULT_CONSUL_WAIT_MS,
	DEFAULT_HELD_MAX,
} from '../client/consul-options.ts';
import { probeLeader } from '../client/consul-probe.ts';
import { type AddressAsk, AddressCalls, CALL_MS } from './address-calls.ts';
import { AddressChoice } from './address-choice.ts';
import { AddressHealth } from './address-health.ts';
import { AddressLooks } from './address-looks.ts';
import { AddressRounds, shareOf } from './address-rounds.ts';
import { AgentLimits } from './agent-limits.ts';
import { BelievedCalls } from './believed-calls.ts';
import { BlockingQuery, type BlockingQueryContext } from './blocking-query.ts';
import { ConsulHealth } from './consul-health.ts';
import { type HeldPlace, HeldRoom, socketsMax } from './held-room.ts';

export { LIVE_AGE_MS_MAX } from './blocking-query.ts';

/**
 * Consul's HTTP API over any of its addresses: which one to ask, with which token, over which connection, and until when.
 * The creator closes it. The constructor throws a TypeError or RangeError that names the option which is wrong, or
 * an Error if a TLS file cannot be read.
 */
export class ConsulHttp {
	readonly clock: Clock;
	readonly #options: ConsulConnectionOptions;
	readonly #health: ConsulHealth;
	readonly #endpoints: readonly ConsulEndpoint[];
	readonly #calls: AddressCalls;
	readonly #believed: BelievedCalls;
	readonly #rounds: AddressRounds;
	readonly #blocking: BlockingQueryContext;
	readonly #addresses: AddressHealth;
	readonly #choice: AddressChoice;
	readonly #looks: AddressLooks;
	readonly #room: HeldRoom;
	readonly #token: ConsulToken;
	readonly #replacement: TokenReplacement;
	readonly #limits: AgentLimits | undefined;
	readonly #onLessRoom = new Set<() => void>();
	readonly #onMoreRoom = new Set<() => void>();
	#closing: Promise<void> | undefined;

	constructor(options: ConsulConnectionOptions = {}) {
		const { addresses = [DEFAULT_CONSUL_ADDRESS], waitMs = DEFAULT_CONSUL_WAIT_MS, clock = systemClock } = options;
		oneOfOption('consistency', options.consistency ?? DEFAULT_CONSUL_CONSISTENCY, ['stale', 'default', 'consistent']);
		this.#options = options;
		this.clock = clock;
		this.#health = new ConsulHealth(clock, options.onEvent);
		integerOption('waitMs', waitMs, 1000, 600_000);
		const heldMax = integerOption('heldMax', options.heldMax ?? DEFAULT_HELD_MAX, 1, 10_000);
		this.#endpoints = createEndpoints(addresses, socketsMax(heldMax), { ...options, clock });
		this.#room = new HeldRoom(clock, this.#endpoints.length, options.heldMax);
		const { random } = options;
		const urls = this.#endpoints.map(({ address }) => address.url);
		this.#addresses = new AddressHealth(clock, urls, options.onEvent);
		const look = (number: number): Promise<void> => this.#calls.look(number);
		const count = urls.length;
		this.#choice = new AddressChoice({ clock, random, count, look: () => look(0) });
		this.#looks = new AddressLooks({ clock, random, count, asked: () => this.#choice.number, look });
		this.#token = new ConsulToken({
			...options,
			clock,
			random,
			onEvent: options.onEvent,
			parameters: () => this.placeParameters(),
			call: (question, callOptions) => this.call(question, callOptions),
		});
		this.#replacement = new TokenReplacement(clock, this.#token);
		// A limit that was given is kept.
		if (options.heldMax === undefined) {
			this.#limits = new AgentLimits({
				clock,
				endpoints: this.#endpoints,
				room: this.#room,
				token: () => this.#token.read(),
				moreRoom: () => {
					if (this.#closing === undefined) for (const listener of this.#onMoreRoom) listener();
				},
			});
		}
		this.#calls = new AddressCalls({
			clock,
			random,
			endpoints: this.#endpoints,
			token: this.#token,
			replacement: this.#replacement,
			health: this.#health,
			addresses: this.#addresses,
			room: this.#room,
			refuseIfClosed: () => this.refuseIfClosed(),
			datacenter: options.datacenter,
		});
		const parameters = (datacenter: string | undefined): ConsulParameters => this.readParameters(datacenter);
		this.#believed = new BelievedCalls({ clock, calls: this.#calls, parameters });
		this.#rounds = new AddressRounds({
			clock,
			count,
			believed: this.#believed,
			failed: (number) => {
				this.#choice.failed(number);
				this.#room.failed(number);
			},
			answered: (number) => {
				if (this.#room.answered(number)) this.#limits?.look();
			},
			lessRoom: () => {
				for (const listener of this.#onLessRoom) listener();
			},
			refuseIfClosed: () => this.refuseIfClosed(),
		});
		this.#blocking = {
			...{ clock, waitMs, count, rounds: this.#rounds, believed: this.#believed },
			isTimely: (...of) => this.#calls.isTimely(...of),
			preferred: () => this.#choice.number,
			enter: (number) => this.#enter(number),
			leave: (number) => this.#room.leave(number),
		};
	}

	/** Reports each time that there is another token than one that Consul has refused; call what is returned to end it. */
	onTokenReplaced(listener: () => void): () => void {
		return this.#replacement.onReplaced(listener);
	}

	/** Reports each time that an address which answered too late answers in time again; call what is returned to end it. */
	onTimely(listener: () => void): () => void {
		return this.#calls.onTimely(listener);
	}

	/** Reports each time that an address turns out to have room for fewer; call what is returned to end it. */
	onLessRoom(listener: () => void): () => void {
		this.#onLessRoom.add(listener);
		return () => this.#onLessRoom.delete(listener);
	}

	/** Reports each time that an address turns out to have room for more; call what is returned to end it. */
	onMoreRoom(listener: () => void): () => void {
		this.#onMoreRoom.add(listener);
		return () => this.#onMoreRoom.delete(listener);
	}

	/** A place for a query that is held; undefined where there is no room for more. */
	takePlace(): HeldPlace | undefined {
		const place = this.#room.take(this.#choice.number);
		if (place === undefined) this.#limits?.look();
		return place;
	}

	/** Whether there are more places at the address of this one than it has room for: see `HeldRoom.isOver`. */
	isOver(place: HeldPlace): boolean {
		return this.#room.isOver(place);
	}

	/** Whether there is no room for one more place, at any address that is well. */
	get isFull(): boolean {
		return this.#room.isFull;
	}

	#enter(number: number): boolean {
		const isHeld = this.#room.enter(number);
		if (!isHeld) this.#limits?.look();
		return isHeld;
	}

	/** How many addresses there are; their numbers begin with 0. */
	get addressCount(): number {
		return this.#endpoints.length;
	}

	/** One call that does not block: the preferred address first, and each of the others once where one fails. */
	call<T>(question: ConsulQuestion<T>, options: ConsulCallOptions = {}): Promise<T> {
		const { signal, timeoutMs = CALL_MS, only, first = this.#choice.number } = options;
		const deadlineAtMs = this.clock.now() + durationMsOption('timeoutMs', timeoutMs);
		// The addresses share the time that is left, so that one which hangs does not use up the turn of the next.
		const alone = only !== undefined || question.token !== undefined ? 'write' : undefined;
		const { urgent = alone } = options;
		const ask = (_number: number, addressesLeft: number): AddressAsk => {
			const timeoutMs = shareOf(deadlineAtMs - this.clock.now(), addressesLeft);
			const untilMs = this.clock.now() + timeoutMs;
			return {
				parameters: question.parameters ?? {},
				timeoutMs,
				isHeld: false,
				// What is one address's alone an agent answers from memory.
				isProof: only === undefined,
				urgent,
				...(urgent === undefined && { turn: { isFirst: true, untilMs, taken: () => undefined } }),
			};
		};
		if (only !== undefined) return this.#calls.ask(only, ask(only, 1), question, signal);
		return this.#rounds.ask({ question, first, ask, signal }).then(({ value }) => value);
	}

	/** See `BlockingQuery`. */
	blocking<A extends FetchAnswer<unknown>>(
		question: ConsulQuestion<A>,
		placeNow?: () => HeldPlace | undefined,
		firstNow?: () => number,
	): (index: number, signal: AbortSignal) => Promise<A> {
		this.#looks.start();
		const query = new BlockingQuery(this.#blocking, question, { placeNow, firstNow });
		return (index, signal) => query.fetch(index, signal);
	}

	/** The parameters that say where to look: datacenter, namespace, partition. */
	placeParameters(datacenter: string | undefined = this.#options.datacenter): Record<string, string> {
		const { namespace, partition } = this.#options;
		return {
			...(datacenter && { dc: datacenter }),
			...(namespace && { ns: namespace }),
			...(partition && { partition }),
		};
	}

	/** The same, with the consistency of reads. */
	readParameters(datacenter?: string): Record<string, string> {
		const { consistency = DEFAULT_CONSUL_CONSISTENCY } = this.#options;
		return { ...(consistency !== 'default' && { [consistency]: '' }), ...this.placeParameters(datacenter) };
	}

	/** Resolves if the address that is asked first knows a leader; rejects otherwise. */
	knowsLeader(): Promise<void> {
		return probeLeader(this.#endpoints[this.#choice.number] as ConsulEndpoint, this.clock);
	}

	/** How Consul was when it was asked last. */
	status(): BackendStatus {
		const addresses = this.#endpoints.map(({ address }) => address.url);
		const addressStatus = this.#addresses.status(this.#choice.number);
		return { name: 'consul', addresses, ...this.#health.status(), addressStatus };
	}

	/** See `ConsulHealth.isTokenUnknown`. */
	get isTokenUnknown(): boolean {
		return this.#health.isTokenUnknown;
	}

	/** Whether queries carry a token. Rejects where it cannot be read. */
	async hasToken(): Promise<boolean> {
		return (await this.#token.read()) !== undefined;
	}

	/** What failed is not asked for any more: see `ConsulHealth.forget`. */
	forgetFailure(): void {
		this.#health.forget();
	}

	/** Ends every call with CLOSED, logs out if it had logged in, and ends every connection; idempotent. */
	close(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	/** Throws CLOSED once it is closed. */
	refuseIfClosed(): void {
		if (this.#closing !== undefined) throw new SpockError('CLOSED', 'the connection to Consul was closed');
	}

	async #close(): Promise<void> {
		this.#replacement.stop();
		this.#choice.stop();
		this.#looks.stop();
		this.#limits?.stop();
		this.#believed.stop();
		this.#calls.close();
		await this.#token.close();
		for (const endpoint of this.#endpoints) endpoint.close();
	}
}
