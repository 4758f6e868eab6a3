import { type BackendStatus, SpockError } from '@spock/protocol';
import {
	ageClockOf,
	type Clock,
	durationMsOption,
	integerOption,
	oneOfOption,
	systemClock,
} from '@spock/protocol/internal';

import type { FetchAnswer } from '../../../watch/watch-loop.ts';
import { ConsulToken, TokenReplacement } from '../auth/consul-token.ts';
import { type ConsulParameters, isPassed } from '../client/consul-call.ts';
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
import { type AddressAsk, AddressCalls, datacenterIn } from './address-calls.ts';
import { AddressChoice } from './address-choice.ts';
import { AddressHealth } from './address-health.ts';
import { AddressLooks } from './address-looks.ts';
import { agedMeta } from './aged-meta.ts';
import { AgentLimits } from './agent-limits.ts';
import { type AnsweredBy, BelievedCalls } from './believed-calls.ts';
import { ConsulHealth } from './consul-health.ts';
import { type HeldPlace, HeldRoom, socketsMax } from './held-room.ts';

export { LIVE_AGE_MS_MAX } from './aged-meta.ts';

/** A deadline for calls that do not block. */
const CALL_MS = 10_000;
/** The server adds up to a sixteenth of the wait as jitter; two seconds more are for the network and a busy machine. */
const WAIT_SLACK = 1.0625;
const WAIT_SLACK_MS = 2000;
/**
 * For all further addresses together, where the one that held a query, or was to, has failed: until then what is served is called
 * live, and nobody has confirmed it.
 */
const FURTHER_MS = 2000;
/** How long after a refusal for want of room a call is made once more: those who hold too much have given something up by then. */
const ROOM_MS = 200;

/** How long after every address has refused a token as unknown one alone is believed that says so. */
const TOKEN_REFUSED_MS = 10_000;

/** Which address answered. */
interface Answered<T> {
	readonly number: number;
	readonly value: T;
	readonly by: AnsweredBy;
}

/**
 * Consul's HTTP API over any of its addresses: which one to ask, with which token, over which connection, and until when.
 * Whoever creates one closes it. The constructor throws a TypeError or RangeError that names the option which is wrong, or
 * an Error if a TLS file cannot be read.
 */
export class ConsulHttp {
	readonly clock: Clock;
	readonly #options: ConsulConnectionOptions;
	readonly #waitMs: number;
	readonly #health: ConsulHealth;
	readonly #endpoints: readonly ConsulEndpoint[];
	readonly #calls: AddressCalls;
	readonly #believed: BelievedCalls;
	readonly #addresses: AddressHealth;
	readonly #choice: AddressChoice;
	readonly #looks: AddressLooks;
	readonly #room: HeldRoom;
	readonly #token: ConsulToken;
	readonly #replacement: TokenReplacement;
	readonly #limits: AgentLimits | undefined;
	readonly #onLessRoom = new Set<() => void>();
	readonly #onMoreRoom = new Set<() => void>();
	/** When every address refused the token as unknown last. */
	#tokenRefusedAtMs = Number.NEGATIVE_INFINITY;
	#closing: Promise<void> | undefined;

	constructor(options: ConsulConnectionOptions = {}) {
		const { addresses = [DEFAULT_CONSUL_ADDRESS], waitMs = DEFAULT_CONSUL_WAIT_MS, clock = systemClock } = options;
		oneOfOption('consistency', options.consistency ?? DEFAULT_CONSUL_CONSISTENCY, ['stale', 'default', 'consistent']);
		this.#options = options;
		this.clock = clock;
		this.#health = new ConsulHealth(clock, options.onEvent);
		this.#waitMs = integerOption('waitMs', waitMs, 1000, 600_000);
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
	}

	/** Tells each time that there is another token than one that Consul has refused; call what is returned to end it. */
	onTokenReplaced(listener: () => void): () => void {
		return this.#replacement.onReplaced(listener);
	}

	/** Tells each time that an address which answered too late answers in time again; call what is returned to end it. */
	onTimely(listener: () => void): () => void {
		return this.#calls.onTimely(listener);
	}

	/** Tells each time that an address turns out to have room for fewer; call what is returned to end it. */
	onLessRoom(listener: () => void): () => void {
		this.#onLessRoom.add(listener);
		return () => this.#onLessRoom.delete(listener);
	}

	/** Tells each time that an address turns out to have room for more; call what is returned to end it. */
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
		return this.#askAny(question, first, ask, signal).then(({ value }) => value);
	}

	/**
	 * One blocking query after the other, for one watch loop: the first does not block, nor does one to an address that did
	 * not give the index. They are held where the watch has its place, which moves with them; with no place of its own where there is
	 * room for one more; else they do not block. Where a proxy ends one that was held, it is asked again at once, once, and does not block
	 * then. A server whose state was replaced by a snapshot ends what it holds with the index
	 * that it was asked with. `firstNow` gives the number of the address to ask first, in place of the preferred one.
	 * Source: https://github.com/hashicorp/consul/blob/v1.20.2/agent/blockingquery/blockingquery.go (AbandonCh)
	 */
	blocking<A extends FetchAnswer<unknown>>(
		question: ConsulQuestion<A>,
		placeNow?: () => HeldPlace | undefined,
		firstNow?: () => number,
	): (index: number, signal: AbortSignal) => Promise<A> {
		this.#looks.start();
		const { parameters = {} } = question;
		const isCached = parameters['cached'] !== undefined;
		const datacenter = datacenterIn(parameters);
		const waitMs = this.#waitMs;
		const ages = ageClockOf(this.clock);
		let origin: number | undefined;
		/** The index of the last answer: a lower one is believed only of the leader. */
		let known = 0;
		/** `isAgain`: of all that a caller is served nothing was confirmed since the wait before it. */
		const query = async (index: number, signal: AbortSignal, isAgain: boolean, isBehind = false): Promise<A> => {
			const place = placeNow?.();
			let askedAtMs = ages.now();
			let isHeld = false;
			let furtherUntilMs = isAgain ? askedAtMs + FURTHER_MS : undefined;
			const ask = (number: number, addressesLeft: number): AddressAsk => {
				const isOrigin = number === origin;
				const isFirst = origin === undefined;
				// Whoever is asked last is who answers, because a failure asks the next one.
				origin = number;
				askedAtMs = ages.now();
				const nowMs = this.clock.now();
				// What is held at an address that is late would say nothing of how old it is.
				const canHold = index > 0 && isOrigin && this.#calls.isTimely(number, datacenter);
				isHeld = canHold && (placeNow === undefined ? this.#enter(number) : place?.number === number);
				if (addressesLeft < this.#endpoints.length) furtherUntilMs ??= nowMs + FURTHER_MS;
				const timeoutMs = furtherUntilMs === undefined ? CALL_MS : shareOf(furtherUntilMs - nowMs, addressesLeft);
				if (!isHeld) {
					const untilMs = furtherUntilMs ?? nowMs + CALL_MS;
					// An answer is as old as its call, and not as the wait for that.
					const taken = (): void => {
						askedAtMs = ages.now();
					};
					return { parameters, timeoutMs, isHeld, isProof: !isCached, turn: { isFirst, untilMs, taken } };
				}
				return {
					parameters: { ...parameters, index: String(index), wait: `${waitMs}ms` },
					timeoutMs: Math.ceil(waitMs * WAIT_SLACK) + WAIT_SLACK_MS,
					isHeld,
					isProof: false,
				};
			};
			const ended = (number: number): void => {
				if (isHeld && placeNow === undefined) this.#room.leave(number);
			};
			const first = firstNow?.() ?? place?.settle(this.#choice.number) ?? this.#choice.number;
			const answered = await this.#askAny(question, first, ask, signal, ended, known === 0);
			const { number, value: answer, by } = answered;
			if (!isBehind && this.#believed.isBehind(number, by, parameters, answer.index, known)) {
				const again = await query(0, signal, true, true);
				// Its state was replaced, where the leader says the same.
				return index > 0 && again.index < index ? { ...again, isAbandoned: true } : again;
			}
			known = answer.index;
			// It goes on where it was answered, or has no place any more.
			if (place?.move(number) === false) place.release();
			const readAtMs = ages.now();
			const isEarly = isHeld && readAtMs - askedAtMs < waitMs;
			// What was held may be older than its last byte was read: it may have waited for this process.
			const sentAtMs = isHeld ? Math.max(askedAtMs, ages.sentAtMs()) : askedAtMs;
			const full = {
				...answer,
				meta: agedMeta(answer.meta, readAtMs - sentAtMs, by !== 'none' && this.#calls.isTimely(number, datacenter)),
			};
			return isEarly && answer.index <= index ? { ...full, isAbandoned: true } : full;
		};
		return (index, signal) =>
			query(index, signal, false).catch((reason: unknown) => {
				// Not held: what is answered now says how Consul is, and that this is no proxy with nothing behind it.
				if ((reason as SpockError).details?.['isQuietEnd'] === true) return query(0, signal, true);
				throw reason;
			});
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

	async #askAny<T>(
		question: ConsulQuestion<T>,
		first: number,
		ask: (number: number, addressesLeft: number) => AddressAsk,
		signal: AbortSignal | undefined,
		ended: (number: number) => void = () => undefined,
		isOldGood = false,
	): Promise<Answered<T>> {
		const count = this.#endpoints.length;
		const behind = new Set<number>();
		for (let attempt = 0; ; attempt++) {
			const number = (first + attempt) % count;
			try {
				const isLast = attempt + 1 >= count;
				const asked = ask(number, count - attempt);
				const answered = await this.#believed.ask(number, asked, question, signal, isOldGood && isLast);
				if (this.#room.answered(number)) this.#limits?.look();
				for (const one of behind) this.#failedAt(one, question);
				return { number, ...answered };
			} catch (reason) {
				const error = reason as SpockError;
				// Nothing was asked, or nothing had changed: that says nothing of the address.
				if (error.details['isQueued'] === true || error.details['isQuietEnd'] === true) throw error;
				if (error.details['isUnknownToken'] === true) {
					// A server that has just started says so of every token until it has read its data. That all say so is the truth.
					behind.add(number);
					const nowMs = this.clock.now();
					if (behind.size === count) this.#tokenRefusedAtMs = nowMs;
					if (attempt + 1 < count && nowMs - this.#tokenRefusedAtMs >= TOKEN_REFUSED_MS) continue;
					throw error;
				}
				// Another server may have a leader, room (429), or a working network; none knows a permission better.
				if (error.code !== 'UNAVAILABLE') throw error;
				const isFull = error.details['isFull'] === true;
				// That Consul cannot answer this query is no failure of the address.
				if (error.details['isRefused'] === true) {
					if (attempt + 1 < count) continue;
					throw error;
				}
				if (isFull) {
					for (const listener of this.#onLessRoom) listener();
				} else {
					this.#failedAt(number, question);
				}
				if (attempt + 1 < count) continue;
				if (!isFull || attempt >= count || !(await isPassed(this.clock, ROOM_MS, signal))) throw error;
				this.refuseIfClosed();
			} finally {
				ended(number);
			}
		}
	}

	/** It is not asked first any more, and given nothing more to hold for a while. */
	#failedAt(number: number, question: Pick<ConsulQuestion<unknown>, 'parameters'>): void {
		this.#believed.failed(number, question);
		this.#choice.failed(number);
		this.#room.failed(number);
	}
}

/** Of the time that is left, for one of those that are left; the last one may be asked once more. */
function shareOf(leftMs: number, addressesLeft: number): number {
	return Math.max(1, Math.floor(leftMs / Math.max(1, addressesLeft)));
}
