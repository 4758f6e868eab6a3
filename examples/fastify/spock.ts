import { type CreateOptions, createDiplomat, DEFAULT_READY_TIMEOUT_MS, type Diplomat, SpockError } from '@spock/client';
import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import fp from 'fastify-plugin';

declare module 'fastify' {
	interface FastifyInstance {
		/** Finds services. Usable while the app loads, answers once it is ready, and works until its last request is done. */
		readonly diplomat: Diplomat;
	}
}

/** Options of {@link spock}: what the Diplomat is made of, or the Diplomat itself. */
export interface SpockOptions extends CreateOptions {
	/** A client that is there already. The options that make one are not used then, except `readyTimeoutMs`. */
	readonly diplomat?: Diplomat;
	/** Whether it ends with the app. Default: true for a client that is made here, false for one that is given. */
	readonly drainOnClose?: boolean;
}

/** The part of Fastify's own limit that waiting for a sidecar may take: Fastify's error would not say what is missing. */
const PLUGIN_TIMEOUT_SHARE = 0.8;

/**
 * `app.register(spock, { … })` gives the app a `diplomat`. The app is ready when that is, and fails to start with its
 * error, which says what was found at the sidecar's address and what to do. On `app.close()` it is drained when the last
 * request is done.
 */
export const spock: FastifyPluginAsync<SpockOptions> = fp(
	async (app: FastifyInstance, options: SpockOptions): Promise<void> => {
		const { diplomat = createDiplomat(options), drainOnClose = options.diplomat === undefined } = options;
		// Called when the server has closed: what its last requests still ask for is answered.
		app.addHook('onClose', async () => {
			if (drainOnClose) await diplomat.drain();
		});
		app.decorate('diplomat', diplomat);
		app.addHook('onReady', async () => {
			try {
				await diplomat.ready({ timeoutMs: readyTimeoutMsOf(app, options) });
			} catch (error) {
				// Who has a fallback can work without a sidecar.
				if (options.fallback !== undefined && SpockError.is(error, 'TIMEOUT')) return;
				// Or its attempts to connect would keep alive a process that has failed to start.
				if (drainOnClose) await diplomat.close();
				throw error;
			}
		});
	},
	// Not encapsulated: it is the whole app's, and not only of what this plugin registers.
	{ name: 'spock', fastify: '5.x' },
);

function readyTimeoutMsOf(app: FastifyInstance, options: SpockOptions): number {
	const { readyTimeoutMs = DEFAULT_READY_TIMEOUT_MS } = options;
	// Zero is no limit.
	const limitMs = (app.initialConfig.pluginTimeout ?? 0) * PLUGIN_TIMEOUT_SHARE;
	return limitMs === 0 ? readyTimeoutMs : Math.max(1, Math.min(readyTimeoutMs, Math.floor(limitMs)));
}
