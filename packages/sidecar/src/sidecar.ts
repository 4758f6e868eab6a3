import { randomUUID } from 'node:crypto';

import { zonePolicies } from '@spock/balancer';
import type { EventsStatus, ServiceQuery, StatusReply, WatcherStatus } from '@spock/protocol';
import { type Clock, oneOfOption, stringOption, systemClock } from '@spock/protocol/internal';

import type { ClientFacts, WatchedFacts } from './connection/connection-facts.ts';
import { ConnectionRegistry } from './connection/connection-registry.ts';
import { Dispatcher, RequestMemo } from './connection/dispatcher.ts';
import { type ResolvedLimits, resolveLimits } from './foundation/limits.ts';
import type { ReadyState } from './foundation/observer.ts';
import { createHandlers } from './handlers/handlers.ts';
import { instanceChooser } from './handlers/lookups.ts';
import { Lifecycle } from './lifecycle/lifecycle.ts';
import { Listening } from './lifecycle/listening.ts';
import { Readiness } from './lifecycle/readiness.ts';
import { Shutdown } from './lifecycle/shutdown.ts';
import type { Events, Front, SidecarOptions } from './lifecycle/sidecar-options.ts';
import { gaugesOf, type SidecarGauges, statusOf } from './lifecycle/sidecar-status.ts';
import { SocketPathWatch } from './lifecycle/socket-path-watch.ts';
import { Admission } from './overload/admission.ts';
import { HandOver, knownQueriesOf } from './take-over/hand-over.ts';

/** Longest zone: what Consul allows for a value in metadata. */
const ZONE_LENGTH_MAX = 512;

/** Clients that are named when they have not left. */
const NAMED_MAX = 10;
/** How long the connection of a sidecar that must say hello again is still served. */
const GREET_AGAIN_MS = 5000;

/** A sidecar in this process. */
export interface Sidecar {
	/** Differs for every sidecar; sent in hello. */
	readonly instance: string;
	/** Binds every address. Rejects if one cannot be bound; nothing is left bound then. */
	start(): Promise<readonly string[]>;
	/** Asks it to end: serves its clients until they have left, then `ended`. Asked twice, it ends at once. */
	terminate(): void;
	/** Resolves with the exit code of the process, when everything is closed. */
	readonly ended: Promise<0 | 1>;
	/** What `sidecar status` prints. */
	status(): StatusReply;
	/** Whether lookups should be sent here, and why not; or why only the last known answers can be served. */
	readiness(): ReadyState;
	/** The limits in force. */
	readonly limits: ResolvedLimits;
	/** Where another protocol than the sidecar's own is spoken. */
	readonly frontAddresses: readonly string[];
	/** For metrics. */
	gauges(): SidecarGauges;
	/** What becomes of events, for metrics; undefined where they are off. */
	events(): EventsStatus | undefined;
	/** Every connection, for the status page. */
	connections(): readonly ClientFacts[];
	/** The queries that the client of one connection subscribes to; undefined if it is gone. */
	watched(connection: number): WatchedFacts | undefined;
	/** The clients that subscribe to just this query. */
	watchers(query: ServiceQuery): readonly WatcherStatus[];
}

/** Puts a sidecar together. Throws a RangeError or TypeError naming an option that is wrong. Nothing is bound before `start`. */
export function createSidecar(options: SidecarOptions): Sidecar {
	const { listen, zone, zonePolicy } = options;
	if (listen.length === 0) throw new TypeError('listen must name at least one address');
	if (zone !== undefined && stringOption('zone', zone).length > ZONE_LENGTH_MAX) {
		throw new RangeError(`zone must have at most ${ZONE_LENGTH_MAX} characters, not ${zone.length}`);
	}
	if (zonePolicy !== undefined) oneOfOption('zonePolicy', zonePolicy, zonePolicies);
	return new SpockSidecar(options, resolveLimits(options.limits));
}

class SpockSidecar implements Sidecar {
	readonly instance: string;
	readonly ended: Promise<0 | 1>;
	readonly limits: ResolvedLimits;
	readonly #options: SidecarOptions;
	readonly #clock: Clock;
	readonly #registry: ConnectionRegistry;
	readonly #front: Front | undefined;
	readonly #events: Events | undefined;
	readonly #lifecycle: Lifecycle;
	readonly #handOver: HandOver;
	readonly #readiness: Readiness;
	readonly #placeWatch: SocketPathWatch;
	readonly #listening: Listening;
	readonly #startedAtMs: number;
	readonly #end: Shutdown;

	constructor(options: SidecarOptions, limits: ResolvedLimits) {
		const { source, registrations, observer = {}, clock = systemClock, defer, random = Math.random } = options;
		this.#events = options.events?.create({ clock, random, source, defer: defer ?? setImmediate });
		this.limits = limits;
		this.instance = options.instance ?? randomUUID();
		this.#options = options;
		this.#clock = clock;
		this.#startedAtMs = clock.now();
		this.#placeWatch = new SocketPathWatch({
			clock,
			places: () => [...this.#listening.places, ...this.#listening.frontPlaces, ...this.#handOver.places],
			changed: (outcome, reason) => observer.place?.(outcome, reason),
		});
		const changed = (): void => {
			if (this.#lifecycle.state === 'serving') observer.readiness?.(this.readiness());
		};
		this.#readiness = new Readiness({ source, clock, random, place: () => this.#placeWatch.reason, changed });
		this.#handOver = this.#createHandOver();
		const { zone, zonePolicy } = options;
		const choose = instanceChooser(limits.policy, random, zonePolicy === 'prefer' ? { zone } : {});
		const handlers = createHandlers({
			instance: this.instance,
			zone,
			source,
			registrations,
			limits,
			clock,
			hasEvents: this.#events !== undefined,
			choose,
			status: () => this.status(),
			path: () => options.upstreams?.path ?? [],
			crowd: () => this.#registry.crowd,
			connections: {
				count: () => this.#registry.size,
				watchers: (query) => this.#registry.watchers(query),
			},
		});
		const dispatcher = new Dispatcher(handlers);
		const listen = [...options.listen, ...(options.front?.listen ?? [])];
		const hasLocal = listen.some(({ address }) => 'path' in address);
		const admission = new Admission({ connectionsMax: limits.connectionsMax, hasLocal });
		this.#registry = new ConnectionRegistry(
			{
				source,
				events: this.#events,
				dispatcher,
				memo: new RequestMemo(),
				limits,
				clock,
				observer,
				...(defer && { defer }),
				silent: (connection, reason) => registrations?.silence(connection, reason),
				admission,
			},
			() => {
				this.#end.emptied();
				this.#leftByOne();
			},
			(connection, hasMoved) => registrations?.abandon(connection, hasMoved),
		);
		if (options.upstreams !== undefined) {
			// Those that ask this one must know whom it asks, so that no loop is closed.
			options.upstreams.pathChanged = () =>
				this.#registry.sendSidecarsAway({ reason: 'upgrade', graceMs: GREET_AGAIN_MS });
		}
		this.#front = options.front?.create({
			source,
			choose,
			limits,
			clock,
			observer,
			isReady: () => this.readiness().ready,
			admission,
			strangers: this.#registry.strangers,
			watchers: (query) => this.#registry.watchers(query),
			emptied: () => this.#leftByOne(),
		});
		this.#listening = new Listening({
			options,
			limits,
			clock,
			registry: this.#registry,
			front: this.#front,
			handOver: this.#handOver,
			prepare: async () => this.#events?.readAhead(),
			answered: (from) => this.#readiness.answered(from),
		});
		const listeners = { listening: this.#listening, registry: this.#registry, front: this.#front };
		this.#end = new Shutdown({ options, limits, readiness: this.#readiness, events: this.#events, ...listeners });
		let end: (exitCode: 0 | 1) => void = () => undefined;
		this.ended = new Promise((resolve) => {
			end = resolve;
		});
		this.#lifecycle = this.#createLifecycle((exitCode) => end(exitCode));
	}

	async start(): Promise<readonly string[]> {
		this.#readiness.note(this.#lifecycle.state);
		try {
			// Before anything is bound: a start that fails for it has not served. Another kind of listener has no files.
			if (this.#options.listener === undefined) await this.#handOver.assertOpenable();
			if (this.#isStarting) await this.#listening.bind();
		} catch (error) {
			const isAsked = !this.#isStarting;
			await this.#end.closeAll();
			this.#lifecycle.handle('bind failed');
			// Asked to end meanwhile: that it is not bound then is no failure.
			if (isAsked) return [];
			throw error;
		}
		this.#lifecycle.handle('bound');
		if (this.#lifecycle.state === 'serving') {
			this.#readiness.probe();
			this.#placeWatch.start();
			// Not before the sidecar in place has left: it has the log.
			this.#events?.open(this.#listening.hasReplacedHung);
			// Not before it is bound: only then it is sure that no other sidecar of this name is alive.
			this.#options.registrations?.adopt();
			await this.#openHandOver();
		}
		return this.#listening.addresses;
	}

	/** False from the moment on in which it was asked to end, or serves. */
	get #isStarting(): boolean {
		return this.#lifecycle.state === 'starting';
	}

	terminate(): void {
		this.#lifecycle.terminate();
	}

	status(): StatusReply {
		const { ready, reasons } = this.readiness();
		const uptimeMs = Math.round(this.#clock.now() - this.#startedAtMs);
		const own = { instance: this.instance, uptimeMs, phase: this.#lifecycle.state, ready, reasons };
		return statusOf(this.#options, this.#registry, own, this.#events);
	}

	readiness(): ReadyState {
		return this.#readiness.in(this.#lifecycle.state);
	}

	connections(): readonly ClientFacts[] {
		return this.#registry.facts((connection) => this.#options.registrations?.heldBy(connection) ?? []);
	}

	watched(connection: number): WatchedFacts | undefined {
		return this.#registry.watched(connection);
	}

	watchers(query: ServiceQuery): readonly WatcherStatus[] {
		return this.#registry.watchers(query);
	}

	gauges(): SidecarGauges {
		return gaugesOf(this.#registry, this.#options.registrations, this.#front);
	}

	events(): EventsStatus | undefined {
		return this.#events?.status();
	}

	get frontAddresses(): readonly string[] {
		return this.#listening.frontAddresses;
	}

	/** Once it serves, not before: a client that connects early must not meet a sidecar that still counts as starting. */
	async #openHandOver(): Promise<void> {
		if (this.#listening.places.length === 0) return;
		try {
			await this.#handOver.open();
		} catch (error) {
			this.terminate();
			this.terminate();
			await this.ended;
			throw error;
		}
	}

	#createHandOver(): HandOver {
		const { source, observer, listen } = this.#options;
		const [path] = listen.flatMap(({ address }) => ('path' in address ? address.path : []));
		return new HandOver({
			clock: this.#clock,
			path,
			isStarting: () => this.#isStarting,
			isServing: () => this.#lifecycle.state === 'serving',
			places: () => this.#listening.places,
			otherPlaces: () => this.#listening.frontPlaces,
			known: () => knownQueriesOf(source),
			leave: async () => {
				this.#lifecycle.handle('replaced');
				await this.#events?.handOver();
			},
			failed: (error) => observer?.placeLost?.(error),
			acceptFailed: (error) => observer?.acceptFailed?.(error),
		});
	}

	#createLifecycle(end: (exitCode: 0 | 1) => void): Lifecycle {
		const { registrations, observer } = this.#options;
		const { graceMs, drainTimeoutMs } = this.limits;
		return new Lifecycle({
			clock: this.#clock,
			graceMs,
			drainTimeoutMs,
			clients: () => this.#clients,
			closeAll: () => {
				this.#nameClients('cut off');
				return this.#end.closeAll();
			},
			destroyAll: () => this.#end.destroyAll(),
			sendAway: () => this.#end.sendAway(),
			sendTcpAway: () => this.#end.sendTcpAway(),
			phase: (state) => {
				if (state !== 'serving') this.#placeWatch.stop();
				this.#readiness.note(state);
				observer?.phase?.(state);
				this.#front?.phase(state);
				if (state === 'waiting for clients') this.#nameClients('waited for');
			},
			ended: (exitCode) => {
				registrations?.close();
				end(exitCode);
			},
		});
	}

	/** Shows why it does not end. */
	#nameClients(how: 'waited for' | 'cut off'): void {
		const { size } = this.#registry;
		if (size > 0) this.#options.observer?.notLeft?.(this.#registry.clients(NAMED_MAX), size, how);
	}

	get #clients(): number {
		return this.#registry.size + (this.#front?.connections ?? 0);
	}

	/** The last connection of one of the protocols is gone. */
	#leftByOne(): void {
		if (this.#clients === 0) this.#lifecycle.handle('last client left');
	}
}
