import type { Duplex } from 'node:stream';

import type { SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';
import type { SocketAddress } from '@spock/protocol/node';

import { socketTransport, type Transport } from './foundation/transport.ts';

/** A connection that held this long is made to the same place again when it is lost. */
const STABLE_MS = 5000;

/** Where a sidecar that can be asked listens. */
export interface UpstreamPlace {
	/** For people: `tls://10.0.0.1:7070`. */
	readonly name: string;
	readonly address: SocketAddress;
	/** Default: a socket of node:net. */
	readonly transport?: Transport;
}

/** One of several places. */
export interface PlaceStatus {
	readonly name: string;
	/** Why it was of no use when it was tried last; null if it worked then, or was not tried. */
	readonly error: string | null;
}

/**
 * Why a connection was of no use. `denied`: the token. `loop`: the other sidecar asks this one. `version`: no protocol version in common.
 * `away`: no connection, it was lost, or anything else.
 */
export type UpstreamFailure = 'away' | 'denied' | 'loop' | 'version';

/** What became of the connections to several places, since the start. */
export interface UpstreamCounts {
	/** Times that another place took over from the one before. */
	readonly failovers: number;
	/** Connections that failed, were refused, or were lost. */
	readonly failures: Readonly<Record<UpstreamFailure, number>>;
	/** Of all connections, as their sockets count them. */
	readonly bytesRead: number;
	readonly bytesWritten: number;
}

/** What a socket counts; a transport that is none may count nothing. */
type Counting = Duplex & { readonly bytesRead?: number; readonly bytesWritten?: number };

/** Which of the places is dialled: the same again after a connection that worked, the next one after any other. */
export class Rotation {
	/** Where the newest connection goes. */
	current: UpstreamPlace;
	localHost: () => string | undefined = () => undefined;
	/** Why the connection that was closed last has ended. */
	lastError: () => SpockError | undefined = () => undefined;
	readonly transport: Transport;
	/** Why each place was of no use since one worked. */
	readonly #errors = new Map<UpstreamPlace, string>();
	/** The same, since that place itself worked. */
	readonly #lastErrors = new Map<UpstreamPlace, string>();
	readonly #places: readonly UpstreamPlace[];
	#index = 0;
	readonly #clock: Clock;
	/** When the newest connection was greeted; undefined until it is. */
	#workedAtMs: number | undefined;
	#isFirst = true;
	readonly #open = new Set<Counting>();
	#newest: Counting | undefined;
	/** The one that worked last. */
	#used: UpstreamPlace | undefined;
	#failovers = 0;
	readonly #failures: Record<UpstreamFailure, number> = { away: 0, denied: 0, loop: 0, version: 0 };
	/** Of connections that are closed. */
	#bytesRead = 0;
	#bytesWritten = 0;

	constructor(places: readonly UpstreamPlace[], first: UpstreamPlace, clock: Clock) {
		this.#clock = clock;
		this.#places = places;
		this.current = first;
		const open: Transport = (_address, receive) => {
			const place = this.#next();
			const { address, transport = socketTransport } = place;
			const stream: Counting = transport(address, receive);
			this.#open.add(stream);
			this.#newest = stream;
			// Behind the client's own listener, which knows the reason.
			stream.once('close', () => queueMicrotask(() => this.#closed(stream, place)));
			this.localHost = () => (stream as { localAddress?: string }).localAddress;
			return stream;
		};
		this.transport = Object.assign(open, {
			mark: () => {
				const { address, transport = socketTransport } = this.current;
				return transport.mark?.(address);
			},
		});
	}

	/** The connection that was opened last has been greeted. */
	worked(): void {
		this.#workedAtMs = this.#clock.now();
		this.#errors.clear();
		this.#lastErrors.delete(this.current);
		if (this.#used !== undefined && this.#used !== this.current) this.#failovers++;
		this.#used = this.current;
	}

	/** For people: what is wrong with each place. */
	describe(): string {
		const wrong = this.#places.flatMap((place) => {
			const error = this.#errors.get(place);
			return error === undefined ? [] : [`${place.name}: ${error}`];
		});
		return wrong.length > 0 ? wrong.join('; ') : `${this.current.name}: no answer yet`;
	}

	status(): readonly PlaceStatus[] {
		return this.#places.map((place) => ({ name: place.name, error: this.#lastErrors.get(place) ?? null }));
	}

	counts(): UpstreamCounts {
		let [bytesRead, bytesWritten] = [this.#bytesRead, this.#bytesWritten];
		for (const stream of this.#open) {
			bytesRead += stream.bytesRead ?? 0;
			bytesWritten += stream.bytesWritten ?? 0;
		}
		return { failovers: this.#failovers, failures: { ...this.#failures }, bytesRead, bytesWritten };
	}

	#closed(stream: Counting, place: UpstreamPlace): void {
		this.#open.delete(stream);
		this.#bytesRead += stream.bytesRead ?? 0;
		this.#bytesWritten += stream.bytesWritten ?? 0;
		const error = this.lastError();
		this.#errors.set(place, error?.message ?? 'the connection was closed');
		// One whose successor was opened already has done its work.
		if (stream !== this.#newest) return;
		this.#lastErrors.set(place, error?.message ?? 'the connection was closed');
		this.#failures[failureOf(error)]++;
	}

	#next(): UpstreamPlace {
		// One that was greeted and ended soon may do so for ever.
		const wasStable = this.#workedAtMs !== undefined && this.#clock.now() - this.#workedAtMs >= STABLE_MS;
		if (!this.#isFirst && !wasStable) this.#index = (this.#index + 1) % this.#places.length;
		this.#isFirst = false;
		this.#workedAtMs = undefined;
		this.current = this.#places[this.#index] ?? this.current;
		return this.current;
	}
}

function failureOf(error: SpockError | undefined): UpstreamFailure {
	if (error?.code === 'ACL_DENIED') return 'denied';
	if (error?.code === 'PROTOCOL') return 'version';
	// As a sidecar answers a hello that would close a loop.
	return error?.code === 'UNAVAILABLE' && error.details['upstreams'] !== undefined ? 'loop' : 'away';
}
