import { Cable } from './cable.ts';
import { checkClaims, checkConvergence, checkShared } from './convergence.ts';
import type { SeededRandom } from './seeded-random.ts';
import { RECONNECT_GRACE_MS, SidecarHost } from './sidecar-host.ts';
import { SimApps } from './sim-apps.ts';
import { SimClient } from './sim-client.ts';
import type { WireMonitor } from './wire-monitor.ts';
import type { WorldContext } from './world-context.ts';
import type { WorldShape } from './world-shape.ts';

/** Looks of a sidecar at an app until it counts as silent, the first of which saw something; each is a heartbeat, of so much at least. */
const LOOKS = 4;
const LOOK_MS_MIN = 500;
/** What the registry takes for a write, and a sidecar for another one before it, in milliseconds. */
const WRITE_MS_MAX = 300;
/** From a cable that is mended to everything being as before: what is sent again, a dial and its delay. */
const BACK_MS = 12_000;
const LOOK_EVERY_MS = 250;

/** What a site needs of its world. */
export interface RemoteSiteOptions {
	readonly shape: WorldShape;
	/** Numbers of its own. */
	readonly random: SeededRandom;
	/** Ends a fault after a while, or at the next calm. */
	readonly later: (delayMs: number, mend: () => void) => void;
	/** Looks at a connection of this client. */
	readonly monitor: (world: WorldContext, client: SimClient | undefined) => WireMonitor;
}

/** A sidecar that apps on other machines reach over TCP. Their cables are cut, and machines vanish without an end of their connections. */
export class RemoteSite {
	readonly host: SidecarHost;
	readonly #world: WorldContext;
	readonly #options: RemoteSiteOptions;
	readonly #random: SeededRandom;
	readonly #apps: SimApps;
	#machines = 0;
	#isOver = false;

	constructor(world: WorldContext, options: RemoteSiteOptions) {
		const { random, shape, later } = options;
		this.#options = options;
		this.#apps = new SimApps(shape.stepMs);
		this.#random = random;
		this.#world = world.aside(random.fork(), ({ id }) => {
			return options.monitor(this.#world, this.#apps.ofProcess(id));
		});
		const host: SidecarHost = new SidecarHost(this.#world, 9, shape.host, () => {
			if (!this.#isOver) later(random.between(10, 3000), () => this.#ensureUp());
		});
		this.host = host;
		host.start();
		const machines = random.between(2, 3);
		while (this.clients.length < machines) this.#addMachine();
	}

	/** Those that are meant to stay. */
	get clients(): readonly SimClient[] {
		return this.#apps.clients;
	}

	storm(): void {
		this.#world.isCalm = false;
		this.#breakLater();
	}

	calm(): void {
		this.#world.isCalm = true;
		this.host.resume();
		this.#ensureUp();
		for (const { cable, process } of this.#apps.all) {
			cable?.mend();
			process.resume();
		}
	}

	audit(): void {
		this.#apps.audit();
		this.host.audit();
	}

	lookUpAll(): void {
		this.#apps.lookUpAll();
	}

	/**
	 * In a calm, when all is as it should be: one machine vanishes for ever and one for a while. What is promised of them must hold
	 * at its time, and these and the other apps of the site are not touched.
	 */
	async prove(others: readonly SimClient[]): Promise<void> {
		const { scheduler } = this.#world;
		const lost = this.#vanish();
		const away = this.#random.pick(this.clients);
		const startMs = this.#world.nowMs;
		const criticalMs = LOOKS * Math.max(LOOK_MS_MIN, this.#options.shape.client.heartbeatMs) + WRITE_MS_MAX;
		const goneMs = criticalMs + RECONNECT_GRACE_MS + WRITE_MS_MAX;
		const awayMs = this.#random.pick([200, criticalMs / 2, criticalMs + 2000, goneMs + 2000]);
		away.cable?.cut();
		this.#world.say(() => `VANISHED ${lost.process.name}, and for ${awayMs} ms ${away.process.name}`);
		this.#options.later(awayMs, () => away.cable?.mend());
		const untouched = [...others, ...this.clients.filter((client) => client !== away)];
		const dials = untouched.map(({ wire }) => wire.dials);
		const endMs = Math.max(goneMs, awayMs + BACK_MS);
		for (let ms = 0; ms < endMs; ms += LOOK_EVERY_MS) {
			await scheduler.runUntil(startMs + ms);
			if (ms > criticalMs) this.#expectCritical(lost, ms);
			if (ms > criticalMs && ms < awayMs) this.#expectCritical(away, ms);
			if (ms > goneMs) this.#expectGone(lost, ms);
			for (const [at, client] of untouched.entries()) {
				checkClaims(client);
				if (client.wire.dials === dials[at]) continue;
				this.#world.fail('failures stay with whom they are of', `${client.process.name} lost its connection too`);
			}
		}
		for (const client of [...this.clients, ...others]) checkConvergence(client);
		this.#addMachine();
		await scheduler.runUntil(this.#world.nowMs + 1000);
		this.checkShared();
	}

	/** What is shared is as its holders say together. */
	checkShared(): void {
		checkShared(this.#world, this.host.sharedId, this.clients);
	}

	/** Apps are asked to end. */
	endApps(): void {
		this.#isOver = true;
		this.#apps.endAll(this.#random);
	}

	/** They have ended. */
	auditEndOfApps(): void {
		this.#apps.auditEnd();
	}

	/** At the very end. */
	auditEnd(): void {
		this.host.auditEnd();
		const { openSockets } = this.#world.network;
		if (openSockets > 0) this.#world.fail('nothing leaks', `at the end ${openSockets} sockets of the site are left`);
	}

	#addMachine(): void {
		const address = `10.9.0.${++this.#machines}`;
		const cable = new Cable(address, this.#world.scheduler, this.#random.fork());
		const { shape } = this.#options;
		const lookups = this.#random.chance(0.25) ? 'remote' : 'local';
		const name = `client at ${address}`;
		this.#apps.add(new SimClient(this.#world, this.host, name, { ...shape.client, lookups }, cable));
	}

	#breakLater(): void {
		const { scheduler, counts } = this.#world;
		scheduler.schedule(this.#random.unit() * 4 * this.#options.shape.faultMs, 'fault', undefined, () => {
			if (this.#world.isCalm) return;
			counts.faults++;
			const what = this.#break();
			this.#world.say(() => `FAULT of the site: ${what}`);
			this.#breakLater();
		});
	}

	#break(): string {
		const random = this.#random;
		const { later } = this.#options;
		const { host } = this;
		const client = random.pick(this.clients);
		const { name } = client.process;
		switch (random.between(1, 8)) {
			case 1:
				this.#vanish();
				this.#addMachine();
				return 'a machine vanishes';
			case 2:
				host.kill();
				later(random.between(10, 6000), () => this.#ensureUp());
				return 'SIGKILL';
			case 3:
				if (random.chance(0.5)) host.handOver();
				else host.terminate();
				later(random.between(10, 8000), () => this.#ensureUp());
				return 'hand-over or SIGTERM';
			case 4:
				host.stop();
				later(random.between(10, 15_000), () => host.resume());
				return 'SIGSTOP';
			case 5: {
				// Its cable may be cut at this moment.
				const how = random.pick(['drain', 'close', 'kill'] as const);
				this.#apps.end(client, how);
				this.#addMachine();
				return `${how} of ${name}`;
			}
			default:
				client.cable?.cut();
				later(random.pick([50, 1000, 5000, 15_000]) * (0.5 + random.unit()), () => client.cable?.mend());
				return `the cable of ${name} is cut`;
		}
	}

	/** A machine is gone for ever, and its other side is not told. */
	#vanish(): SimClient {
		const client = this.#random.pick(this.clients);
		this.#world.counts.vanished++;
		client.cable?.cut();
		this.#apps.end(client, 'kill');
		return client;
	}

	#ensureUp(): void {
		if (!this.host.isUp) this.host.start();
	}

	#expectCritical(client: SimClient, ms: number): void {
		for (const [id, { status }] of this.#registeredBy(client)) {
			if (status === 'critical') continue;
			this.#world.fail('silence is noticed', `${id} is ${status}, ${ms} ms after its machine has gone`);
		}
	}

	#expectGone(client: SimClient, ms: number): void {
		for (const [id] of this.#registeredBy(client)) {
			this.#world.fail('silence is noticed', `${id} is still registered, ${ms} ms after its machine has gone`);
		}
	}

	#registeredBy({ process }: SimClient) {
		return [...this.#world.registry.registered].filter(([id]) => id.startsWith(`app-${process.id}-`));
	}
}
