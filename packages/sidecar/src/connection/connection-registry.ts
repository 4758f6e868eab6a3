import type { Duplex } from 'node:stream';

import {
	type ClientStatus,
	type GoawayData,
	queryKey,
	type RegistrationStatus,
	type ServiceQuery,
	type WatcherStatus,
} from '@spock/protocol';
import type { TimerHandle } from '@spock/protocol/internal';

import type { CloseReason, LimitName, PushForm } from '../foundation/observer.ts';
import type { TokenCheck } from '../listen/tokens.ts';
import { Admission, Strangers } from '../overload/admission.ts';
import { Overload } from '../overload/overload.ts';
import { type Defer, ReadScheduler } from '../overload/read-gate.ts';
import { AcceptedConnection } from './accepted-connection.ts';
import type { ConnectionContext } from './connection-context.ts';
import type { ClientFacts, WatchedFacts } from './connection-facts.ts';
import { PackedInputs } from './packed-input.ts';
import { TokenConnections } from './token-connections.ts';

/** How often connections are checked for frames that take too long, and for tokens that were removed. */
const SWEEP_MS = 5000;

/** Fewer clients may come back at the same moment: that costs some ten milliseconds. */
const CROWD_MIN = 32;

/** What a registry and its connections need. */
export interface RegistryContext
	extends Pick<ConnectionContext, 'source' | 'events' | 'dispatcher' | 'memo' | 'limits' | 'clock' | 'observer'> {
	/** Default: `setImmediate`. */
	readonly defer?: Defer;
	/** A client was silent for too long, for this reason; undefined: it is heard again. Default: not reported. */
	readonly silent?: (connection: AcceptedConnection, reason: string | undefined) => void;
	/** Shared with other protocols that accept connections. Default: the limits' `connectionsMax` for this registry alone. */
	readonly admission?: Admission;
}

/** Where a connection was accepted. */
export interface ConnectionOrigin {
	/** Its hello must contain one of these. Default: no token is required. */
	readonly tokens?: TokenCheck | undefined;
	/** True at a unix domain socket. */
	readonly isLocal: boolean;
}

/** The live connections, and why each of the others was closed. */
export class ConnectionRegistry {
	readonly #context: ConnectionContext;
	/** Shared with other protocols that accept connections. */
	readonly strangers: Strangers;
	readonly #connections = new Map<number, AcceptedConnection>();
	readonly #closedByReason = new Map<CloseReason, number>();
	readonly #admission: Admission;
	/** Connections that count against `connectionsMax`, and where they were accepted. */
	readonly #admitted = new Map<AcceptedConnection, ConnectionOrigin>();
	readonly #tokens = new TokenConnections();
	readonly #silent: RegistryContext['silent'];
	readonly #emptied: () => void;
	readonly #left: (connection: AcceptedConnection, hasMoved: boolean) => void;
	/** Clients that were asked to connect again, perhaps at another sidecar. */
	readonly #moving = new Set<AcceptedConnection>();
	#nextId = 1;
	#opened = 0;
	#refused = 0;
	#sweepTimer: TimerHandle | undefined;
	readonly #overload: Overload;
	readonly #limitedCounts = new Map<LimitName, number>();
	readonly #pushedByForm = new Map<PushForm, number>();
	#pushedBytes = 0;
	/** The goaway for clients, once they must leave. */
	#away: GoawayData | undefined;

	/**
	 * Calls `left` for each connection that is gone, `hasMoved` if its client was asked to connect again and was not cut off, and `emptied`
	 * whenever it was the last one.
	 */
	constructor(
		context: RegistryContext,
		emptied: () => void,
		left: (connection: AcceptedConnection, hasMoved: boolean) => void = () => undefined,
	) {
		this.#left = left;
		const { limits, clock, observer, defer = setImmediate } = context;
		const { connectionsMax, strangersMax } = limits;
		this.#admission = context.admission ?? new Admission({ connectionsMax, hasLocal: false });
		this.strangers = new Strangers(strangersMax, () => this.#context.limited('strangersMax'));
		this.#overload = new Overload({ limits, clock, observer, connections: () => this.#connections.values() });
		this.#context = {
			...context,
			overload: this.#overload,
			scheduler: new ReadScheduler(defer, clock),
			packedInputs: new PackedInputs(),
			outputBytesMax: () => this.#overload.outputBytesMax,
			limited: (limit) => {
				this.#limitedCounts.set(limit, (this.#limitedCounts.get(limit) ?? 0) + 1);
				observer.limited?.(limit);
			},
			pushed: ({ form, bytes }) => {
				this.#pushedByForm.set(form, (this.#pushedByForm.get(form) ?? 0) + 1);
				this.#pushedBytes += bytes;
				observer.pushed?.('sent', form, bytes);
			},
		};
		this.#silent = context.silent;
		this.#emptied = emptied;
	}

	get size(): number {
		return this.#connections.size;
	}

	/** The number of clients, from CROWD_MIN on: sent to them, so that they do not all reconnect at the same moment. */
	get crowd(): Pick<GoawayData, 'clients'> {
		return crowdOf(this.size);
	}

	get subscriptions(): number {
		return this.#sum((connection) => connection.subscriptions);
	}

	/** Subscriptions, made or refused, whose newest answer is too long for the frames of their client. */
	get oversizeSubscriptions(): number {
		return this.#sum((connection) => connection.oversizeSubscriptions);
	}

	get inFlight(): number {
		return this.#sum((connection) => connection.inFlight);
	}

	/** Connections whose window is narrowed now. */
	get narrowed(): number {
		return this.#overload.narrowed;
	}

	/** Output of all connections that their clients have not read. */
	get outputBytes(): number {
		return this.#sum((connection) => connection.outputBytes);
	}

	/** Clients that are not read now, because they have too much unread output. */
	get slowConsumers(): number {
		return this.#sum((connection) => (connection.isSlow ? 1 : 0));
	}

	/** Bytes read and written by the open connections. */
	get bytesRead(): number {
		return this.#sum((connection) => connection.bytesRead);
	}

	get bytesWritten(): number {
		return this.#sum((connection) => connection.bytesWritten);
	}

	/** Every connection, in the order of opening, with what it has registered. */
	facts(registered: (connection: AcceptedConnection) => readonly RegistrationStatus[]): ClientFacts[] {
		return Array.from(this.#connections.values(), (one) => ({ ...one.facts(), registered: registered(one) }));
	}

	/** What the client of this connection subscribes to; undefined if it is gone. */
	watched(id: number): WatchedFacts | undefined {
		return this.#connections.get(id)?.watched();
	}

	/** The first connected clients, at most `countMax`. */
	clients(countMax: number): ClientStatus[] {
		return [...this.#connections.values()].slice(0, countMax).map((connection) => connection.hello.who());
	}

	/** The clients that subscribe to exactly this query. */
	watchers(query: ServiceQuery): WatcherStatus[] {
		const key = queryKey(query);
		return [...this.#connections.values()].flatMap((connection) => connection.watcher(key) ?? []);
	}

	/** Totals since the start, by name. */
	counters(): Readonly<Record<string, number>> {
		const closed = [...this.#closedByReason].map(([reason, count]) => [`closed-${reason}`, count] as const);
		const limited = [...this.#limitedCounts].map(([limit, count]) => [`limited-${limit}`, count] as const);
		const pushed = [...this.#pushedByForm].map(([form, count]) => [`pushed-${form}`, count] as const);
		return {
			opened: this.#opened,
			refused: this.#refused,
			...Object.fromEntries(closed),
			...Object.fromEntries(limited),
			...Object.fromEntries(pushed),
			...(this.#pushedBytes > 0 && { 'pushed-bytes': this.#pushedBytes }),
		};
	}

	/** Accepts a new connection, or closes it at once if there are too many. */
	add(socket: Duplex, origin: ConnectionOrigin): void {
		const { observer } = this.#context;
		const { tokens, isLocal } = origin;
		const isStranger = tokens !== undefined && !isLocal;
		if (!isStranger && !this.#admission.enter(isLocal)) {
			this.refused();
			socket.on('error', () => undefined);
			socket.destroy();
			return;
		}
		this.#opened++;
		const connection: AcceptedConnection = new AcceptedConnection(this.#nextId++, socket, this.#context, {
			tokens,
			enter: (holder) => {
				if (this.strangers.delete(connection) && !this.#enter(connection, origin)) return false;
				if (tokens !== undefined) this.#tokens.add(connection, tokens, holder);
				return true;
			},
			closed: (reason) => this.#remove(connection, reason),
			silent: (reason) => this.#silent?.(connection, reason),
		});
		this.#connections.set(connection.id, connection);
		if (isStranger) this.strangers.add(connection, () => connection.destroy('handshake'));
		else this.#admitted.set(connection, origin);
		if (this.#away !== undefined) connection.goaway(this.#away);
		observer.connectionOpened?.(connection.id);
		this.#armSweep();
	}

	/** Counts a connection that was closed at once because there were too many. */
	refused(): void {
		this.#refused++;
		this.#context.limited('connectionsMax');
		this.#context.observer.connectionRefused?.();
	}

	/** A client without a token has sent a valid one. */
	#enter(connection: AcceptedConnection, origin: ConnectionOrigin): boolean {
		if (!this.#admission.enter(origin.isLocal)) {
			this.refused();
			return false;
		}
		this.#admitted.set(connection, origin);
		return true;
	}

	/** Asks every client to leave, also those that connect later; each is served until it does. */
	sendAway(given: GoawayData): void {
		const goaway = this.#announced(given, this.size);
		this.#away = goaway;
		for (const connection of this.#connections.values()) connection.goaway(goaway);
	}

	/**
	 * Asks the clients that came by TCP to connect again, once: where no other sidecar listens at this address they come back here, and are
	 * served until this one ends.
	 */
	sendTcpAway(given: GoawayData): void {
		const asked = [...this.#admitted].filter(
			([connection, { isLocal }]) => !isLocal && connection.hello.knows('goaway'),
		);
		if (asked.length === 0) return;
		const goaway = this.#announced(given, asked.length);
		for (const [connection] of asked) {
			this.#moving.add(connection);
			connection.tellAway(goaway);
		}
	}

	/** Asks the sidecars among the clients to connect again, so that they say hello again. */
	sendSidecarsAway(goaway: GoawayData): void {
		for (const connection of this.#connections.values()) if (connection.hello.isSidecar) connection.tellAway(goaway);
	}

	/** Asks every client to leave, and ends each connection once its requests are answered. */
	endAll(given: GoawayData): void {
		const goaway = this.#announced(given, this.size);
		for (const connection of this.#connections.values()) {
			connection.goaway(goaway);
			connection.end('shutdown');
		}
	}

	/** With the number of those that will come back. */
	#announced(given: GoawayData, count: number): GoawayData {
		const goaway = { ...given, ...crowdOf(count) };
		this.#context.observer.goaway?.(goaway, count);
		return goaway;
	}

	/** Drops every connection. */
	destroyAll(): void {
		for (const connection of this.#connections.values()) connection.destroy('shutdown');
	}

	/** Ends the registry's own timer. */
	close(): void {
		this.#context.clock.clearTimeout(this.#sweepTimer);
		this.#sweepTimer = undefined;
		this.#overload.close();
	}

	#remove(connection: AcceptedConnection, reason: CloseReason): void {
		if (!this.#connections.delete(connection.id)) return;
		this.strangers.delete(connection);
		this.#tokens.delete(connection);
		const origin = this.#admitted.get(connection);
		if (origin !== undefined) this.#admission.leave(origin.isLocal);
		this.#admitted.delete(connection);
		this.#closedByReason.set(reason, (this.#closedByReason.get(reason) ?? 0) + 1);
		const { bytesRead, bytesWritten } = connection;
		this.#context.observer.connectionClosed?.(connection.id, reason, bytesRead, bytesWritten, connection.hello.who());
		const wasAsked = this.#moving.delete(connection);
		// A client that has moved may leave by a reset, where a push was unread. Of one that is cut off nothing more is to be expected.
		this.#left(connection, wasAsked && (reason === 'client' || reason === 'error'));
		if (this.#connections.size === 0) {
			this.close();
			this.#emptied();
		}
	}

	#armSweep(): void {
		if (this.#sweepTimer !== undefined) return;
		const { clock } = this.#context;
		this.#sweepTimer = clock.setTimeout(() => {
			this.#sweepTimer = undefined;
			const nowMs = clock.now();
			for (const connection of this.#connections.values()) connection.checkTimes(nowMs);
			this.#tokens.check((count) => this.#announced({ reason: 'token', graceMs: SWEEP_MS }, count));
			if (this.#connections.size > 0) this.#armSweep();
		}, SWEEP_MS);
		this.#sweepTimer.unref?.();
	}

	#sum(count: (connection: AcceptedConnection) => number): number {
		let sum = 0;
		for (const connection of this.#connections.values()) sum += count(connection);
		return sum;
	}
}

function crowdOf(count: number): Pick<GoawayData, 'clients'> {
	return count < CROWD_MIN ? {} : { clients: count };
}
