import type { ServiceSource } from '@spock/protocol';
import { Scope } from './foundation/scope.ts';
import type { Closed } from './foundation/status.ts';
import type { ServiceStore } from './lookups/service-pickers.ts';
import type { RemoteSource } from './sources/remote-source.ts';

/** What ends with a client, besides the members of its scope. */
export interface ClientParts {
	readonly source: ServiceSource;
	readonly store: ServiceStore;
	/** The source when it is a sidecar; undefined in direct mode. */
	readonly sidecar: RemoteSource | undefined;
}

/** How a client ends: by a drain, by a close, or because its sidecar refuses it; once, and then all of its parts. */
export class ClientEnd {
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
		// A refused connection ends the client without anybody calling close.
		void parts.sidecar?.connection.closedPromise.then((closed) => this.#ended(closed));
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
