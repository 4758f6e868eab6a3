import type { Duplex } from 'node:stream';

import { type GoawayData, queryKey, type ServiceQuery, type WatcherStatus } from '@spock/protocol';
import type { TimerHandle } from '@spock/protocol/internal';

import type { CloseReason } from '../sidecar-observer.ts';
import { Connection, type ConnectionContext } from './connection.ts';

/** How often connections are looked at for frames that take too long. */
const SWEEP_MS = 5000;

/** The live connections, and why each of the others was closed. */
export class ConnectionRegistry {
	readonly #context: ConnectionContext;
	readonly #connections = new Map<number, Connection>();
	readonly #closedByReason = new Map<CloseReason, number>();
	readonly #emptied: () => void;
	readonly #left: (connection: Connection) => void;
	#nextId = 1;
	#opened = 0;
	#refused = 0;
	#sweepTimer: TimerHandle | undefined;
	/** Where clients are to go, from the moment that they are to. */
	#away: GoawayData | undefined;

	/** `left` is called for each connection that is gone, `emptied` whenever it was the last one. */
	constructor(
		context: Omit<ConnectionContext, 'closed'>,
		emptied: () => void,
		left: (connection: Connection) => void = () => undefined,
	) {
		this.#left = left;
		this.#context = { ...context, closed: (connection, reason) => this.#remove(connection, reason) };
		this.#emptied = emptied;
	}

	get size(): number {
		return this.#connections.size;
	}

	get subscriptions(): number {
		return this.#sum((connection) => connection.subscriptions);
	}

	get inFlight(): number {
		return this.#sum((connection) => connection.inFlight);
	}

	/** The clients that subscribe to just this query. */
	watchers(query: ServiceQuery): WatcherStatus[] {
		const key = queryKey(query);
		return [...this.#connections.values()].flatMap((connection) => connection.watcher(key) ?? []);
	}

	/** Totals since the start, by name. */
	counters(): Readonly<Record<string, number>> {
		const closed = [...this.#closedByReason].map(([reason, count]) => [`closed-${reason}`, count] as const);
		return { opened: this.#opened, refused: this.#refused, ...Object.fromEntries(closed) };
	}

	/** Takes a new connection, or closes it at once when there are too many. */
	add(socket: Duplex): void {
		const { limits, observer } = this.#context;
		if (this.#connections.size >= limits.connectionsMax) {
			this.#refused++;
			observer.connectionRefused?.();
			socket.on('error', () => undefined);
			socket.destroy();
			return;
		}
		this.#opened++;
		const connection = new Connection(this.#nextId++, socket, this.#context);
		this.#connections.set(connection.id, connection);
		if (this.#away !== undefined) connection.goaway(this.#away);
		observer.connectionOpened?.(connection.id);
		this.#armSweep();
	}

	/** Asks every client to leave, also those that are still to come; each is served until it does. */
	sendAway(goaway: GoawayData): void {
		this.#context.observer.goaway?.(goaway);
		this.#away = goaway;
		for (const connection of this.#connections.values()) connection.goaway(goaway);
	}

	/** Asks every client to leave, and ends each connection once its requests are answered. */
	endAll(goaway: GoawayData): void {
		this.#context.observer.goaway?.(goaway);
		for (const connection of this.#connections.values()) {
			connection.goaway(goaway);
			connection.end('shutdown');
		}
	}

	/** Drops every connection. */
	destroyAll(): void {
		for (const connection of this.#connections.values()) connection.destroy('shutdown');
	}

	/** Ends the registry's own timer. */
	close(): void {
		this.#context.clock.clearTimeout(this.#sweepTimer);
		this.#sweepTimer = undefined;
	}

	#remove(connection: Connection, reason: CloseReason): void {
		if (!this.#connections.delete(connection.id)) return;
		this.#closedByReason.set(reason, (this.#closedByReason.get(reason) ?? 0) + 1);
		this.#context.observer.connectionClosed?.(connection.id, reason, connection.bytesRead, connection.bytesWritten);
		this.#left(connection);
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
			for (const connection of this.#connections.values()) connection.checkPartialFrame(nowMs);
			if (this.#connections.size > 0) this.#armSweep();
		}, SWEEP_MS);
		this.#sweepTimer.unref?.();
	}

	#sum(count: (connection: Connection) => number): number {
		let sum = 0;
		for (const connection of this.#connections.values()) sum += count(connection);
		return sum;
	}
}
