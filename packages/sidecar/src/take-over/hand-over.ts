import { normaliseKeyQuery, normaliseQuery, SpockError } from '@spock/protocol';
import type { Clock, TimerHandle } from '@spock/protocol/internal';

import type { SidecarSource } from '../foundation/sidecar-source.ts';
import type { PublishedSocketPath } from '../listen/listener.ts';
import { fittingQueries, type KnownQueries } from './messages.ts';
import { PrivateSocket } from './private-socket.ts';

/**
 * When the path is checked after a successor has gone, in milliseconds after the previous check: the kernel may close its connection some time
 * before its listening socket, which looks alive until then.
 */
const RESTORE_AFTER_MS = [0, 100, 1000, 10_000];

/** What a hand-over acts on. */
export interface HandOverPort {
	readonly clock: Clock;
	/** The path that a successor can take; undefined where this sidecar listens at none. */
	readonly path: string | undefined;
	/** True before it serves. */
	isStarting(): boolean;
	/** False before it serves, and once it is leaving. */
	isServing(): boolean;
	/** The names that it can be reached by, of its unix domain sockets. */
	places(): readonly PublishedSocketPath[];
	/** Further ones, which a successor may leave alone. */
	otherPlaces(): readonly PublishedSocketPath[];
	/** Every query that has an answer. */
	known(): KnownQueries;
	/** Another sidecar has the path: sends the clients there, and ends when they have gone. Resolves once everything is released that only one process can have. */
	leave(): Promise<void>;
	/** The path could not be taken back after a successor had died. */
	failed(error: unknown): void;
	/** A successor's connection could not be accepted, for want of open files, say. */
	acceptFailed(error: Error): void;
}

/**
 * The end of a sidecar that another one replaces. A successor connects to a private socket, as a process of the same user;
 * it is trusted once its own socket is at the path.
 */
export class HandOver {
	readonly #port: HandOverPort;
	readonly #socket: PrivateSocket | undefined;
	/** Connections that have called `begin`. The socket at the path shows which one is the successor. */
	readonly #successors = new Set<object>();
	#looks = 0;
	#timer: TimerHandle | undefined;
	#isLooking = false;

	/** Throws a RangeError if the path is too long. */
	constructor(port: HandOverPort) {
		this.#port = port;
		this.#socket =
			port.path === undefined
				? undefined
				: new PrivateSocket({
						path: port.path,
						clock: port.clock,
						begin: (successor) => this.begin(successor),
						finish: () => this.finish(),
						left: (successor) => this.left(successor),
						acceptFailed: (error) => port.acceptFailed(error),
					});
	}

	/** The private socket, which must be put back when its file is deleted. */
	get places(): readonly Pick<PublishedSocketPath, 'restore'>[] {
		return this.#socket === undefined ? [] : [this.#socket];
	}

	/** Rejects with an Error that says what to do if `open` could not work. */
	async assertOpenable(): Promise<void> {
		await this.#socket?.assertReplaceable();
	}

	/** Accepts successors from now on, in place of the sidecar that had the path. Rejects with an Error that says what to do. */
	async open(): Promise<void> {
		await this.#socket?.open();
	}

	/** Idempotent. */
	async close(): Promise<void> {
		this.#port.clock.clearTimeout(this.#timer);
		await this.#socket?.close();
	}

	/**
	 * A successor is about to take over; returns what it should query first. Throws UNAVAILABLE when there is nothing left to take
	 * over, and NOT_READY when there is nothing to take over yet.
	 */
	begin(successor: object): KnownQueries {
		if (this.#port.isStarting()) {
			throw new SpockError('NOT_READY', 'the sidecar in place is still starting: try again when it serves');
		}
		if (!this.#port.isServing()) throw new SpockError('UNAVAILABLE', 'the sidecar in place is shutting down');
		this.#successors.add(successor);
		return fittingQueries(this.#port.known());
	}

	/** The successor reports that its sockets are at every path. Rejects with BAD_REQUEST if they are not; nothing has changed then. */
	async finish(): Promise<void> {
		const places = this.#port.places();
		if (places.length === 0) {
			throw new SpockError('BAD_REQUEST', 'this sidecar has no socket path, and only a socket path can be taken over');
		}
		const replaced = await Promise.all(places.map((place) => place.isReplaced()));
		if (replaced.includes(false)) {
			throw new SpockError(
				'BAD_REQUEST',
				'the socket of this sidecar is still at its path: no other sidecar has taken it over',
			);
		}
		this.#successors.clear();
		if (this.#port.isServing()) await this.#port.leave();
	}

	/** A connection is gone. A successor that dies half-way may have left its own dead socket at the path. */
	left(successor: object): void {
		if (!this.#successors.delete(successor)) return;
		// One schedule at a time, from its beginning: two checks at once would take each other's sockets for those of another process.
		this.#looks = 0;
		if (!this.#isLooking) this.#lookAgain();
	}

	#lookAgain(): void {
		this.#port.clock.clearTimeout(this.#timer);
		const delayMs = RESTORE_AFTER_MS[this.#looks++];
		if (delayMs === undefined) return;
		this.#timer = this.#port.clock.setTimeout(() => void this.#restore(), delayMs);
		this.#timer.unref?.();
	}

	async #restore(): Promise<void> {
		if (!this.#port.isServing()) return;
		this.#isLooking = true;
		const failed = (error: unknown): void => this.#port.failed(error);
		const places = [...this.#port.places(), ...this.#port.otherPlaces()];
		await Promise.all(places.map((place) => place.restore().catch(failed)));
		this.#isLooking = false;
		this.#lookAgain();
	}
}

/** What a successor should query first: every query that has an answer. */
export function knownQueriesOf(source: SidecarSource): KnownQueries {
	const services = source.watches().filter(({ state }) => state !== 'cold');
	const keys = (source.keyWatches?.() ?? []).filter(({ state }) => state !== 'cold');
	return { services: services.map(normaliseQuery), keys: keys.map(normaliseKeyQuery) };
}
