import type { SpockError } from '@spock/protocol';
import type { Clock, Random } from '@spock/protocol/internal';

import type { ConsulToken, TokenReplacement } from '../auth/consul-token.ts';
import { readAnswerMeta } from '../client/answer-headers.ts';
import { type ConsulAnswer, ConsulCall, type ConsulParameters, sendWithDeadline } from '../client/consul-call.ts';
import type { ConsulQuestion } from '../client/consul-client.ts';
import type { ConsulEndpoint } from '../client/consul-endpoints.ts';
import { consulError, isConsulsAnswer, quietEnd } from '../client/consul-error.ts';
import { NoLeaderError, probeLeader, probeServers } from '../client/consul-probe.ts';
import type { UrgentKind } from '../client/urgent-sockets.ts';
import type { AddressHealth } from './address-health.ts';
import { AddressHeartbeat } from './address-heartbeat.ts';
import type { ConsulHealth } from './consul-health.ts';
import type { HeldRoom } from './held-room.ts';
import { type EndTurn, InFlightGate, type Turn } from './in-flight-gate.ts';

/** A deadline for calls that do not block. */
export const CALL_MS = 10_000;
/** Datacenters besides the agents' own whose servers are asked at each address whether they are there. Of more, nothing is live. */
const DATACENTERS_MAX = 64;
/** However long a query waited for its turn, so much is left for its answer. */
const ANSWER_MS_MIN = 250;
/** A held query that was ended sooner than this has failed: a proxy that has nothing behind it answers at once. */
const QUIET_MS_MIN = 1000;

/** A look that ends later than this shows only that this process stood still. */
const LOOK_MS_MAX = 4000;

/** How one address is asked. */
export interface AddressAsk {
	readonly parameters: ConsulParameters;
	readonly timeoutMs: number;
	/** For the whole time of a wait, if nothing changes. */
	readonly isHeld: boolean;
	/** That it is answered soon shows that the address and the servers behind it are well: no agent can answer it by itself. */
	readonly isProof: boolean;
	/** It waits for its turn, as each read does that is not held. */
	readonly turn?: Turn;
	/** It never waits behind reads. */
	readonly urgent?: UrgentKind | undefined;
}

/** What {@link AddressCalls} need. */
export interface AddressCallsOptions {
	readonly clock: Clock;
	readonly random: Random | undefined;
	readonly endpoints: readonly ConsulEndpoint[];
	readonly token: ConsulToken;
	readonly replacement: TokenReplacement;
	readonly health: ConsulHealth;
	readonly addresses: AddressHealth;
	readonly room: HeldRoom;
	/** That of lookups that name none; undefined: the agents' own. */
	readonly datacenter: string | undefined;
	/** Throws CLOSED once nothing is asked any more. */
	readonly refuseIfClosed: () => void;
}

/** The calls in flight, each to one address with the token that is in force, and what they show of how that address is. */
export class AddressCalls {
	readonly #options: AddressCallsOptions;
	/**
	 * By address and datacenter: what an address reports of another datacenter's servers is as old as those. Of other datacenters only those
	 * that have answered; the one that was used last is last.
	 */
	readonly #heartbeats = new Map<string, AddressHeartbeat>();
	readonly #gates: readonly InFlightGate[];
	/** Not more than the watches, and calls that a caller waits for. */
	readonly #calls = new Set<ConsulCall>();
	readonly #onTimely = new Set<() => void>();

	constructor(options: AddressCallsOptions) {
		this.#options = options;
		const { clock, endpoints, room } = options;
		this.#gates = endpoints.map((_, number) => new InFlightGate(clock, () => room.callsMax(number)));
	}

	/** Reports each time that an address which answered too late answers in time again; call what is returned to end it. */
	onTimely(listener: () => void): () => void {
		this.#onTimely.add(listener);
		return () => this.#onTimely.delete(listener);
	}

	/**
	 * True while this address answers in time, with the servers of this datacenter behind it; undefined: its own. False for one whose servers
	 * are not asked whether they are there, so that the age of an answer of theirs is unknown.
	 */
	isTimely(number: number, datacenter: string | undefined): boolean {
		return this.#heartbeats.get(placeOf(number, datacenter))?.isTimely ?? datacenter === undefined;
	}

	/** Whose silence ends a call: the address's own where the datacenter has not answered yet. */
	#heartbeatOf(number: number, datacenter: string | undefined): AddressHeartbeat {
		const place = placeOf(number, datacenter);
		const known = this.#heartbeats.get(place);
		if (known !== undefined) {
			this.#heartbeats.delete(place);
			this.#heartbeats.set(place, known);
			return known;
		}
		return datacenter === undefined ? this.#addHeartbeat(number, datacenter) : this.#heartbeatOf(number, undefined);
	}

	/** The datacenter has answered: from now on it is asked whether it is there; undefined where too many are, and all are in use. */
	#answeredBy(number: number, datacenter: string | undefined): AddressHeartbeat | undefined {
		const known = this.#heartbeats.get(placeOf(number, datacenter));
		if (known !== undefined || datacenter === undefined) return known;
		if (this.#heartbeats.size >= (DATACENTERS_MAX + 1) * this.#gates.length) {
			const unused = [...this.#heartbeats].find(([place, one]) => isOther(place) && !one.isInUse)?.[0];
			if (unused === undefined) return undefined;
			this.#heartbeats.delete(unused);
		}
		return this.#addHeartbeat(number, datacenter);
	}

	#addHeartbeat(number: number, datacenter: string | undefined): AddressHeartbeat {
		const { clock, random, endpoints, addresses } = this.#options;
		const one = endpoints[number] as ConsulEndpoint;
		// Where there is another address, one without a leader is as good as none: the others may have one.
		const mustKnowLeader = endpoints.length > 1;
		const beat = async (signal: AbortSignal): Promise<void> => {
			try {
				const knowsLeader = await probeServers(one, clock, signal, mustKnowLeader, datacenter);
				if (datacenter === undefined) addresses.answered(number, knowsLeader);
			} catch (reason) {
				if (datacenter === undefined && reason instanceof NoLeaderError) addresses.answered(number, false);
				throw reason;
			}
		};
		const timely = (): void => {
			for (const listener of this.#onTimely) listener();
		};
		const heartbeat = new AddressHeartbeat({ clock, random, beat, timely });
		this.#heartbeats.set(placeOf(number, datacenter), heartbeat);
		return heartbeat;
	}

	/** Resolves if the address knows a leader; rejects otherwise, by a deadline of its own. */
	async look(number: number): Promise<void> {
		const { clock, endpoints, addresses } = this.#options;
		const endpoint = endpoints[number] as ConsulEndpoint;
		const startedAtMs = clock.now();
		try {
			await probeLeader(endpoint, clock);
			addresses.answered(number, true);
		} catch (reason) {
			if (reason instanceof NoLeaderError) addresses.answered(number, false);
			else if (clock.now() - startedAtMs < LOOK_MS_MAX)
				this.#note(number, consulError(reason, endpoint.address.url, []));
			throw reason;
		}
	}

	/** What the failure of a call shows of its address. `isElsewhere`: it was about a datacenter by its name, which may be another one. */
	#note(number: number, { code, message, details }: SpockError, isElsewhere = false): void {
		const status = details['status'];
		// It has answered; what it refused was this call.
		if (code !== 'UNAVAILABLE' || (typeof status === 'number' && (status < 500 || isElsewhere))) {
			if (typeof status === 'number') this.#options.addresses.answered(number, undefined);
			return;
		}
		if (details['isFull'] === true || details['isRefused'] === true) return;
		this.#options.addresses.failed(number, message, /no cluster leader/i.test(message));
	}

	/** Ends all of them with CLOSED. */
	close(): void {
		for (const gate of this.#gates) gate.close();
		for (const call of [...this.#calls]) call.close();
	}

	/** One query to one address, and once more if another token has come in force; rejects with a SpockError. */
	async ask<T>(
		number: number,
		ask: AddressAsk,
		question: ConsulQuestion<T>,
		signal: AbortSignal | undefined,
		isLast = false,
	): Promise<T> {
		const { clock, endpoints, token: tokens, replacement, health, addresses, room, refuseIfClosed } = this.#options;
		const { parameters, isHeld, isProof, turn, urgent } = ask;
		const datacenter = datacenterIn(parameters);
		const leave = turn && (await this.#enter(number, datacenter, turn, signal));
		const leftMs = turn === undefined ? ask.timeoutMs : Math.min(ask.timeoutMs, turn.untilMs - clock.now());
		const timeoutMs = turn === undefined ? leftMs : Math.max(ANSWER_MS_MIN, leftMs);
		const endpoint = endpoints[number] as ConsulEndpoint;
		const startedAtMs = clock.now();
		const { body, answerBytesMax } = question;
		const call = new ConsulCall(parameters, { body, urgent, ...(answerBytesMax && { answerBytesMax }) });
		const heartbeat = this.#heartbeatOf(number, datacenter);
		let release: (() => void) | undefined;
		let token: string | undefined;
		try {
			// A question that brings its own token is not refused: that is how a login ends.
			if (question.token === undefined) refuseIfClosed();
			token = question.token === undefined ? await tokens.read() : (question.token ?? undefined);
			const client = await endpoint.client();
			if (question.token === undefined) refuseIfClosed();
			this.#calls.add(call);
			release = heartbeat.hold(call);
			const common = { ctx: call, ...(token && { token }) };
			const [response, answer] = (await sendWithDeadline({ clock, call, timeoutMs, signal }, () =>
				question.send(client, common),
			)) as ConsulAnswer;
			const value = question.read(response, answer);
			const answering = this.#answeredBy(number, datacenter);
			if (isProof && !isHeld) answering?.answered(startedAtMs);
			leave?.(true);
			if (await endpoint.isMultiplexed()) room.multiplexed(number);
			health.succeeded(startedAtMs, response);
			addresses.answered(number, parameters['dc'] === undefined ? readAnswerMeta(response).knownLeader : undefined);
			return value;
		} catch (reason) {
			const error = consulError(reason, endpoint.address.url, [token ?? '', ...(question.secrets ?? [])]);
			const isOwn = question.token === undefined && !isLast;
			if (error.code === 'UNAVAILABLE') leave?.(false);
			const quiet = isHeld && clock.now() - startedAtMs >= QUIET_MS_MIN ? quietEnd(error) : undefined;
			if (quiet !== undefined) throw quiet;
			if (error.details['isFull'] === true) await this.#refused(number, call);
			if (!(isOwn && (await tokens.isReplaced(token, error)))) {
				// Who asked gave up, or asked for too much, or for what is not there: nothing of that is Consul's fault.
				if (!isOurs(error) && !isConsulsAnswer(reason)) {
					health.failed(startedAtMs, error);
					this.#note(number, error, datacenterIn(parameters) !== undefined);
				}
				if (question.token === undefined) replacement.refused(token, error);
				throw error;
			}
		} finally {
			leave?.();
			release?.();
			this.#calls.delete(call);
		}
		return this.ask(number, ask, question, signal, true);
	}

	#enter(
		number: number,
		datacenter: string | undefined,
		turn: Turn,
		signal: AbortSignal | undefined,
	): Promise<EndTurn> | EndTurn | undefined {
		const other = datacenter === this.#options.datacenter ? undefined : datacenter;
		return this.#gates[number]?.enter({ ...turn, datacenter: other }, signal);
	}

	/** An address has refused a connection for want of room. */
	async #refused(number: number, call: ConsulCall): Promise<void> {
		const { endpoints, room } = this.#options;
		const left = await (endpoints[number] as ConsulEndpoint).refused(call);
		if (left === 'none but the first') room.narrowed(number);
		else room.refused(number, left === 'elsewhere');
	}
}

/** The datacenter that a call names; undefined for the address's own. */
export function datacenterIn({ dc }: ConsulParameters): string | undefined {
	return typeof dc === 'string' ? dc : undefined;
}

function placeOf(number: number, datacenter: string | undefined): string {
	return datacenter === undefined ? String(number) : `${number} ${datacenter}`;
}

function isOther(place: string): boolean {
	return place.includes(' ');
}

function isOurs({ code }: SpockError): boolean {
	return code === 'ABORTED' || code === 'CLOSED' || code === 'FRAME_TOO_LARGE';
}
