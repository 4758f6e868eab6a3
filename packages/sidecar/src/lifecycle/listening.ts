import type { Duplex } from 'node:stream';

import type { SnapshotSource } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { ConnectionRegistry } from '../connection/connection-registry.ts';
import type { ResolvedLimits } from '../foundation/limits.ts';
import type { TlsFailure } from '../foundation/observer.ts';
import { listen } from '../listen/listen.ts';
import type { Listen, Listener, PublishedSocketPath, SidecarListen } from '../listen/listener.ts';
import type { TlsListen, TlsServerOptions } from '../listen/tls-server.ts';
import type { HandOver } from '../take-over/hand-over.ts';
import { type ListenPlace, type TakeOverOptions, takeOver } from '../take-over/take-over.ts';
import type { Front, SidecarOptions } from './sidecar-options.ts';

/** What a {@link Listening} needs. */
export interface ListeningContext {
	readonly options: SidecarOptions;
	readonly limits: ResolvedLimits;
	readonly clock: Clock;
	/** Receives every connection of the sidecar's own protocol. */
	readonly registry: ConnectionRegistry;
	/** Receives the connections of its own addresses. */
	readonly front: Front | undefined;
	/** Opened before another sidecar is replaced, and closed after the addresses. */
	readonly handOver: Pick<HandOver, 'open' | 'close'>;
	/** Reads what the sidecar in place still writes. Never rejects. */
	readonly prepare: () => Promise<void>;
	/** Called with the source of the answers that a take-over requested; undefined if none came. */
	readonly answered: (from: SnapshotSource | undefined) => void;
}

/** The addresses of a sidecar: binds them, or takes them over, and releases them. */
export class Listening {
	readonly #context: ListeningContext;
	readonly #listeners: Listener[] = [];
	/** The listeners of the front, which are in `#listeners` too. */
	readonly #frontListeners = new Set<Listener>();
	/** Ends the binding when the process must end before it is bound. */
	readonly #abort = new AbortController();
	#binding: Promise<void> | undefined;
	#hasReplacedHung = false;

	constructor(context: ListeningContext) {
		this.#context = context;
	}

	/** The addresses as text, with the ports that the kernel chose. */
	get addresses(): readonly string[] {
		return this.#own.map(({ address }) => address);
	}

	/** The addresses of the front. */
	get frontAddresses(): readonly string[] {
		return [...this.#frontListeners].map(({ address }) => address);
	}

	/** The socket paths that another process can take over. */
	get places(): readonly PublishedSocketPath[] {
		return this.#own.flatMap(({ place }) => place ?? []);
	}

	/** The socket paths of the front, which a successor may not have. */
	get frontPlaces(): readonly PublishedSocketPath[] {
		return [...this.#frontListeners].flatMap(({ place }) => place ?? []);
	}

	/** True once it has taken the place of a sidecar that does not answer, and may still have what only one can have. */
	get hasReplacedHung(): boolean {
		return this.#hasReplacedHung;
	}

	get #own(): readonly Listener[] {
		return this.#listeners.filter((listener) => !this.#frontListeners.has(listener));
	}

	/** Binds every address. Rejects if one cannot be bound; `close` then closes the others. */
	bind(): Promise<void> {
		// A request to end may arrive while it binds: closing then waits until binding has ended.
		this.#binding = this.#bind();
		return this.#binding;
	}

	/** Releases ports, because two processes cannot share one; a successor has the path. */
	closePorts(): void {
		for (const listener of this.#listeners) if (listener.place === undefined) void listener.close();
	}

	/** Binds nothing more; bound addresses stay until `close`. */
	async endBinding(): Promise<void> {
		this.#abort.abort();
		await this.#binding?.catch(() => undefined);
	}

	async close(): Promise<void> {
		await Promise.all(this.#listeners.map((listener) => listener.close()));
		// Last, because a successor that finds the path served without a private socket assumes that this sidecar cannot be replaced.
		await this.#context.handOver.close();
	}

	async #bind(): Promise<void> {
		const { options, clock, answered, handOver, prepare } = this.#context;
		const { takeOver: taking, source } = options;
		const front = this.#placesOfFront();
		const places = [...options.listen.map((one) => this.#placeOf(one)), ...front];
		const listener = this.#noting(new Set(front.map((place) => place.options.accept)));
		if (taking !== undefined) {
			const bound = (one: Listener): void => void this.#listeners.push(one);
			const { signal } = this.#abort;
			const open = (): Promise<void> => handOver.open();
			const told: TakeOverOptions['told'] = (event) => {
				this.#hasReplacedHung ||= event.step === 'hung';
				taking.told?.(event);
			};
			const context = { ...taking, told, places, listen: listener, source, clock, signal, bound, open, prepare };
			answered(await takeOver(context));
			return;
		}
		for (const place of places) this.#listeners.push(await listener(place.address, place.options));
	}

	#placesOfFront(): ListenPlace[] {
		const { front, options } = this.#context;
		if (front === undefined) return [];
		return (options.front?.listen ?? []).map((one) =>
			this.#placeOf(one, front.acceptor({ tokens: one.tokens, isLocal: 'path' in one.address })),
		);
	}

	/** Binds, and records which listeners are the front's. */
	#noting(accepts: ReadonlySet<(socket: Duplex) => void>): Listen {
		const { listener = listen } = this.#context.options;
		return async (address, options) => {
			const bound = await listener(address, options);
			if (accepts.has(options.accept)) this.#frontListeners.add(bound);
			return bound;
		};
	}

	#placeOf(
		{ address, tokens, tls, ...options }: SidecarListen,
		accept = (socket: Duplex): void => this.#context.registry.add(socket, { tokens, isLocal: 'path' in address }),
	): ListenPlace {
		const { limits, options: given } = this.#context;
		const { backlog } = limits;
		const acceptFailed = (error: Error): void => given.observer?.acceptFailed?.(error);
		const secure = tls && { tls: this.#tlsOptions(tls) };
		return { address, options: { ...options, ...secure, backlog, accept, acceptFailed } };
	}

	#tlsOptions(tls: TlsListen): Omit<TlsServerOptions, 'accept'> {
		const { limits, registry, clock, options } = this.#context;
		const { handshakeMs, connectionsMax } = limits;
		const { strangers } = registry;
		const failed = (reason: TlsFailure): void => options.observer?.tlsFailed?.(reason);
		const refused = (): void => registry.refused();
		return { tls, clock, handshakeMs, connectionsMax, strangers, failed, refused };
	}
}
