import type { Transport } from '@spock/client';
import { type Backend, BackendSource, Registrations } from '@spock/discovery';
import type { SocketAddress } from '@spock/protocol/node';
import { createSidecar, type EventsOptions, type Sidecar, type SidecarLimits, UpstreamBackend } from '@spock/sidecar';

import { AnswerLog } from './answer-log.ts';
import type { Cable } from './cable.ts';
import type { RegistryLink } from './registry-query.ts';
import type { SeededRandom } from './seeded-random.ts';
import { SimBackend } from './sim-backend.ts';
import type { SimProcess } from './sim-process.ts';
import type { WorldContext } from './world-context.ts';

/** After a request to end, a sidecar has ended by its drain deadline and this, in milliseconds. */
const LAST_MS = 4000;

/** How long an app that has lost its connection may take to come back, in milliseconds. */
export const RECONNECT_GRACE_MS = 8000;

/** A link that takes longer than this is not well, in milliseconds. */
const SLOW_MS = 50;

/** Until every socket was looked at again, in milliseconds. */
export const TURN_MS = 0.05;

/** How the sidecars of one host are set up. */
export interface HostOptions {
	readonly emptyHoldMs: number;
	readonly idleTtlMs: number;
	readonly limits: SidecarLimits;
}

/** The events of a process; `before` is the one whose place it takes. */
export type HostEvents = (process: SimProcess, before: SimProcess | undefined) => EventsOptions;

/** The sidecar that the sidecars of a host ask, and the cable of their machine. */
export interface AskedHost {
	readonly host: SidecarHost;
	readonly cable: Cable;
}

/** After the sidecar that it asks fell silent, a sidecar takes it for alive this long at most, in milliseconds. */
const UPSTREAM_SILENCE_MS = 8000;

/** One process of a sidecar, from its start to its end. */
interface Running {
	readonly process: SimProcess;
	readonly sidecar: Sidecar;
	readonly source: BackendSource;
	readonly link: RegistryLink;
	readonly backend: Backend;
	endsByMs: number;
	stoppedMsBefore: number;
}

/** The place of a sidecar: one address, and one process after the other that serves it. */
export class SidecarHost {
	readonly address: string;
	/** The one registration that all workers of this host share. */
	readonly sharedId: string;
	readonly log: AnswerLog;
	readonly options: HostOptions;
	readonly #world: WorldContext;
	readonly #running = new Set<Running>();
	#goneSinceMs = Number.POSITIVE_INFINITY;
	/** When a process ended that ran until then, in virtual milliseconds: others may be stopped since long before. */
	#spokeUntilMs = 0;
	#current: Running | undefined;
	#instances = 0;

	readonly #exited: () => void;
	readonly #events: HostEvents | undefined;

	/** How much later than what is asked here its clients may know that the registry fails, in milliseconds. */
	readonly silenceMs: number;
	readonly #asked: AskedHost | undefined;

	/** At a path; of a shared one at a port, whose clients are sent to the next process when it ends. */
	readonly #listensAt: SocketAddress;

	/**
	 * `exited`: the process that served the address has ended by itself. `events`: default none. `asked`: default the registry. `isShared`: its
	 * clients are in other pods, and come by TCP.
	 */
	constructor(
		world: WorldContext,
		number: number,
		options: HostOptions,
		exited: () => void,
		{
			events,
			asked,
			isShared,
		}: { readonly events?: HostEvents; readonly asked?: AskedHost; readonly isShared?: boolean } = {},
	) {
		this.#events = events;
		this.#asked = asked;
		this.silenceMs = asked === undefined ? 0 : UPSTREAM_SILENCE_MS + asked.host.silenceMs;
		this.#exited = exited;
		this.address = `/sim/sidecar-${number}.sock`;
		this.#listensAt = isShared === true ? { host: '127.0.0.1', port: 7000 + number } : { path: this.address };
		this.sharedId = `shared-${number}`;
		this.options = options;
		this.#world = world;
		this.log = asked?.host.log ?? new AnswerLog(() => world.nowMs, options.emptyHoldMs);
	}

	get isUp(): boolean {
		return this.#current?.process.isAlive === true;
	}

	/** The process that the one which serves asks; empty where that asks the registry. */
	get askedProcess(): string {
		const { backend } = this.#current ?? {};
		return (backend instanceof UpstreamBackend && backend.path[0]?.instance) || '';
	}

	/** Sidecars between an app of this host and the registry. */
	get hops(): number {
		return this.#asked === undefined ? 1 : this.#asked.host.hops + 1;
	}

	/** Names the processes that serve here and behind this one while all of them do, and can reach the next; undefined while one does not. */
	get way(): string | undefined {
		const { process, endsByMs = 0, backend } = this.#current ?? {};
		const isServing = process?.isAlive === true && !process.isStopped && endsByMs === Number.POSITIVE_INFINITY;
		const { latencyMsMax, isHeld } = this.#world.network.quality(this.address);
		if (!isServing || isHeld || latencyMsMax > SLOW_MS) return undefined;
		const own = `${process.id}/${process.stoppedMs}`;
		if (this.#asked === undefined) return own;
		const { host, cable } = this.#asked;
		const behind = host.way;
		if (cable.isCut || behind === undefined || backend?.status().state !== 'up') return undefined;
		return `${own} ${this.askedProcess} ${behind}`;
	}

	/** Processes that have not ended. */
	get processes(): readonly SimProcess[] {
		return [...this.#running].map(({ process }) => process);
	}

	/** Since when none of its processes says a word, in virtual milliseconds; Infinity while one does. */
	get silentSinceMs(): number {
		if (this.#running.size === 0) return Number.POSITIVE_INFINITY;
		return Math.max(this.#spokeUntilMs, ...this.processes.map(({ stoppedSinceMs }) => stoppedSinceMs));
	}

	/** Since when no process speaks for what its clients know, in virtual milliseconds; Infinity while some process does. */
	get quietSinceMs(): number {
		return this.#running.size === 0 ? this.#goneSinceMs : this.silentSinceMs;
	}

	/** A new process at this address; one that serves it goes on with those it has. */
	start(): void {
		this.#goneSinceMs = Number.POSITIVE_INFINITY;
		const before = this.#current?.process;
		const world = this.#world;
		const process = world.process(`sidecar ${this.address}`, world.injection.sidecarClock);
		const random = world.random.fork();
		const link: RegistryLink = {
			registry: world.registry,
			scheduler: world.scheduler,
			process,
			random,
			ways: world.ways,
			injection: world.injection,
			open: new Set(),
		};
		const { idleTtlMs, limits } = this.options;
		const { emptyHoldMs = this.options.emptyHoldMs } = world.injection;
		const { clock } = process;
		const instance = `sidecar-${this.address}-${++this.#instances}`;
		const backend =
			this.#asked === undefined
				? new SimBackend(link, this.log.process(process), (message) => world.fail('a watch asks anew', message))
				: this.#upstream(this.#asked, process, instance, random);
		const source = new BackendSource({ backend, clock, emptyHoldMs, idleTtlMs });
		const registrations = new Registrations({
			registrar: backend.registrar,
			owner: this.address,
			clock,
			random: random.unit,
			reconnectGraceMs: RECONNECT_GRACE_MS,
		});
		const sidecar = createSidecar({
			source,
			registrations,
			listen: [{ address: this.#listensAt }],
			limits,
			...(this.#events && { events: this.#events(process, before) }),
			clock,
			random: random.unit,
			instance,
			...(backend instanceof UpstreamBackend && { upstreams: backend }),
			defer: (callback) => void process.schedule(TURN_MS, 'turn of the event loop', callback),
			listener: (_address, { accept }) => {
				const close = world.network.listen(this.address, { owner: process, accept });
				return Promise.resolve({
					address: this.address,
					close: () => {
						close();
						return Promise.resolve();
					},
				});
			},
			observer: {
				fault: (func, cause) =>
					world.fail('no fault escapes', `${func} failed with ${String((cause as Error)?.stack)}`),
			},
		});
		const running: Running = {
			...{ process, sidecar, source, link, backend },
			endsByMs: Number.POSITIVE_INFINITY,
			stoppedMsBefore: 0,
		};
		this.#running.add(running);
		this.#current = running;
		void sidecar.start();
		void sidecar.ended.then((exitCode) => this.#ended(running, exitCode));
	}

	#upstream({ host, cable }: AskedHost, process: SimProcess, sidecar: string, random: SeededRandom): UpstreamBackend {
		const { network } = this.#world;
		const transport: Transport = (_address, receive) => network.connect(process, host.address, receive, cable);
		return new UpstreamBackend({
			// Another machine: its clock may differ.
			places: [{ name: host.address, address: { host: '127.0.0.1', port: 7000 }, transport }],
			sidecar,
			name: 'simulated',
			clock: process.clock,
			random: random.unit,
		});
	}

	/** SIGKILL; nothing is at the address until the next start. */
	kill(): void {
		if (this.#running.size > 0) this.#goneSinceMs = Math.min(this.#world.nowMs, this.silentSinceMs);
		for (const running of this.#running) running.process.kill();
		this.#running.clear();
		this.#current = undefined;
	}

	/** SIGTERM. */
	terminate(): void {
		const current = this.#current;
		if (current !== undefined) this.#terminate(current);
	}

	/** A new process takes the address over, and the old one is asked to end. */
	handOver(): void {
		const before = this.#current;
		this.start();
		if (before !== undefined) this.#terminate(before);
	}

	stop(): void {
		for (const { process } of this.#running) process.stop();
	}

	resume(): void {
		for (const { process } of this.#running) process.resume();
	}

	/** Looks at what must always hold. */
	audit(): void {
		const { nowMs } = this.#world;
		const { drainTimeoutMs = 25_000 } = this.options.limits;
		for (const { process, sidecar, endsByMs, stoppedMsBefore } of this.#running) {
			if (nowMs > endsByMs + process.stoppedMs - stoppedMsBefore) {
				const { phase } = sidecar.status();
				this.#world.fail(
					'the life cycle ends',
					`${process.name} is ${phase} ${drainTimeoutMs} ms after SIGTERM and more`,
				);
			}
		}
	}

	/** After every client has left, and time for idle questions to end: nobody is known to it any more. */
	auditIdle(): void {
		for (const { sidecar, source, process } of this.#running) {
			const { connections, subscriptions, inFlight } = sidecar.gauges();
			if (connections + subscriptions + inFlight > 0) {
				this.#world.fail('nothing leaks', `${process.name}: ${JSON.stringify(sidecar.gauges())} with no client`);
			}
			for (const { service, readers } of source.watches()) {
				if (readers > 0)
					this.#world.fail('nothing leaks', `${process.name}: ${readers} readers of ${service} are left`);
			}
			for (const { key, readers } of source.keyWatches()) {
				if (readers > 0) this.#world.fail('nothing leaks', `${process.name}: ${readers} readers of ${key} are left`);
			}
			const questions = source.watches().length + source.keyWatches().length;
			if (questions > 0) this.#world.fail('nothing leaks', `${process.name}: ${questions} questions are still watched`);
		}
	}

	/** At the very end. */
	auditEnd(): void {
		for (const { process, sidecar } of this.#running) {
			this.#world.fail('the life cycle ends', `${process.name} has not ended: ${sidecar.status().phase}`);
		}
	}

	#terminate(running: Running): void {
		const { graceMs = 1000, drainTimeoutMs = 25_000 } = this.options.limits;
		if (this.#world.injection.losesSigterm !== true) running.sidecar.terminate();
		running.endsByMs = Math.min(running.endsByMs, this.#world.nowMs + graceMs + drainTimeoutMs + LAST_MS);
		running.stoppedMsBefore = running.process.stoppedMs;
	}

	#ended(running: Running, exitCode: 0 | 1): void {
		const { process, link } = running;
		if (!this.#running.delete(running)) return;
		if (!process.isStopped) this.#spokeUntilMs = this.#world.nowMs;
		if (this.#current === running) {
			this.#current = undefined;
			this.#exited();
		}
		// Asked twice it goes at once, whatever it holds.
		const isClean = exitCode === 0;
		// What the process does in the turn of its end belongs to it still.
		this.#world.scheduler.schedule(0.001, 'process exits', undefined, () => {
			if (isClean && process.timers > 0)
				this.#world.fail(
					'nothing leaks',
					`${process.name} has ended with ${process.timers} timers ${process.describeTimers()}`,
				);
			if (isClean && link.open.size > 0)
				this.#world.fail('nothing leaks', `${process.name} has ended with ${link.open.size} queries`);
			process.kill();
		});
	}
}
