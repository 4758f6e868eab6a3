import {
	type CreateOptions,
	createDiplomat,
	DEFAULT_FALLBACK_AFTER_MS,
	DEFAULT_READY_TIMEOUT_MS,
	type Diplomat,
	type Registration,
	SpockError,
} from '@spock/client';
import { AppRegistration, type AppRegistrationData, diplomatOption } from '@spock/client/integrations';
import { booleanOption } from '@spock/protocol/internal';
import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import fp from 'fastify-plugin';

declare module 'fastify' {
	interface FastifyInstance {
		/** Finds services. There while the app loads, connected once it is ready, and open until its last request has ended. */
		readonly diplomat: Diplomat;
		/** The app itself in the registry, once the sidecar has accepted it; undefined without the option `register`. */
		readonly registration: Registration | undefined;
	}
}

/** Options of {@link spock}: those of the Diplomat that it makes, or a Diplomat. */
export interface SpockPluginOptions extends CreateOptions {
	/** An existing client. The options that make one are not used then, except `readyTimeoutMs`. Default: a new one. */
	readonly diplomat?: Diplomat;
	/** Whether the client ends with the app. Default: true for a client that is made here, false for one that is given. */
	readonly drainOnClose?: boolean;
	/**
	 * Registers the app under this service, or with these data, while it listens: at the port at which it does, and from then until
	 * `app.close()`, before it stops taking requests. Default: the app is not registered.
	 */
	readonly register?: string | AppRegistrationData;
	/**
	 * Path of a route for readiness probes, such as `/readyz`: 200 while the app serves (and, with `register`, the registry has
	 * known it), else 503. An absent sidecar does not change it, because lookups go on. Default: no route.
	 */
	readonly readyPath?: string;
}

/** The part of Fastify's own limit that waiting for a sidecar may take: Fastify's error would not say what is missing. */
const PLUGIN_TIMEOUT_SHARE = 0.8;

/**
 * `app.register(spock, { … })` gives the app a `diplomat`. The app is ready when that is, and fails to start with its
 * error, which says what was found at the sidecar's address and what to do. On `app.close()` the app is deregistered while it
 * still takes requests, the server finishes those under way, and the Diplomat is drained. Throws a TypeError for wrong options.
 */
export const spock: FastifyPluginAsync<SpockPluginOptions> = fp(
	async (app: FastifyInstance, options: SpockPluginOptions): Promise<void> => {
		const { diplomat = createDiplomat(clientOptions(options)), drainOnClose, register, readyPath } = options;
		diplomatOption(diplomat);
		const drains = booleanOption('drainOnClose', drainOnClose ?? options.diplomat === undefined);
		const own = register === undefined ? undefined : new AppRegistration(diplomat, register);
		const serving = { isClosing: false };
		// Called when the server has closed: what its last requests still ask for is answered.
		app.addHook('onClose', async () => {
			if (drains) await diplomat.drain();
		});
		app.decorate('diplomat', diplomat);
		app.decorate('registration', { getter: () => own?.registration });
		app.addHook('onReady', async () => {
			// Of these hooks the last one that is added runs first: before Fastify answers new requests with 503.
			app.addHook('onClose', async () => {
				serving.isClosing = true;
				await own?.withdraw();
			});
			await waitForSidecar(app, diplomat, options, drains);
		});
		app.addHook('onListen', async () => own?.start(app.server.address()));
		endKeptConnections(app);
		if (readyPath !== undefined) addReadyRoute(app, readyPath, own, serving);
	},
	// Not encapsulated: it is the whole app's, and not only of what this plugin registers.
	{ name: 'spock', fastify: '>=4.23.0 <6.0.0' },
);

/** What Fastify's own `register` takes, and passes on to every plugin. */
type RegisterOptions = Readonly<Partial<Record<'prefix' | 'logLevel' | 'logSerializers', unknown>>>;

/** The options that are for the client. */
function clientOptions(options: SpockPluginOptions & RegisterOptions): CreateOptions {
	const { diplomat: _, drainOnClose, register, readyPath, prefix, logLevel, logSerializers, ...client } = options;
	return client;
}

async function waitForSidecar(
	app: FastifyInstance,
	diplomat: Diplomat,
	options: SpockPluginOptions,
	drains: boolean,
): Promise<void> {
	try {
		await diplomat.ready({ timeoutMs: readyTimeoutMsOf(app, options) });
	} catch (error) {
		// An app with a fallback can work without a sidecar.
		if (options.fallback !== undefined && SpockError.is(error, 'TIMEOUT')) return;
		// Its attempts to connect would keep alive a process that has failed to start.
		if (drains) await diplomat.close();
		throw error;
	}
}

function readyTimeoutMsOf(app: FastifyInstance, options: SpockPluginOptions): number {
	const { readyTimeoutMs = DEFAULT_READY_TIMEOUT_MS, fallback, fallbackAfterMs = DEFAULT_FALLBACK_AFTER_MS } = options;
	const wantedMs = fallback === undefined ? readyTimeoutMs : Math.min(readyTimeoutMs, fallbackAfterMs);
	// Zero is no limit.
	const limitMs = (app.initialConfig.pluginTimeout ?? 0) * PLUGIN_TIMEOUT_SHARE;
	return limitMs === 0 ? wantedMs : Math.max(1, Math.min(wantedMs, Math.floor(limitMs)));
}

/** A client that keeps its connection would hold up the end of the server until it lets go of it. */
function endKeptConnections(app: FastifyInstance): void {
	app.addHook('onSend', async ({ raw }, reply) => {
		if (!app.server.listening && raw.httpVersionMajor === 1) reply.header('connection', 'close');
	});
}

function addReadyRoute(
	app: FastifyInstance,
	path: string,
	own: AppRegistration | undefined,
	serving: { readonly isClosing: boolean },
): void {
	if (typeof path !== 'string' || !path.startsWith('/')) {
		throw new TypeError(`readyPath must be a path that begins with /, got ${JSON.stringify(path)}`);
	}
	app.get(path, async (_request, reply) => {
		const ready = !serving.isClosing && own?.isReady !== false;
		const { state } = app.diplomat.status();
		const registered = own === undefined ? {} : { registration: own.registration?.state ?? 'waiting', ...whyNot(own) };
		return reply.code(ready ? 200 : 503).send({ ready, sidecar: state, ...registered });
	});
}

function whyNot({ error, registration }: AppRegistration): { readonly error?: string } {
	const why = registration?.error ?? (error instanceof Error ? error.message : undefined);
	return why === undefined || why === null ? {} : { error: why };
}
