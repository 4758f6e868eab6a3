import type { InstanceDefinition, InstanceHealth, RegistrationTerms, Sighting } from '@spock/discovery';

import type { Scheduler } from '../scheduler.ts';
import type { SeededRandom } from '../seeded-random.ts';

/** Servers of one cluster: two are a majority. */
const SERVERS = 3;
/** Until the others have found that a server is gone, in milliseconds. */
const DETECTION_MS_MIN = 1000;
const DETECTION_MS_MAX = 8000;
/** Until a server that has started has compared what it has with what is published. */
const SYNC_MS_MAX = 2000;

/** What a server has of one instance. */
export interface Entry {
	readonly definition: InstanceDefinition;
	readonly terms: RegistrationTerms;
	readonly health: InstanceHealth;
	readonly renewedAtMs: number;
}

/** One server: its process, its disk, and what the cluster publishes of its node. */
export class SimServer {
	readonly number: number;
	name: string;
	isUp: boolean = true;
	/** Pods do not reach it, and are not notified. */
	isHidden: boolean = false;
	/** The other servers do not reach it. */
	isApart: boolean = false;
	node: 'well' | 'failed' | 'left' = 'well';
	disk: Map<string, Entry> = new Map();
	/** Of its disk, as it was compared last. */
	published: Map<string, Entry> = new Map();
	/** Since when no server looks at what has expired; Infinity while it runs. */
	frozenAtMs: number = Number.POSITIVE_INFINITY;
	/** When it last came back, in virtual milliseconds: what it has may be published again for a moment. */
	returnedAtMs: number = Number.NEGATIVE_INFINITY;
	/** Counts its states: what was due in an earlier one is not done. */
	life: number = 0;

	constructor(number: number) {
		this.number = number;
		this.name = `server-${number}`;
	}

	isExpired({ renewedAtMs, terms }: Entry, nowMs: number): boolean {
		return Math.min(nowMs, this.frozenAtMs) - renewedAtMs > terms.ttlMs;
	}
}

/** Servers without node agents: they fail, leave, part, and come back with their old data, with none, or as another one. */
export class SimServers {
	readonly servers: readonly SimServer[] = Array.from({ length: SERVERS }, (_, number) => new SimServer(number));
	readonly #scheduler: Scheduler;
	readonly #random: SeededRandom;
	readonly #watchers = new Set<() => void>();
	#replacements = SERVERS;

	constructor(scheduler: Scheduler, random: SeededRandom) {
		this.#scheduler = scheduler;
		this.#random = random;
	}

	/** Virtual milliseconds. */
	get nowMs(): number {
		return this.#scheduler.nowMs;
	}

	/** Whether a majority is together: only then is anything published. */
	get hasQuorum(): boolean {
		return this.servers.filter(({ isUp, isApart }) => isUp && !isApart).length * 2 > SERVERS;
	}

	/** Everything that is published of this owner. */
	sightings(owner: string): Sighting[] {
		const { nowMs } = this.#scheduler;
		return this.servers.flatMap((server) => {
			if (server.node === 'left') return [];
			const own = [...server.published].filter(([, { terms }]) => terms.owner === owner);
			const isNodeLost = server.node === 'failed';
			const nodeHost = `10.9.0.${server.number}`;
			return own.map(([id, entry]): Sighting => {
				const isServed = !isNodeLost && entry.health.status !== 'critical' && !server.isExpired(entry, nowMs);
				const { host = nodeHost, port } = entry.definition;
				return { id, node: server.name, nodeHost, host, port, isNodeLost, isServed };
			});
		});
	}

	/** Nodes at which a reader finds this instance well. */
	servedAt(owner: string, id: string): string[] {
		return this.sightings(owner).flatMap((one) => (one.id === id && one.isServed ? [one.node] : []));
	}

	/** `look` is called after each change. Gives a function that ends that. */
	onChange(look: () => void): () => void {
		this.#watchers.add(look);
		return () => this.#watchers.delete(look);
	}

	/** The disk of a server has changed, or time has passed. */
	changed(server?: SimServer): void {
		if (server !== undefined && !server.isApart) server.published = new Map(server.disk);
		for (const look of [...this.#watchers]) look();
	}

	/** SIGKILL. */
	kill(server: SimServer): void {
		if (!server.isUp) return;
		server.isUp = false;
		server.frozenAtMs = this.#scheduler.nowMs;
		this.#find(server);
	}

	/** SIGTERM, where it leaves: its node is gone while it still answers. */
	leave(server: SimServer): void {
		if (!server.isUp || server.isApart) return;
		server.life++;
		server.node = 'left';
		this.changed();
		this.#in(server, this.#random.between(200, 3000), () => this.kill(server));
	}

	/** It is cut off from the other servers, and pods still reach it. */
	part(server: SimServer): void {
		server.isApart = true;
		this.#find(server);
	}

	/** It is with the others again. */
	join(server: SimServer): void {
		if (!server.isApart) return;
		server.isApart = false;
		this.#return(server);
	}

	/** It starts again: with its old data, with an empty disk, or as another server in its place. */
	start(server: SimServer, how: 'old data' | 'empty disk' | 'another'): void {
		if (server.isUp) return;
		server.isUp = true;
		server.frozenAtMs = Number.POSITIVE_INFINITY;
		if (how !== 'old data') server.disk = new Map();
		if (how === 'another') {
			server.published = new Map();
			server.name = `server-${this.#replacements++}`;
		}
		this.#return(server);
	}

	#return(server: SimServer): void {
		server.life++;
		server.returnedAtMs = this.#scheduler.nowMs;
		this.#in(server, this.#random.between(20, 500), () => {
			if (!server.isUp || server.isApart) return;
			server.node = 'well';
			this.changed();
			this.#in(server, this.#random.between(1, SYNC_MS_MAX), () => this.changed(server));
		});
	}

	#find(server: SimServer): void {
		server.life++;
		this.#in(server, this.#random.between(DETECTION_MS_MIN, DETECTION_MS_MAX), () => {
			if (server.node === 'well') server.node = 'failed';
			this.changed();
		});
	}

	/** Unless something else becomes of it before. */
	#in(server: SimServer, delayMs: number, act: () => void): void {
		const { life } = server;
		this.#scheduler.schedule(delayMs, 'cluster', undefined, () => {
			if (server.life === life) act();
		});
	}
}
