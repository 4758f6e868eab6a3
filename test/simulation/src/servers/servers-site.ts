import type { SeededRandom } from '../seeded-random.ts';
import type { WorldContext } from '../world-context.ts';
import { ServerPod } from './server-pod.ts';
import { type SimServer, SimServers } from './sim-servers.ts';

/** Number of this part of the world, for its processes. */
const ASIDE = 4;
const TICK_MS = 100;
/**
 * An app that is registered, well and connected is served again after this, while two servers are together and one of them can be reached: a
 * time to live, a call that hangs at each of two servers, and a back-off.
 */
const SERVED_MS = 45_000;
/** What a server that returns has is published again for this long at most: its time to live, and what the others need to see it. */
const TWICE_MS = 20_000;
/** So long after the others have returned, one server goes in a calm and stays away. */
const LOSS_MS = 25_000;

/** What a site needs of its world. */
export interface ServersSiteOptions {
	readonly random: SeededRandom;
	readonly faultMs: number;
	readonly later: (delayMs: number, mend: () => void) => void;
}

/** Pods that register at three servers without node agents, and what happens to those. One server may stay away through a calm. */
export class ServersSite {
	readonly #world: WorldContext;
	readonly #options: ServersSiteOptions;
	readonly #cluster: SimServers;
	readonly #pods: readonly ServerPod[];
	/** When each app was served last, or began to be owed it. */
	readonly #servedAtMs = new Map<ServerPod, number>();
	#isOver = false;

	constructor(world: WorldContext, options: ServersSiteOptions) {
		const { random } = options;
		this.#options = options;
		const noConnections = (): never => {
			throw new Error('nothing connects to anything here');
		};
		this.#world = world.aside(random.fork(), noConnections, ASIDE);
		this.#cluster = new SimServers(world.scheduler, random.fork());
		this.#pods = Array.from(
			{ length: random.between(1, 3) },
			(_, number) => new ServerPod(this.#world, this.#cluster, number, random.fork()),
		);
		for (const pod of this.#pods) options.later(random.between(0, 2000), () => pod.start());
		this.#tick();
	}

	storm(): void {
		this.#world.isCalm = false;
		this.#breakLater();
	}

	/** Every server is well again, and each sidecar runs; later one server may go, and stays away. */
	calm(): void {
		this.#world.isCalm = true;
		const { random } = this.#options;
		const left = random.chance(0.5) ? random.pick(this.#cluster.servers) : undefined;
		for (const server of this.#cluster.servers) this.#mend(server);
		const isHidden = random.chance(0.5);
		this.#world.scheduler.schedule(LOSS_MS, 'a server goes', undefined, () => {
			if (left === undefined || this.#isOver) return;
			if (isHidden) left.isHidden = true;
			else this.#cluster.kill(left);
		});
		for (const pod of this.#pods) pod.start();
	}

	/** After a calm: each app is served at one place. */
	prove(): void {
		for (const pod of this.#pods) {
			const { owner, id } = pod;
			const at = this.#cluster.servedAt(owner, id);
			if (at.length === 1) continue;
			const invariant = at.length === 0 ? 'a registration outlives its server' : 'an instance is registered once';
			this.#world.fail(invariant, `${id} is served at ${at.join(' and ') || 'no server'} after a calm`);
		}
	}

	/** The apps end, then the sidecars; nothing is left at a server that can be reached. */
	end(): void {
		this.#isOver = true;
		for (const server of this.#cluster.servers) this.#mend(server);
		for (const pod of this.#pods) pod.withdraw();
	}

	endSidecars(): void {
		for (const { owner, id } of this.#pods) {
			const left = this.#cluster.sightings(owner);
			if (left.length > 0) this.#world.fail('nothing leaks', `${id} is still registered at ${left[0]?.node}`);
		}
		for (const pod of this.#pods) void pod.end();
	}

	#tick(): void {
		this.#world.scheduler.schedule(TICK_MS, 'tick of the servers', undefined, () => {
			this.#cluster.changed();
			for (const pod of this.#pods) this.#audit(pod);
			if (!this.#isOver || this.#pods.some(({ isUp }) => isUp)) this.#tick();
		});
	}

	#audit(pod: ServerPod): void {
		const { nowMs } = this.#world;
		const at = this.#cluster.servedAt(pod.owner, pod.id);
		const isOwed = pod.heldSinceMs < Number.POSITIVE_INFINITY && this.#canBeServed();
		if (!isOwed || at.length > 0) this.#servedAtMs.set(pod, nowMs);
		const forMs = nowMs - (this.#servedAtMs.get(pod) ?? nowMs);
		if (forMs > SERVED_MS) {
			const message = `${pod.id} is registered and well, and has not been served for ${forMs.toFixed()} ms`;
			this.#world.fail('a registration outlives its server', message);
		}
		const isReturning = this.#cluster.servers.some(
			({ name, returnedAtMs }) => at.includes(name) && nowMs - returnedAtMs <= TWICE_MS,
		);
		if (at.length > 1 && !isReturning) {
			this.#world.fail('an instance is registered once', `${pod.id} is served at ${at.join(' and ')}`);
		}
	}

	#canBeServed(): boolean {
		const { servers, hasQuorum } = this.#cluster;
		return (
			hasQuorum && servers.some(({ node, isUp, isHidden, isApart }) => node === 'well' && isUp && !isHidden && !isApart)
		);
	}

	#breakLater(): void {
		const { random, faultMs } = this.#options;
		this.#world.scheduler.schedule(random.unit() * 4 * faultMs, 'fault', undefined, () => {
			if (this.#world.isCalm) return;
			this.#world.counts.faults++;
			const what = this.#break(random.pick(this.#cluster.servers), random.pick(this.#pods));
			this.#world.say(() => `FAULT of the servers: ${what}`);
			this.#breakLater();
		});
	}

	#break(server: SimServer, pod: ServerPod): string {
		const { random, later } = this.#options;
		const mendLater = (): void =>
			later(random.pick([100, 2000, 20_000]) * (0.5 + random.unit()), () => this.#mend(server));
		switch (random.between(1, 7)) {
			case 1:
				this.#cluster.kill(server);
				mendLater();
				return `SIGKILL of ${server.name}`;
			case 2:
				this.#cluster.leave(server);
				mendLater();
				return `${server.name} leaves`;
			case 3:
				server.isHidden = true;
				mendLater();
				return `pods do not reach ${server.name}`;
			case 4:
				this.#cluster.part(server);
				mendLater();
				return `the others do not reach ${server.name}`;
			case 5:
				pod.kill();
				later(random.between(10, 6000), () => pod.start());
				return `SIGKILL of the sidecar of ${pod.owner}`;
			case 6:
				pod.change();
				return `${pod.id} has other tags`;
			default:
				this.#cluster.kill(server);
				return `${server.name} is lost for good`;
		}
	}

	#mend(server: SimServer): void {
		if (server.isHidden) {
			server.isHidden = false;
			// What was written and not answered is published again.
			server.returnedAtMs = this.#world.nowMs;
		}
		this.#cluster.join(server);
		// One that is leaving has not ended yet.
		if (server.node === 'left' && server.isUp) this.#cluster.kill(server);
		this.#cluster.start(server, this.#options.random.pick(['old data', 'empty disk', 'another']));
	}
}
