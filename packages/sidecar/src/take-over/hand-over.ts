import { normaliseKeyQuery, normaliseQuery, SpockError } from '@spock/protocol';
import type { Clock, TimerHandle } from '@spock/protocol/internal';

import type { SidecarSource } from '../foundation/sidecar-source.ts';
import type { PublishedSocketPath } from '../listen/listener.ts';
import { fittingQueries, type KnownQueries } from './messages.ts';
import { PrivateSocket } from './private-socket.ts';

/**
 * When the place is looked at after a successor has gone, in milliseconds after the look before: the kernel may close its connection some time
 * before the socket that it listened on, which until then looks alive.
 */
const RESTORE_AFTER_MS = [0, 100, 1000, 10_000];

/** What a hand-over acts on. */
export interface HandOverPort {
	readonly clock: Clock;
	/** The path that a successor can take; undefined where this sidecar listens at none. */
	readonly path: string | undefined;
	/** True before it serves. */
	isStarting(): boolean;
	/** False before it serves and once it is leaving. */
	isServing(): boolean;
	/** The names that it can be reached by, of its unix domain sockets. */
	places(): readonly PublishedSocketPath[];
	/** Further ones, which a successor may leave alone. */
	otherPlaces(): readonly PublishedSocketPath[];
	/** Every query that has an answer. */
	known(): KnownQueries;
	/** Another sidecar has the path: sends the clients there, and ends when they have gone. Resolves when what only one can have is free. */
	leave(): Promise<void>;
	/** The place could not be taken back from a successor that has died. */
	failed(error: unknown): void;
	/** A successor's connection could not be accepted, for want of open files, say. */
	acceptFailed(error: Error): void;
}

/**
 * The end of a sidecar whose place another one takes. A successor reaches it at a private socket, as a process of the same user;
 * it is believed when its socket stands at the path.
 */
export class HandOver {
	readonly #port: HandOverPort;
	readonly #socket: PrivateSocket | undefined;
	/** Connections that have called `begin`: which one is the successor shows at the path. */
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
	 * A successor is about to take the place; returns what it should query first. Throws UNAVAILABLE when there is nothing to take
	 * any more, and NOT_READY when there is nothing to take yet.
	 */
	begin(successor: object): KnownQueries {
		if (this.#port.isStarting()) {
			throw new SpockError('NOT_READY', 'the sidecar in place is still starting: try again when it serves');
		}
		if (!this.#port.isServing()) throw new SpockError('UNAVAILABLE', 'the sidecar in place is shutting down');
		this.#successors.add(successor);
		return fittingQueries(this.#port.known());
	}

	/** The successor says that another socket stands at every path. Rejects with BAD_REQUEST, and nothing has changed, if it does not. */
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
		// One schedule at a time, from its beginning: two looks at once would take each other's sockets for those of another process.
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
