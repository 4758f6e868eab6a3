import type { ServiceSource } from '@spock/protocol';
import { formatAddress, type SocketAddress } from '@spock/protocol/node';
import { Scope } from './foundation/scope.ts';
import type { Closed, DiplomatStatus } from './foundation/status.ts';
import type { ServiceStore } from './lookups/service-pickers.ts';
import type { RemoteSource } from './sources/remote-source.ts';

/** What is known of a sidecar before the first has answered, and in direct mode. */
const NO_SIDECAR = { sidecar: null, instance: null, baseline: false };

type Balancing = Pick<DiplomatStatus, 'zone' | 'ejected' | 'ejectedPercentMax'>;

/** What ends with a client, besides the members of its scope. */
export interface ClientParts {
	readonly source: ServiceSource;
	readonly store: ServiceStore;
	/** The source when it is a sidecar; undefined in direct mode. */
	readonly sidecar: RemoteSource | undefined;
}

/**
 * Whether a client is open, its status, and its end: by a drain, by a close, or because its sidecar refuses it. It ends once, with all of
 * its parts.
 */
export class ClientLife {
	/** What ends with the client: watches and configurations. It is open while calls are taken. */
	readonly scope: Scope = new Scope();
	/** Settles when the client has ended, with the reason; never rejects. */
	readonly closed: Promise<Closed>;
	readonly #parts: ClientParts;
	#resolveClosed: (closed: Closed) => void = () => undefined;
	/** True when `closed` has settled. */
	#hasEnded = false;

	constructor(parts: ClientParts) {
		this.#parts = parts;
		this.closed = new Promise((resolve) => {
			this.#resolveClosed = resolve;
		});
		// A refused connection ends the client without a call of close.
		void parts.sidecar?.connection.closedPromise.then((closed) => this.#ended(closed));
	}

	/** `address` is where the sidecar is. */
	status(address: SocketAddress, balancing: Balancing): DiplomatStatus {
		const { sidecar } = this.#parts;
		return sidecar === undefined ? this.#directStatus(balancing) : sidecarStatus(sidecar, address, balancing);
	}

	/** Refuses new calls and waits for those in flight. Idempotent. */
	async drain(): Promise<void> {
		if (this.scope.isOpen) await this.#end('drain');
		await this.closed;
	}

	/** Rejects every call. Idempotent; also cuts a drain short. */
	async close(): Promise<void> {
		if (!this.#hasEnded) await this.#end('close');
		await this.closed;
	}

	#directStatus(balancing: Balancing): DiplomatStatus {
		const { source, store } = this.#parts;
		return {
			source: source.name,
			state: this.scope.isOpen ? 'ready' : 'closed',
			address: null,
			...NO_SIDECAR,
			subscriptions: store.count,
			inFlight: 0,
			waiting: 0,
			window: null,
			lateReplies: 0,
			protocolFaults: 0,
			reconnects: 0,
			lastError: null,
			fallback: null,
			...balancing,
		};
	}

	async #end(reason: 'drain' | 'close'): Promise<void> {
		const { sidecar, store, source } = this.#parts;
		this.scope.end();
		if (sidecar !== undefined) return sidecar[reason]();
		store.close();
		try {
			await source.close();
		} finally {
			this.#ended({ reason });
		}
	}

	#ended(closed: Closed): void {
		if (this.#hasEnded) return;
		this.#hasEnded = true;
		this.scope.end();
		// `drain` and `close` close the sidecar by themselves, and their caller hears what fails.
		if (closed.reason === 'refused') void this.#parts.sidecar?.close();
		this.#resolveClosed(closed);
	}
}

function sidecarStatus(
	{ name, connection, services, keys, fallback }: RemoteSource,
	address: SocketAddress,
	balancing: Balancing,
): DiplomatStatus {
	const { state, greeting, lastError } = connection;
	const { sidecar, instance, baseline } = greeting ?? NO_SIDECAR;
	return {
		source: name,
		state,
		address: formatAddress(address),
		sidecar,
		instance,
		baseline,
		subscriptions: services.store.count + keys.store.count,
		...connection.counts(),
		lastError: lastError?.message ?? null,
		fallback: fallback?.status() ?? null,
		...balancing,
	};
}
