import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';

import type { Registrations } from '@spock/discovery';
import {
	type BackendStatus,
	type KeyQuery,
	type KeyWatchStatus,
	normaliseKeyQuery,
	normaliseQuery,
	type ServiceQuery,
	type ServiceSource,
	type SnapshotSource,
	type StatusReply,
	type SupervisionStatus,
	type WatchStatus,
} from '@spock/protocol';
import { Backoff, type Clock, type Random, systemClock, type TimerHandle } from '@spock/protocol/internal';
import type { SocketAddress } from '@spock/protocol/node';

import type { StatusView } from './admin/status-view.ts';
import { explainHandler } from './handlers/explain.ts';
import { getInstancesHandler } from './handlers/get-instances.ts';
import { getKeyHandler } from './handlers/get-key.ts';
import { getServiceHandler } from './handlers/get-service.ts';
import { helloHandler } from './handlers/hello.ts';
import { listServicesHandler } from './handlers/list-services.ts';
import { pingHandler } from './handlers/ping.ts';
import { deregisterServiceHandler, registerServiceHandler, reportServiceHandler } from './handlers/register-service.ts';
import { statusHandler } from './handlers/status.ts';
import { takeOverHandler } from './handlers/take-over.ts';
import { unwatchKeyHandler } from './handlers/unwatch-key.ts';
import { unwatchServiceHandler } from './handlers/unwatch-service.ts';
import { watchKeyHandler } from './handlers/watch-key.ts';
import { watchServiceHandler } from './handlers/watch-service.ts';
import { Lifecycle } from './lifecycle.ts';
import { type ResolvedLimits, resolveLimits, type SidecarLimits } from './options.ts';
import { type Readiness, ReadyChecks } from './ready-checks.ts';
import type { TokenCheck } from './server/accepted-tokens.ts';
import { ConnectionRegistry } from './server/connection-registry.ts';
import { Dispatcher } from './server/dispatcher.ts';
import { type Listen, type Listener, listen } from './server/listener.ts';
import { RequestMemo } from './server/request-memo.ts';
import type { TlsFailure, TlsListen, TlsServerOptions } from './server/tls-server.ts';
import type { SidecarObserver } from './sidecar-observer.ts';
import { HandOver } from './take-over/hand-over.ts';
import { type ListenPlace, type TakeOverOptions, takeOver } from './take-over/take-over.ts';
import { SIDECAR_VERSION } from './version.ts';

/** What a sidecar tells clients to give it before it cuts them off, in milliseconds. */
const GOAWAY_GRACE_MS = 1000;
const PROBE_DELAY_MS_MIN = 250;
const PROBE_DELAY_MS_MAX = 5000;

/** Where a sidecar's services come from: a source that also tells how it is. */
export interface SidecarSource extends ServiceSource {
	watches(): WatchStatus[];
	/** Left out by a source without keys. */
	keyWatches?(): KeyWatchStatus[];
	status(): BackendStatus;
	/** Another process stands for this one from now on: nothing that outlives the process is written any more. */
	release?(): Promise<void>;
	/** Resolves when there is something to serve, with where it comes from. Left out: `list` is asked. */
	probe?(): Promise<SnapshotSource>;
}

/** One address to listen at. */
export interface SidecarListen {
	readonly address: SocketAddress;
	/** Permissions of a socket. Default 0o660. */
	readonly socketMode?: number;
	/** Makes the socket's directory for this user alone. Default false. */
	readonly privateDirectory?: boolean;
	/** Allows a TCP address that other machines can reach. Default false. */
	readonly allowRemote?: boolean;
	/** Speaks TLS; for TCP. Default: none. */
	readonly tls?: TlsListen;
	/** Answers nothing before a hello with one of these tokens. Default: everybody who can connect may speak. */
	readonly tokens?: TokenCheck;
}

/** Options of {@link createSidecar}. */
export interface SidecarOptions {
	/** Owned by the sidecar from now on: it closes it. */
	readonly source: SidecarSource;
	/** What apps register; owned by the sidecar from now on. Default: none, and registering is UNKNOWN_FUNC. */
	readonly registrations?: Registrations;
	/** At least one. */
	readonly listen: readonly SidecarListen[];
	readonly limits?: SidecarLimits;
	/** Takes the place of the sidecar that listens at the first path, if there is one. Default: refuses to start there. */
	readonly takeOver?: TakeOverOptions;
	/** Who keeps this process running, for status. Default: nobody. */
	readonly supervision?: SupervisionStatus;
	/** Binds an address. Default: a socket of this process. */
	readonly listener?: Listen;
	/** What the status page shows, for `sidecar top`. Default: nothing, and it shows what `status` tells. */
	readonly view?: () => StatusView;
	/** Told what happens, to count and log it. */
	readonly observer?: SidecarObserver;
	/** Default: the clock of the process. */
	readonly clock?: Clock;
	/** Runs a callback once every socket was looked at again. For simulations; default: `setImmediate`. */
	readonly defer?: (callback: () => void) => void;
	/** Uniform numbers in [0, 1), for jitter and picks. Default `Math.random`. */
	readonly random?: Random;
	/** Names this process; differs for every one. Default: a random UUID. */
	readonly instance?: string;
}

/** A sidecar in this process. */
export interface Sidecar {
	/** Differs for every sidecar; told in hello. */
	readonly instance: string;
	/** Binds every address. Rejects if one cannot be bound; nothing is left bound then. */
	start(): Promise<readonly string[]>;
	/** Asks it to end: serves its clients until they have left, then `ended`. Asked twice, it ends at once. */
	terminate(): void;
	/** Another process stands in its place: sends the clients there, and ends when they have left. */
	replaced(): void;
	/** Resolves with the exit code of the process, when everything is closed. */
	readonly ended: Promise<0 | 1>;
	/** What `sidecar status` prints. */
	status(): StatusReply;
	/** Whether lookups should be sent here, and why not; or why only what was last known can be told. */
	readiness(): Readiness;
	/** The limits in force. */
	readonly limits: ResolvedLimits;
	/** For metrics. */
	gauges(): SidecarGauges;
}

/** What a sidecar has to do with now. */
export interface SidecarGauges {
	readonly connections: number;
	readonly subscriptions: number;
	/** Of those, and of those that were refused, how many are too long for the frames of their client. */
	readonly oversizeSubscriptions: number;
	readonly inFlight: number;
	/** Output that clients have not read, in bytes. */
	readonly outputBytes: number;
	/** Connections whose window is narrowed. */
	readonly narrowed: number;
	/** Instances that are kept registered, and how many of them the registry does not know yet, or any more. */
	readonly registrations: number;
	readonly registrationsPending: number;
}

/** Puts a sidecar together. Throws a RangeError or TypeError naming an option that is wrong. Nothing is bound before `start`. */
export function createSidecar(options: SidecarOptions): Sidecar {
	if (options.listen.length === 0) throw new TypeError('listen must name at least one address');
	return new SpockSidecar(options, resolveLimits(options.limits));
}

class SpockSidecar implements Sidecar {
	readonly instance: string;
	readonly ended: Promise<0 | 1>;
	readonly limits: ResolvedLimits;
	readonly #options: SidecarOptions;
	readonly #clock: Clock;
	readonly #registry: ConnectionRegistry;
	readonly #lifecycle: Lifecycle;
	readonly #handOver: HandOver;
	/** Ends the binding, when the process shall end before it is bound. */
	readonly #bindingAbort = new AbortController();
	readonly #startedAtMs: number;
	readonly #probeBackoff: Backoff;
	readonly #listeners: Listener[] = [];
	/** Whether the registry has answered, or only what an earlier process kept is served; undefined before both. */
	#answered: SnapshotSource | undefined;
	/** Told after each change, so that it knows since when. */
	readonly #readyChecks: ReadyChecks;
	#binding: Promise<void> | undefined;
	#probeTimer: TimerHandle | undefined;
	#closing: Promise<void> | undefined;
	#emptied: (() => void) | undefined;

	constructor(options: SidecarOptions, limits: ResolvedLimits) {
		const { source, registrations, observer = {}, clock = systemClock, defer, random = Math.random } = options;
		this.limits = limits;
		this.instance = options.instance ?? randomUUID();
		this.#probeBackoff = new Backoff({ delayMsMin: PROBE_DELAY_MS_MIN, delayMsMax: PROBE_DELAY_MS_MAX, random });
		this.#options = options;
		this.#clock = clock;
		this.#startedAtMs = clock.now();
		this.#readyChecks = new ReadyChecks(() => clock.wallNow());
		this.#handOver = new HandOver({
			clock,
			isServing: () => this.#lifecycle.state === 'serving',
			places: () => this.#listeners.flatMap(({ place }) => place ?? []),
			questions: () => questionsOf(source),
			leave: () => this.replaced(),
			failed: (error) => observer.placeLost?.(error),
		});
		const { frameBytesMax, inFlightMax, policy } = limits;
		const dispatcher = new Dispatcher({
			hello: helloHandler(SIDECAR_VERSION, this.instance, { frameBytesMax, inFlightMax }),
			ping: pingHandler,
			getService: getServiceHandler(source, policy, random),
			getInstances: getInstancesHandler(source),
			listServices: listServicesHandler(source),
			watchService: watchServiceHandler,
			unwatchService: unwatchServiceHandler,
			registerService: registerServiceHandler(registrations),
			reportService: reportServiceHandler(registrations),
			deregisterService: deregisterServiceHandler(registrations),
			getKey: getKeyHandler(source),
			watchKey: watchKeyHandler,
			unwatchKey: unwatchKeyHandler,
			status: statusHandler(() => this.status(), clock, options.view),
			explain: explainHandler(source, (query) => this.#registry.watchers(query)),
			takeOver: takeOverHandler(this.#handOver),
		});
		this.#registry = new ConnectionRegistry(
			{ source, dispatcher, memo: new RequestMemo(), limits, clock, observer, ...(defer && { defer }) },
			() => {
				this.#emptied?.();
				this.#lifecycle.handle('last client left');
			},
			(connection) => {
				registrations?.abandon(connection);
				this.#handOver.left(connection);
			},
		);
		let end: (exitCode: 0 | 1) => void = () => undefined;
		this.ended = new Promise((resolve) => {
			end = resolve;
		});
		this.#lifecycle = new Lifecycle({
			clock,
			graceMs: limits.graceMs,
			drainTimeoutMs: limits.drainTimeoutMs,
			clients: () => this.#registry.size,
			closeAll: () => this.#closeAll(),
			destroyAll: () => {
				// Nobody waits for the registry any more: it takes out by itself what it still knows.
				registrations?.close();
				this.#registry.destroyAll();
			},
			sendAway: () => this.#sendAway(limits),
			phase: (state) => {
				this.#noteReadiness();
				observer.phase?.(state);
				// At once, and long before the end: new work must go elsewhere while the apps finish what they have.
				if (state === 'grace') void registrations?.drain();
			},
			ended: (exitCode) => {
				registrations?.close();
				end(exitCode);
			},
		});
	}

	async start(): Promise<readonly string[]> {
		this.#noteReadiness();
		// A request to end may come while it binds: closing then waits until there is nothing more to be bound.
		this.#binding = this.#bind();
		try {
			await this.#binding;
		} catch (error) {
			// Asked to end meanwhile: that it is not bound then is no failure.
			const isAsked = this.#lifecycle.state !== 'starting';
			await this.#closeAll();
			this.#lifecycle.handle('bind failed');
			if (isAsked) return [];
			throw error;
		}
		this.#lifecycle.handle('bound');
		if (this.#lifecycle.state === 'serving') {
			this.#probe();
			// Not before it is bound: only then it is sure that no other sidecar of this name is alive.
			this.#options.registrations?.adopt();
		}
		return this.#listeners.map(({ address }) => address);
	}

	terminate(): void {
		this.#lifecycle.terminate();
	}

	replaced(): void {
		this.#lifecycle.handle('replaced');
	}

	status(): StatusReply {
		const { source, supervision } = this.#options;
		const { ready, reasons } = this.readiness();
		return {
			sidecar: SIDECAR_VERSION,
			instance: this.instance,
			pid: process.pid,
			uptimeMs: Math.round(this.#clock.now() - this.#startedAtMs),
			phase: this.#lifecycle.state,
			ready,
			reasons,
			backend: source.status(),
			connections: this.#registry.size,
			subscriptions: this.#registry.subscriptions,
			oversizeSubscriptions: this.#registry.oversizeSubscriptions,
			watches: source.watches(),
			registrations: this.#options.registrations?.list() ?? [],
			keyWatches: source.keyWatches?.() ?? [],
			...(supervision && { supervision }),
			counters: this.#registry.counters(),
		};
	}

	readiness(): Readiness {
		const { state } = this.#lifecycle;
		return this.#readyChecks.look({ state, answered: this.#answered, backend: this.#options.source.status() });
	}

	gauges(): SidecarGauges {
		const { size, subscriptions, oversizeSubscriptions, inFlight, outputBytes, narrowed } = this.#registry;
		const registrations = this.#options.registrations?.list() ?? [];
		const registrationsPending = registrations.filter(({ state }) => state === 'pending').length;
		return {
			connections: size,
			subscriptions,
			oversizeSubscriptions,
			inFlight,
			outputBytes,
			narrowed,
			registrations: registrations.length,
			registrationsPending,
		};
	}

	/** Since when it is as it is; without the backend's status, which is somebody else's code. */
	#noteReadiness(): void {
		this.#readyChecks.note({ state: this.#lifecycle.state, answered: this.#answered });
	}

	/** Asks the registry for something until it answers once: that makes the sidecar ready. */
	#probe(): void {
		const { source } = this.#options;
		const answered = source.probe === undefined ? source.list({}).then((list) => list.source) : source.probe();
		answered.then(
			(answered) => {
				this.#answered = answered;
				this.#noteReadiness();
				if (answered === 'last-known-good') this.#probeAgain();
			},
			// The reason is in the backend's status, which readiness shows.
			() => this.#probeAgain(),
		);
	}

	#probeAgain(): void {
		// A sidecar that is closing asks no more.
		if (this.#closing !== undefined) return;
		this.#probeTimer = this.#clock.setTimeout(() => this.#probe(), this.#probeBackoff.next());
		this.#probeTimer.unref?.();
	}

	async #bind(): Promise<void> {
		const { takeOver: taking, listener = listen, source } = this.#options;
		const places = this.#options.listen.map((one) => this.#placeOf(one));
		if (taking !== undefined) {
			const bound = (one: Listener): void => void this.#listeners.push(one);
			const { signal } = this.#bindingAbort;
			const context = { ...taking, places, listen: listener, source, clock: this.#clock, signal, bound };
			this.#answered = await takeOver(context);
			return;
		}
		for (const { address, options } of places) this.#listeners.push(await listener(address, options));
	}

	#placeOf({ address, tokens, tls, ...options }: SidecarListen): ListenPlace {
		const { backlog } = this.limits;
		const accept = (socket: Duplex): void => this.#registry.add(socket, tokens);
		const acceptFailed = (error: Error): void => this.#options.observer?.acceptFailed?.(error);
		const secure = tls && { tls: this.#tlsOptions(tls) };
		return { address, options: { ...options, ...secure, backlog, accept, acceptFailed } };
	}

	/** Somebody else has the place: ports are let go of, because no two processes can have one; the path has changed hands. */
	#sendAway({ drainTimeoutMs }: ResolvedLimits): void {
		const { registrations, source } = this.#options;
		registrations?.release();
		void source.release?.();
		for (const listener of this.#listeners) if (listener.place === undefined) void listener.close();
		this.#registry.sendAway({ reason: 'upgrade', graceMs: drainTimeoutMs });
	}

	#tlsOptions(tls: TlsListen): Omit<TlsServerOptions, 'accept'> {
		const { handshakeMs, connectionsMax } = this.limits;
		const { observer = {} } = this.#options;
		const failed = (reason: TlsFailure): void => observer.tlsFailed?.(reason);
		const refused = (): void => this.#registry.refused();
		return { tls, clock: this.#clock, handshakeMs, connectionsMax, failed, refused };
	}

	#closeAll(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	async #close(): Promise<void> {
		this.#clock.clearTimeout(this.#probeTimer);
		this.#bindingAbort.abort();
		await this.#binding?.catch(() => undefined);
		// Deregister first, then stop. The life cycle bounds it: past its last deadline `destroyAll` ends the wait.
		await this.#options.registrations?.drain();
		await Promise.all(this.#listeners.map((listener) => listener.close()));
		if (this.#registry.size > 0) {
			const emptied = new Promise<void>((resolve) => {
				this.#emptied = resolve;
			});
			this.#registry.endAll({ reason: 'shutdown', graceMs: GOAWAY_GRACE_MS });
			await emptied;
		}
		this.#registry.close();
		this.#options.registrations?.close();
		await this.#options.source.close();
	}
}

/** What is worth asking again elsewhere: every question that has an answer. */
function questionsOf(source: SidecarSource): { services: ServiceQuery[]; keys: KeyQuery[] } {
	const services = source.watches().filter(({ state }) => state !== 'cold');
	const keys = (source.keyWatches?.() ?? []).filter(({ state }) => state !== 'cold');
	return { services: services.map(normaliseQuery), keys: keys.map(normaliseKeyQuery) };
}
