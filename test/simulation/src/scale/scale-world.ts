import { createDiplomat, type Diplomat } from '@spock/client';
import type { ServiceInstance, ServiceSnapshot } from '@spock/protocol';

import { Cable } from '../cable.ts';
import type { Scheduler } from '../scheduler.ts';
import { SeededRandom } from '../seeded-random.ts';
import { type HostOptions, SidecarHost } from '../sidecar-host.ts';
import { SimNetwork } from '../sim-network.ts';
import { SimRegistry } from '../sim-registry.ts';
import { WorldContext } from '../world-context.ts';
import { ChangeViews } from './change-views.ts';

/** How large a world is. */
export interface ScaleShape {
	readonly seed: number;
	readonly nodes: number;
	readonly podsEach: number;
	/** Each pod has a sidecar of its own, which asks its node's. Otherwise its app asks that one itself. */
	readonly hasSidecars: boolean;
}

/** Services of the registry; a pod watches the first, and some more. */
const SERVICES = 20;
const WATCHED = 3;
const INSTANCES = 6;
const FIRST_PORT = 10_000;
/** Beyond the numbers that the registry gives itself. */
const FIRST_VERSION = 1_000_000;
/** All nodes and pods have started by then. */
const NODES_START_MS = 1000;
const PODS_START_MS = 8000;
/** Every app looks a service up this often. */
const LOOKUP_MS = 100;
const HOST: HostOptions = { emptyHoldMs: 10_000, idleTtlMs: 60_000, limits: {} };

const NO_TAP = {
	clientWrote: () => undefined,
	sidecarWrote: () => undefined,
	clientTook: () => undefined,
	ended: () => undefined,
};

/** Many nodes with many pods, all calm: only what a run does to it happens. */
export class ScaleWorld {
	readonly nodes: readonly SidecarHost[];
	readonly context: WorldContext;
	lookups = 0;
	failedLookups = 0;
	/** Of a lookup that failed first. */
	firstFailure: string | undefined;
	readonly #random: SeededRandom;
	readonly #names: readonly string[];
	readonly #apps: { readonly diplomat: Diplomat; readonly services: readonly string[] }[] = [];
	/** Of the service that all watch, by app: the version that it has seen last. */
	readonly #seen: number[] = [];
	#views: ChangeViews | undefined;
	#version = FIRST_VERSION;

	constructor({ seed, nodes, podsEach, hasSidecars }: ScaleShape, scheduler: Scheduler) {
		this.#random = new SeededRandom(seed);
		this.context = new WorldContext(scheduler, this.#random.fork());
		this.context.network = new SimNetwork(scheduler, this.#random.fork(), () => NO_TAP);
		this.#names = Array.from({ length: SERVICES }, (_, number) => `svc-${number}`);
		const shape = { services: this.#names, keys: [], hasBroken: false, instancesMax: INSTANCES, metaLength: 0 };
		this.context.registry = new SimRegistry(scheduler, this.#random.fork(), shape);
		for (const name of this.#names) this.#change(name);
		this.nodes = Array.from(
			{ length: nodes },
			(_, number) => new SidecarHost(this.context, number, HOST, () => undefined),
		);
		for (const node of this.nodes) this.later(this.#random.unit() * NODES_START_MS, () => node.start());
		for (let pod = 0; pod < nodes * podsEach; pod++) {
			const atMs = NODES_START_MS + this.#random.unit() * (PODS_START_MS - NODES_START_MS);
			this.later(atMs, () => this.#startPod(pod, this.nodes[pod % nodes] as SidecarHost, hasSidecars));
		}
		this.#lookUpLater();
	}

	/** Apps that have seen the service which all watch. */
	get ready(): number {
		return this.#seen.filter((version) => version >= FIRST_VERSION).length;
	}

	/** The service that all watch changes now. */
	change(): ChangeViews {
		const number = this.#change(this.#names[0] as string);
		this.#views = new ChangeViews(number, this.#apps.length, this.context.nowMs);
		return this.#views;
	}

	later(delayMs: number, run: () => void): void {
		this.context.scheduler.schedule(delayMs, 'the run goes on', undefined, run);
	}

	/** As many nodes, by chance. */
	pickNodes(count: number): readonly SidecarHost[] {
		const left = [...this.nodes];
		return Array.from({ length: Math.min(count, left.length) }, () => {
			const [picked] = left.splice(this.#random.between(0, left.length - 1), 1);
			return picked as SidecarHost;
		});
	}

	#startPod(pod: number, node: SidecarHost, hasSidecars: boolean): void {
		let host = node;
		if (hasSidecars) {
			const cable = new Cable(`10.8.${pod >> 8}.${pod & 255}`, this.context.scheduler, this.#random.fork());
			host = new SidecarHost(this.context, this.nodes.length + pod, HOST, () => undefined, {
				asked: { host: node, cable },
			});
			host.start();
		}
		const process = this.context.process(`app of pod ${pod}`);
		const diplomat = createDiplomat({
			path: host.address,
			name: 'simulated',
			clock: process.clock,
			random: this.#random.fork().unit,
			transport: (_address, receive) => this.context.network.connect(process, host.address, receive),
		});
		const services = Array.from({ length: WATCHED }, (_, at) => {
			return this.#names[at === 0 ? 0 : 1 + ((pod + at) % (SERVICES - 1))] as string;
		});
		const app = this.#apps.push({ diplomat, services }) - 1;
		this.#seen.push(0);
		for (const [at, service] of services.entries()) {
			diplomat.observeService(service, { next: (snapshot) => at === 0 && this.#saw(app, snapshot) });
		}
	}

	#saw(app: number, { instances }: ServiceSnapshot): void {
		const version = Number(instances[0]?.meta['version'] ?? 0);
		this.#seen[app] = version;
		this.#views?.saw(app, version, this.context.nowMs);
	}

	#change(name: string): number {
		const number = ++this.#version;
		const { registry, nowMs } = this.context;
		registry.services.get(name)?.change({ number, value: instancesOf(name, number), fromMs: nowMs }, number);
		return number;
	}

	/** An app looks up what it watches: until the first answer, that may take its time; after it, no lookup may fail. */
	#lookUpLater(): void {
		this.later(LOOKUP_MS, () => {
			const turn = Math.floor(this.context.nowMs / LOOKUP_MS) % WATCHED;
			for (const { diplomat, services } of this.#apps) {
				this.lookups++;
				diplomat.getService(services[turn] as string).catch((error: unknown) => {
					this.failedLookups++;
					this.firstFailure ??= String((error as Error).message);
				});
			}
			this.#lookUpLater();
		});
	}
}

function instancesOf(service: string, version: number): readonly ServiceInstance[] {
	const instances = Array.from({ length: INSTANCES }, (_, at): ServiceInstance => {
		return Object.freeze({
			instance: `${service}/${at}`,
			host: `v${version}.i${at}`,
			port: FIRST_PORT + at,
			weight: 1,
			status: 'passing',
			tags: Object.freeze([]),
			meta: Object.freeze({ version: String(version) }),
			zone: null,
			datacenter: null,
		});
	});
	return Object.freeze(instances);
}
