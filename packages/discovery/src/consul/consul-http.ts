import { type BackendStatus, SpockError } from '@spock/protocol';
import { type Clock, durationMsOption, integerOption, oneOfOption, systemClock } from '@spock/protocol/internal';

import type { FetchAnswer } from '../watch-loop.ts';
import { AddressChoice } from './address-choice.ts';
import { AddressPulse } from './address-pulse.ts';
import { type ConsulAnswer, ConsulCall, type ConsulParameters, sendWithDeadline } from './consul-call.ts';
import { type ConsulEndpoint, createEndpoints } from './consul-endpoints.ts';
import { consulError, isConsulsAnswer } from './consul-error.ts';
import { ConsulHealth } from './consul-health.ts';
import { type ConsulConnectionOptions, DEFAULT_CONSUL_ADDRESS, DEFAULT_CONSUL_WAIT_MS } from './consul-options.ts';
import { probeLeader, probePresence } from './consul-probe.ts';
import type { ConsulCallOptions, ConsulQuestion } from './consul-question.ts';
import { ConsulToken } from './consul-token.ts';
import { TokenReplacement } from './token-replacement.ts';

/** A deadline for calls that do not block. */
const CALL_MS = 10_000;
/** The server adds up to a sixteenth of the wait as jitter; two seconds more are for the network and a busy machine. */
const WAIT_SLACK = 1.0625;
const WAIT_SLACK_MS = 2000;
/** Queries that may block at once. Those beyond it do not block, so that none waits for a socket. */
const BLOCKING_MAX = 100;

interface Ask {
	readonly parameters: ConsulParameters;
	readonly timeoutMs: number;
	readonly isBlocking: boolean;
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
	readonly #pulses: ReadonlyMap<ConsulEndpoint, AddressPulse>;
	readonly #choice: AddressChoice;
	readonly #token: ConsulToken;
	readonly #replacement: TokenReplacement;
	/** Calls in flight: not more than the watches, and calls that somebody waits for. */
	readonly #calls = new Set<ConsulCall>();
	#closing: Promise<void> | undefined;
	#blocking = 0;

	constructor(options: ConsulConnectionOptions = {}) {
		const { addresses = [DEFAULT_CONSUL_ADDRESS], waitMs = DEFAULT_CONSUL_WAIT_MS, clock = systemClock } = options;
		oneOfOption('consistency', options.consistency ?? 'stale', ['stale', 'default', 'consistent']);
		this.#options = options;
		this.clock = clock;
		this.#health = new ConsulHealth(clock, options.onEvent);
		this.#waitMs = integerOption('waitMs', waitMs, 1000, 600_000);
		this.#endpoints = createEndpoints(addresses, { ...options, clock });
		const { random } = options;
		this.#pulses = new Map(
			this.#endpoints.map((one) => {
				const beat = (signal: AbortSignal): Promise<void> => probePresence(one, clock, signal);
				return [one, new AddressPulse({ clock, random, beat })];
			}),
		);
		const look = (): Promise<void> => probeLeader(this.#endpoints[0] as ConsulEndpoint, clock);
		this.#choice = new AddressChoice({ clock, random, count: this.#endpoints.length, look });
		this.#token = new ConsulToken({
			...options,
			clock,
			random,
			onEvent: options.onEvent,
			parameters: () => this.placeParameters(),
			call: (question, callOptions) => this.call(question, callOptions),
		});
		this.#replacement = new TokenReplacement(clock, this.#token);
	}

	/** Tells each time that there is another token than one that Consul has refused; call what is returned to end it. */
	onTokenReplaced(listener: () => void): () => void {
		return this.#replacement.onReplaced(listener);
	}

	/** One call that does not block: the preferred address first, and each of the others once where one fails. */
	call<T>(question: ConsulQuestion<T>, options: ConsulCallOptions = {}): Promise<T> {
		const { signal, timeoutMs = CALL_MS, isFirstOnly = false } = options;
		const deadlineAtMs = this.clock.now() + durationMsOption('timeoutMs', timeoutMs);
		// The addresses share the time that is left, so that one which hangs does not use up the turn of the next.
		const ask = (_endpoint: ConsulEndpoint, addressesLeft: number): Ask => ({
			parameters: question.parameters ?? {},
			timeoutMs: Math.max(1, Math.floor((deadlineAtMs - this.clock.now()) / addressesLeft)),
			isBlocking: false,
		});
		if (!isFirstOnly) return this.#askAny(question, ask, signal);
		const first = this.#endpoints[0] as ConsulEndpoint;
		return this.#ask(first, ask(first, 1), question, signal);
	}

	/**
	 * One blocking query after the other, for one watch loop: the first does not block, nor does one to an address that did
	 * not give the index. A server whose state was replaced by a snapshot ends what it holds with the index that it was asked with.
	 * Source: https://github.com/hashicorp/consul/blob/v1.20.2/agent/blockingquery/blockingquery.go (AbandonCh)
	 */
	blocking<T>(
		question: ConsulQuestion<FetchAnswer<T>>,
	): (index: number, signal: AbortSignal) => Promise<FetchAnswer<T>> {
		const { parameters = {} } = question;
		const waitMs = this.#waitMs;
		let origin: ConsulEndpoint | undefined;
		return async (index, signal) => {
			const askedAtMs = this.clock.now();
			let isHeld = false;
			const ask = (endpoint: ConsulEndpoint): Ask => {
				const isOrigin = endpoint === origin;
				// Whoever is asked last is who answers, because a failure asks the next one.
				origin = endpoint;
				isHeld = index > 0 && isOrigin && this.#blocking < BLOCKING_MAX;
				if (!isHeld) {
					return { parameters, timeoutMs: CALL_MS, isBlocking: false };
				}
				return {
					parameters: { ...parameters, index: String(index), wait: `${waitMs}ms` },
					timeoutMs: Math.ceil(waitMs * WAIT_SLACK) + WAIT_SLACK_MS,
					isBlocking: true,
				};
			};
			const answer = await this.#askAny(question, ask, signal);
			const isEarly = isHeld && this.clock.now() - askedAtMs < waitMs;
			return isEarly && answer.index <= index ? { ...answer, isAbandoned: true } : answer;
		};
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
		const { consistency = 'stale' } = this.#options;
		return { ...(consistency !== 'default' && { [consistency]: '' }), ...this.placeParameters(datacenter) };
	}

	/** How Consul was when it was asked last. */
	status(): BackendStatus {
		const addresses = this.#endpoints.map(({ address }) => address.url);
		return { name: 'consul', addresses, ...this.#health.status() };
	}

	/** What failed is not asked for any more: see {@link ConsulHealth.forget}. */
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
		for (const call of [...this.#calls]) call.close();
		await this.#token.close();
		for (const endpoint of this.#endpoints) endpoint.close();
	}

	async #askAny<T>(
		question: ConsulQuestion<T>,
		ask: (endpoint: ConsulEndpoint, addressesLeft: number) => Ask,
		signal: AbortSignal | undefined,
	): Promise<T> {
		const count = this.#endpoints.length;
		const first = this.#choice.number;
		for (let attempt = 0; ; attempt++) {
			const number = (first + attempt) % count;
			const endpoint = this.#endpoints[number] as ConsulEndpoint;
			try {
				return await this.#ask(endpoint, ask(endpoint, count - attempt), question, signal);
			} catch (reason) {
				const error = reason as SpockError;
				// Another server may have a leader, room (429), or a working network; none knows a token better.
				if (error.code !== 'UNAVAILABLE') throw error;
				this.#choice.failed(number);
				if (attempt + 1 >= count) throw error;
			}
		}
	}

	/** One query to one address, and once more if another token has come in force; rejects with a SpockError. */
	async #ask<T>(
		endpoint: ConsulEndpoint,
		ask: Ask,
		question: ConsulQuestion<T>,
		signal: AbortSignal | undefined,
		isLast = false,
	): Promise<T> {
		const { parameters, timeoutMs, isBlocking } = ask;
		const startedAtMs = this.clock.now();
		if (isBlocking) this.#blocking++;
		const call = new ConsulCall(parameters, question.body, question.answerBytesMax);
		const pulse = this.#pulses.get(endpoint);
		let release: (() => void) | undefined;
		let token: string | undefined;
		try {
			// A question that brings its own token is not refused: that is how a login ends.
			if (question.token === undefined) this.refuseIfClosed();
			token = question.token === undefined ? await this.#token.read() : (question.token ?? undefined);
			const client = await endpoint.client();
			if (question.token === undefined) this.refuseIfClosed();
			this.#calls.add(call);
			release = pulse?.hold(call);
			const common = { ctx: call, ...(token && { token }) };
			const [response, body] = (await sendWithDeadline({ clock: this.clock, call, timeoutMs, signal }, () =>
				question.send(client, common),
			)) as ConsulAnswer;
			pulse?.heard();
			const value = question.read(response, body);
			this.#health.succeeded(startedAtMs, response);
			return value;
		} catch (reason) {
			const error = consulError(reason, endpoint.address.url, [token ?? '', ...(question.secrets ?? [])]);
			const isOwn = question.token === undefined && !isLast;
			if (!(isOwn && (await this.#token.isReplaced(token, error)))) {
				// Who asked gave up, or asked for too much, or for what is not there: nothing of that is Consul's fault.
				if (!isOurs(error) && !isConsulsAnswer(reason)) this.#health.failed(startedAtMs, error);
				if (question.token === undefined) this.#replacement.refused(token, error);
				throw error;
			}
		} finally {
			release?.();
			this.#calls.delete(call);
			if (isBlocking) this.#blocking--;
		}
		return this.#ask(endpoint, ask, question, signal, true);
	}
}

function isOurs({ code }: SpockError): boolean {
	return code === 'ABORTED' || code === 'CLOSED' || code === 'FRAME_TOO_LARGE';
}
