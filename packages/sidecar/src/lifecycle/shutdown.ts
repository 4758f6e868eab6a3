import type { ConnectionRegistry } from '../connection/connection-registry.ts';
import type { ResolvedLimits } from '../foundation/limits.ts';
import type { Listening } from './listening.ts';
import type { Readiness } from './readiness.ts';
import type { Events, Front, SidecarOptions } from './sidecar-options.ts';

/** How long clients may take to leave before they are disconnected, in milliseconds. */
const GOAWAY_GRACE_MS = 1000;

/** What a {@link Shutdown} closes. */
export interface SidecarParts {
	readonly options: SidecarOptions;
	readonly limits: ResolvedLimits;
	readonly readiness: Readiness;
	readonly listening: Listening;
	readonly registry: ConnectionRegistry;
	readonly front: Front | undefined;
	readonly events: Events | undefined;
}

/** How a sidecar closes what it has opened; its life cycle decides when, and how long that may take. */
export class Shutdown {
	readonly #parts: SidecarParts;
	#closing: Promise<void> | undefined;
	#emptied: (() => void) | undefined;

	constructor(parts: SidecarParts) {
		this.#parts = parts;
	}

	/** The last connection has closed. */
	emptied(): void {
		this.#emptied?.();
	}

	/** Closes everything, each part after those that need it. Idempotent. */
	closeAll(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	/** Drops every connection. */
	destroyAll(): void {
		const { options, registry, front } = this.#parts;
		// Do not wait for the registry any more: it removes what is left by itself.
		options.registrations?.close();
		registry.destroyAll();
		front?.destroy();
	}

	/** Another sidecar has replaced this one. */
	sendAway(): void {
		const { options, limits, listening, registry } = this.#parts;
		options.registrations?.release();
		void options.source.release?.();
		listening.closePorts();
		registry.sendAway({ reason: 'upgrade', graceMs: limits.drainTimeoutMs });
	}

	/** This process ends, and another one may serve at its address: clients connect there before they leave. */
	sendTcpAway(): void {
		const { limits, registry } = this.#parts;
		const { drainTimeoutMs, graceMs } = limits;
		registry.sendTcpAway({ reason: 'shutdown', graceMs: Math.max(0, drainTimeoutMs - graceMs) });
	}

	async #close(): Promise<void> {
		const { options, readiness, listening, registry, front, events } = this.#parts;
		readiness.stop();
		await listening.endBinding();
		// Deregister the apps that have left. For a connected app, possibly only the sidecar ends: the next one finds its
		// instance in the registry. The life cycle limits this wait: at its last deadline `destroyAll` ends it.
		await options.registrations?.leave();
		await listening.close();
		const frontClosed = front?.close(GOAWAY_GRACE_MS);
		if (registry.size > 0) {
			const emptied = new Promise<void>((resolve) => {
				this.#emptied = resolve;
			});
			registry.endAll({ reason: 'shutdown', graceMs: GOAWAY_GRACE_MS });
			await emptied;
		}
		await frontClosed;
		registry.close();
		options.registrations?.close();
		// Everything that clients have sent is read by now.
		await events?.close();
		await options.source.close();
	}
}
