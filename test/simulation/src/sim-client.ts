import { createDiplomat, type Diplomat, type DiplomatOptions, type Registration } from '@spock/client';
import { type ServiceQuery, type ServiceSnapshot, SpockError } from '@spock/protocol';

import { AnswerChecks } from './answer-checks.ts';
import type { Cable } from './cable.ts';
import { CallBook } from './call-book.ts';
import { GoawayWatch } from './goaway-watch.ts';
import { PathWatch } from './path-watch.ts';
import { questionName } from './question-name.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { SidecarHost } from './sidecar-host.ts';
import type { SimProcess } from './sim-process.ts';
import { WaitedFor } from './waited-for.ts';
import type { WorldContext } from './world-context.ts';

/** A silent peer is found by the second ping that it misses. */
const HEARTBEATS = 4;
const HEARD_MS = 1000;

/** How the clients of one place are set up. */
export interface ClientOptions
	extends Pick<
		DiplomatOptions,
		| 'whileDisconnected'
		| 'retryDelayMsMax'
		| 'inFlightMax'
		| 'waitingMax'
		| 'pendingOutputBytesMax'
		| 'timeoutMs'
		| 'policy'
		| 'stableMs'
		| 'subscriptionsMax'
	> {
	readonly lookups: 'local' | 'remote';
	readonly heartbeatMs: number;
	readonly timeoutMs: number;
	readonly inFlightMax: number;
	readonly waitingMax: number;
}

/** One report. */
export interface Word {
	readonly status: 'passing' | 'warning' | 'critical';
}

/** What an app has registered, and what it was told of it. */
export interface Claimed {
	readonly id: string;
	readonly port: number;
	readonly tags: readonly string[];
	/**
	 * What the app has said of it, from the last word that was acknowledged on: each later one may have been heard, although its
	 * answer was lost. One alone, and that is what the registry must believe.
	 */
	readonly said: Word[];
	readonly registration: Registration;
}

/** One app with a real client in it, and what it knows. */
export class SimClient {
	readonly world: WorldContext;
	readonly host: SidecarHost;
	readonly options: ClientOptions;
	readonly process: SimProcess;
	readonly random: SeededRandom;
	readonly diplomat: Diplomat;
	readonly checks: AnswerChecks;
	readonly book: CallBook;
	readonly wire: GoawayWatch;
	/** Its lookups that failed. */
	readonly waitedFor: WaitedFor;
	readonly #path: PathWatch;
	/** Of its machine, if that is another one than its sidecar's. */
	readonly cable: Cable | undefined;
	/** Queries of which a plain lookup has succeeded: they go on succeeding. */
	readonly known: Map<string, ServiceQuery> = new Map();
	readonly knownKeys: Set<string> = new Set();
	/** Services of which some call has failed this app. */
	readonly failing: Set<string> = new Set();
	readonly watchers: Set<Watcher> = new Set();
	readonly claimed: Map<string, Claimed> = new Map();
	/** What it may have registered, or not, without having been told. */
	readonly unsure: Set<string> = new Set();
	/** Those whose registration, or its end, is under way. */
	readonly underWay: { readonly registering: Set<string>; readonly deregistering: Set<string> } = {
		registering: new Set(),
		deregistering: new Set(),
	};
	isEnding = false;
	#closingByMs = Number.POSITIVE_INFINITY;
	#isClosed = false;

	constructor(world: WorldContext, host: SidecarHost, name: string, options: ClientOptions, cable?: Cable) {
		this.world = world;
		this.host = host;
		this.options = options;
		this.cable = cable;
		const { injection } = world;
		this.process = world.process(name, injection.appClock);
		this.random = world.random.fork();
		this.checks = new AnswerChecks(world, [host.log], options.heartbeatMs, host.silenceMs);
		this.book = new CallBook(world, this.process);
		this.#path = new PathWatch(world, { host, app: () => this.#way });
		this.waitedFor = new WaitedFor(world, this.process, this.#path, host.hops);
		const { retryDelayMsMax = 1000 } = options;
		this.wire = new GoawayWatch(world, this.process, retryDelayMsMax, () => this.isEnding || !this.isConnected);
		const diplomat = createDiplomat({
			...options,
			...injection.clientOptions,
			path: host.address,
			// The process that runs the simulation has one name here and another one there.
			name: 'simulated',
			clock: this.process.clock,
			random: injection.random?.(this.random.unit) ?? this.random.unit,
			transport: (_address, receive) => {
				this.wire.dialled();
				return world.network.connect(this.process, host.address, receive, cable);
			},
		});
		this.diplomat = injection.diplomat?.(diplomat, this.process.clock) ?? diplomat;
		void this.diplomat.closed.then(({ reason, error }) => {
			this.#isClosed = true;
			this.process.schedule(0.001, 'nothing is left of it', () => {
				const { timers } = this.process;
				const where = this.process.describeTimers();
				if (timers > 0) world.fail('nothing leaks', `${name} has closed with ${timers} timers ${where}`);
			});
			if (!this.isEnding) world.fail('no fault escapes', `${name} ended by itself: ${reason} ${String(error)}`);
		});
	}

	get isConnected(): boolean {
		const { state } = this.diplomat.status();
		return state === 'ready' || state === 'draining';
	}

	/** What a call of it goes by; undefined while it has no connection, or stands still. */
	get #way(): string | undefined {
		const isUp = this.isConnected && !this.isEnding && !this.process.isStopped && this.cable?.isCut !== true;
		return isUp ? `${this.wire.dials}/${this.process.stoppedMs}` : undefined;
	}

	watch(query: ServiceQuery): void {
		this.watchers.add(new Watcher(this, query));
	}

	knows(query: ServiceQuery): void {
		this.known.set(questionName(query), query);
	}

	/** Ends as an app does: `drain` waits for calls, `close` does not. */
	end(how: 'drain' | 'close'): void {
		this.isEnding = true;
		const before = this.process.stoppedMs;
		// What is being registered, its deregistration, and the calls that were made meanwhile: each has a deadline of its own.
		const boundMs = how === 'close' ? 1000 : this.options.timeoutMs * 3 + 1000;
		this.#closingByMs = Math.min(this.#closingByMs, this.world.nowMs + boundMs - before);
		void this.diplomat[how]();
	}

	/** SIGKILL. */
	kill(): void {
		this.isEnding = true;
		this.process.kill();
	}

	/** Looks at what must always hold. */
	audit(): void {
		if (!this.process.isAlive) return;
		this.book.audit();
		this.#path.look();
		if (!this.isEnding) this.waitedFor.audit();
		const { inFlight, waiting, protocolFaults, lastError } = this.diplomat.status();
		const { inFlightMax, waitingMax } = this.options;
		if (inFlight > inFlightMax * 2 || waiting > waitingMax) {
			this.world.fail(
				'memory is bounded',
				`${this.process.name} has ${inFlight} calls in flight and ${waiting} waiting`,
			);
		}
		const silentSinceMs = Math.min(this.host.silentSinceMs, this.cable?.cutAtMs ?? Number.POSITIVE_INFINITY);
		const silentMs = this.world.nowMs - Math.max(silentSinceMs, this.process.resumedAtMs, this.wire.tookAtMs);
		const isRunning = !this.isEnding && !this.process.isStopped;
		if (isRunning && this.isConnected && silentMs > this.options.heartbeatMs * HEARTBEATS + HEARD_MS) {
			this.world.fail('silence is noticed', `${this.process.name} has heard nothing for ${silentMs} ms, and is ready`);
		}
		if (protocolFaults > 0)
			this.world.fail('no fault escapes', `${this.process.name} met a protocol fault; ${lastError}`);
		if (!this.#isClosed && this.world.nowMs > this.#closingByMs + this.process.stoppedMs) {
			this.world.fail('settles once and in time', `${this.process.name} has not closed`);
		}
	}

	/** After its end: nothing is left of it. */
	auditEnd(): void {
		if (!this.process.isAlive) return;
		this.book.auditEnd();
		const { inFlight, waiting, subscriptions } = this.diplomat.status();
		if (!this.#isClosed) this.world.fail('settles once and in time', `${this.process.name} has not closed`);
		if (inFlight + waiting + subscriptions + this.process.timers > 0) {
			const left = JSON.stringify({ inFlight, waiting, subscriptions, timers: this.process.timers });
			this.world.fail('nothing leaks', `${this.process.name} has closed and holds ${left}`);
		}
		this.process.kill();
	}
}

/** A loop over the changes of one service, as an app has it. */
class Watcher {
	readonly query: ServiceQuery;
	/** The snapshot that came last. */
	last: ServiceSnapshot | undefined;
	lastVersion = 0;
	#instance: string | null = null;
	readonly #client: SimClient;
	readonly #controller = new AbortController();

	constructor(client: SimClient, query: ServiceQuery) {
		this.query = query;
		this.#client = client;
		void this.#run();
	}

	stop(): void {
		this.#client.watchers.delete(this);
		this.#controller.abort();
	}

	async #run(): Promise<void> {
		const { diplomat, world, process } = this.#client;
		try {
			for await (const snapshot of diplomat.watchService(this.query, { signal: this.#controller.signal })) {
				if (!process.isAlive || this.#client.isEnding) return;
				this.#take(snapshot);
			}
		} catch (error) {
			if (
				this.#client.isEnding ||
				(SpockError.is(error) && ['ACL_DENIED', 'OVERLOADED', 'CLOSED'].includes(error.code))
			)
				return;
			world.fail('errors are those that may come', `watchService failed: ${String((error as Error)?.stack)}`);
		} finally {
			this.#client.watchers.delete(this);
		}
	}

	#take(snapshot: ServiceSnapshot): void {
		const { world, checks, diplomat, isConnected, process, host } = this.#client;
		// Another process may know less, wherever on the way it is.
		const instance = `${diplomat.status().instance} ${host.askedProcess}`;
		const version = checks.snapshot(this.query, snapshot, { isConnected });
		if (version === undefined) return;
		const isOlder = version > 0 && version < this.lastVersion;
		if (instance === this.#instance && isOlder) {
			const text = `${process.name} was told version ${version} of ${questionName(this.query)} after ${this.lastVersion}`;
			world.fail('revisions never go back', text);
		}
		this.#instance = instance;
		this.last = snapshot;
		if (version > 0) this.lastVersion = version;
	}
}
