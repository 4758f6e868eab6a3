import type { SeededRandom } from './seeded-random.ts';
import type { SimClient } from './sim-client.ts';
import { Workload } from './workload.ts';

/** In a calm an app does this many times less. */
const CALM_PACE = 8;

/** The apps of one part of the world, each with its work, until they have ended. */
export class SimApps {
	/** Those that are meant to stay. */
	readonly clients: SimClient[] = [];
	readonly #stepMs: number;
	readonly #workloads = new Map<SimClient, Workload>();
	/** Those that were asked to end, until they have. */
	readonly #ending = new Set<SimClient>();

	/** `stepMs`: from one action of an app to the next, on average. */
	constructor(stepMs: number) {
		this.#stepMs = stepMs;
	}

	/** Also those that are ending. */
	get all(): readonly SimClient[] {
		return [...this.clients, ...this.#ending];
	}

	/** The client of a process, if it is one of these. */
	ofProcess(id: number): SimClient | undefined {
		return this.all.find(({ process }) => process.id === id);
	}

	/** The client begins its work. */
	add(client: SimClient): void {
		this.clients.push(client);
		const workload = new Workload(client);
		this.#workloads.set(client, workload);
		this.#stepLater(client, workload);
	}

	end(client: SimClient, how: 'drain' | 'close' | 'kill'): void {
		const at = this.clients.indexOf(client);
		if (at >= 0) this.clients.splice(at, 1);
		this.#workloads.delete(client);
		if (how === 'kill') client.kill();
		else {
			client.end(how);
			this.#ending.add(client);
		}
	}

	endAll(random: SeededRandom): void {
		for (const client of [...this.clients]) this.end(client, random.pick(['drain', 'close']));
	}

	lookUpAll(): void {
		for (const workload of this.#workloads.values()) workload.lookUpAll();
	}

	audit(): void {
		for (const client of this.all) client.audit();
	}

	/** Those that were asked to end have had their time. */
	auditEnd(): void {
		for (const client of this.#ending) client.auditEnd();
		this.#ending.clear();
	}

	#stepLater(client: SimClient, workload: Workload): void {
		const paceMs = client.world.isCalm ? this.#stepMs * CALM_PACE : this.#stepMs;
		client.process.schedule(client.random.unit() * 2 * paceMs, 'call', () => {
			if (client.isEnding) return;
			workload.step();
			this.#stepLater(client, workload);
		});
	}
}
