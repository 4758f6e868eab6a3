import { PlacedRegistrar, Registrations } from '@spock/discovery';

import type { SeededRandom } from '../seeded-random.ts';
import type { SimProcess } from '../sim-process.ts';
import type { WorldContext } from '../world-context.ts';
import { serverLink } from './server-link.ts';
import type { SimServers } from './sim-servers.ts';

const GRACE_MS = 8000;
/** An app registers again so soon after its sidecar is there. */
const BACK_MS_MAX = 500;

/** One pod: an app that wants to be registered, and its sidecar, which registers it at the servers. */
export class ServerPod {
	readonly owner: string;
	readonly id: string;
	/** Since when the app is registered by a sidecar that runs, in virtual milliseconds; Infinity while it is not. */
	heldSinceMs: number = Number.POSITIVE_INFINITY;
	/** The app has announced its end. */
	isWithdrawn = false;
	readonly #world: WorldContext;
	readonly #cluster: SimServers;
	readonly #random: SeededRandom;
	readonly #app = { told: () => undefined };
	#process: SimProcess | undefined;
	#registrations: Registrations | undefined;
	#registrar: PlacedRegistrar | undefined;

	constructor(world: WorldContext, cluster: SimServers, number: number, random: SeededRandom) {
		this.#world = world;
		this.#cluster = cluster;
		this.#random = random;
		this.owner = `pod-${number}`;
		this.id = `app-${number}`;
	}

	get isUp(): boolean {
		return this.#process?.isAlive === true;
	}

	/** A sidecar, which finds what an earlier one has registered. */
	start(): void {
		if (this.isUp || this.isWithdrawn) return;
		const { injection } = this.#world;
		const process = this.#world.process(`sidecar of ${this.owner}`);
		const random = this.#random.fork();
		const link = serverLink(this.#cluster, process, random);
		const { clock } = process;
		const registrar = new PlacedRegistrar({ ...(injection.servers?.(link) ?? link), clock, random: random.unit });
		const registrations = new Registrations({
			registrar,
			owner: this.owner,
			clock,
			random: random.unit,
			reconnectGraceMs: GRACE_MS,
		});
		Object.assign(this, { heldSinceMs: Number.POSITIVE_INFINITY });
		this.#process = process;
		this.#registrations = registrations;
		this.#registrar = registrar;
		registrations.adopt();
		process.schedule(this.#random.unit() * BACK_MS_MAX, 'app registers', () => this.#claim(registrations));
	}

	/** SIGKILL of the sidecar. */
	kill(): void {
		this.heldSinceMs = Number.POSITIVE_INFINITY;
		this.#process?.kill();
	}

	/** The app registers with other tags. */
	change(): void {
		if (this.isUp && this.heldSinceMs < Number.POSITIVE_INFINITY) this.#claim(this.#registrations as Registrations);
	}

	/** The app ends in good order. */
	withdraw(): void {
		this.isWithdrawn = true;
		this.heldSinceMs = Number.POSITIVE_INFINITY;
		void this.#registrations?.withdraw(this.id, this.#app);
	}

	/** The sidecar ends. */
	async end(): Promise<void> {
		if (!this.isUp) return;
		this.heldSinceMs = Number.POSITIVE_INFINITY;
		await this.#registrations?.drain();
		this.#registrations?.close();
		this.#registrar?.close();
		const { timers = 0, name } = this.#process ?? {};
		if (timers > 0) this.#world.fail('nothing leaks', `${name} has ended with ${timers} timers`);
		this.#process?.kill();
	}

	#claim(registrations: Registrations): void {
		const { nowMs } = this.#world;
		this.heldSinceMs = Math.min(this.heldSinceMs, nowMs);
		const tags = [`v${this.#random.between(1, 3)}`];
		const data = { service: 'app', id: this.id, host: '10.0.0.1', port: 80, tags };
		registrations.claim(data, this.#app).catch((error: Error) => {
			this.#world.fail('errors are those that may come', `register ${this.id}: ${error.message}`);
		});
	}
}
