import type { ConnectionRegistry } from '../connection/connection-registry.ts';
import type { ResolvedLimits } from '../foundation/limits.ts';
import type { Front } from './front.ts';
import type { Listening } from './listening.ts';
import type { Readiness } from './readiness.ts';
import type { SidecarOptions } from './sidecar-options.ts';

/** What a sidecar tells clients to give it before it cuts them off, in milliseconds. */
const GOAWAY_GRACE_MS = 1000;

/** What a {@link SidecarEnd} takes apart. */
export interface SidecarParts {
	readonly options: SidecarOptions;
	readonly limits: ResolvedLimits;
	readonly readiness: Readiness;
	readonly listening: Listening;
	readonly registry: ConnectionRegistry;
	readonly front: Front | undefined;
}

/** The ways in which a sidecar lets go of what it holds; its life cycle says when, and for how long. */
export class SidecarEnd {
	readonly #parts: SidecarParts;
	#closing: Promise<void> | undefined;
	#emptied: (() => void) | undefined;

	constructor(parts: SidecarParts) {
		this.#parts = parts;
	}

	/** The registry of connections has none any more. */
	emptied(): void {
		this.#emptied?.();
	}

	/** Closes everything, each after what needs it. Asked again, it is the same closing. */
	closeAll(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	/** Cuts every connection. */
	destroyAll(): void {
		const { options, registry, front } = this.#parts;
		// Nobody waits for the registry any more: it takes out by itself what it still knows.
		options.registrations?.close();
		registry.destroyAll();
		front?.destroy();
	}

	/** Somebody else has the place. */
	sendAway(): void {
		const { options, limits, listening, registry } = this.#parts;
		options.registrations?.release();
		void options.source.release?.();
		listening.closePorts();
		registry.sendAway({ reason: 'upgrade', graceMs: limits.drainTimeoutMs });
	}

	async #close(): Promise<void> {
		const { options, readiness, listening, registry, front } = this.#parts;
		readiness.stop();
		await listening.endBinding();
		// Apps that have left are taken out; one that is still here has not, and what ends may be its sidecar alone: the next one
		// finds it in the registry. The life cycle bounds this: past its last deadline `destroyAll` ends the wait.
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
		await options.source.close();
	}
}
