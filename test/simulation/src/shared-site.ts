import { Cable } from './cable.ts';
import { checkConvergence } from './convergence.ts';
import type { RemoteSiteOptions } from './remote-site.ts';
import type { SeededRandom } from './seeded-random.ts';
import { SidecarHost } from './sidecar-host.ts';
import { SimApps } from './sim-apps.ts';
import { SimClient } from './sim-client.ts';
import { machineOf, type SimMachine } from './standstills.ts';
import type { WorldContext } from './world-context.ts';

/** Hosts of one site begin with this number. */
const FIRST_HOST = 30;
/** Number of this part of the world, for its processes. */
const ASIDE = 3;

/** A pod: its sidecar, which asks the shared one, and the cable between the two. */
interface Pod {
	readonly host: SidecarHost;
	readonly cable: Cable;
}

/** Pods whose sidecars ask a shared one and not the registry: each hop breaks, alone and with the other. */
export class SharedSite {
	/** The only one that asks the registry. */
	readonly shared: SidecarHost;
	readonly pods: readonly Pod[];
	readonly #world: WorldContext;
	readonly #options: RemoteSiteOptions;
	readonly #random: SeededRandom;
	readonly #apps: SimApps;
	#appNumber = 0;
	#isOver = false;

	constructor(world: WorldContext, options: RemoteSiteOptions) {
		const { random, shape } = options;
		this.#options = options;
		this.#apps = new SimApps(shape.stepMs);
		this.#random = random;
		const tap = ({ id }: { readonly id: number }) => {
			return options.monitor(this.#world, this.#apps.ofProcess(id));
		};
		this.#world = world.aside(random.fork(), tap, ASIDE);
		this.shared = this.#host(FIRST_HOST);
		this.pods = Array.from({ length: random.between(1, 3) }, (_, number) => {
			const cable = new Cable(`10.8.0.${number}`, world.scheduler, random.fork());
			return { cable, host: this.#host(FIRST_HOST + 1 + number, cable) };
		});
		for (const host of this.#hosts) options.later(random.between(0, 2000), () => this.#ensureUp(host));
		const apps = random.between(1, 3);
		for (let app = 0; app < apps; app++) this.#addClient(shape.client);
	}

	/** The machines: the shared sidecar's, and each pod with its apps. */
	get machines(): readonly SimMachine[] {
		return this.#hosts.map((host) => machineOf(host, this.clients));
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
		for (const { cable } of this.pods) cable.mend();
		for (const host of this.#hosts) {
			host.resume();
			this.#ensureUp(host);
		}
		for (const { process } of this.#apps.all) process.resume();
	}

	audit(): void {
		this.#apps.audit();
		for (const host of this.#hosts) host.audit();
	}

	lookUpAll(): void {
		this.#apps.lookUpAll();
	}

	/** In a calm the shared sidecar and then a pod's own is killed: no known lookup fails, and after it all know the truth. */
	async prove(): Promise<void> {
		const { scheduler } = this.#world;
		const victims = [this.shared, this.#random.pick(this.pods).host];
		for (const host of victims) {
			host.kill();
			await scheduler.runUntil(this.#world.nowMs + this.#random.between(10, 4000));
			this.lookUpAll();
			await scheduler.runUntil(this.#world.nowMs + 1000);
			this.#ensureUp(host);
			await scheduler.runUntil(this.#world.nowMs + 60_000);
			for (const client of this.clients) checkConvergence(client);
			await scheduler.runUntil(this.#world.nowMs + 1000);
		}
	}

	endApps(): void {
		this.#isOver = true;
		this.#apps.endAll(this.#random);
	}

	auditEndOfApps(): void {
		this.#apps.auditEnd();
	}

	/** After the apps, and time for idle questions to end. */
	endPods(): void {
		for (const { host } of this.pods) {
			host.auditIdle();
			host.terminate();
		}
	}

	/** After the pods, and the same time. */
	endShared(): void {
		for (const { host } of this.pods) host.auditEnd();
		this.shared.auditIdle();
		this.shared.terminate();
	}

	/** At the very end. */
	auditEnd(): void {
		this.shared.auditEnd();
		const { openSockets } = this.#world.network;
		if (openSockets > 0) this.#world.fail('nothing leaks', `at the end ${openSockets} sockets of the pods are left`);
	}

	get #hosts(): readonly SidecarHost[] {
		return [this.shared, ...this.pods.map(({ host }) => host)];
	}

	#host(number: number, cable?: Cable): SidecarHost {
		const { shape, later } = this.#options;
		const exited = (): void => {
			if (!this.#isOver) later(this.#random.between(10, 3000), () => this.#ensureUp(host));
		};
		const asked = cable === undefined ? { isShared: true } : { asked: { host: this.shared, cable } };
		const host: SidecarHost = new SidecarHost(this.#world, number, shape.host, exited, asked);
		return host;
	}

	#addClient(options: RemoteSiteOptions['shape']['client']): void {
		const { host } = this.#random.pick(this.pods);
		const lookups = this.#random.chance(0.25) ? 'remote' : 'local';
		this.#apps.add(new SimClient(this.#world, host, `app ${++this.#appNumber} of a pod`, { ...options, lookups }));
	}

	#breakLater(): void {
		const { scheduler, counts } = this.#world;
		scheduler.schedule(this.#random.unit() * 4 * this.#options.shape.faultMs, 'fault', undefined, () => {
			if (this.#world.isCalm) return;
			counts.faults++;
			const what = this.#break();
			this.#world.say(() => `FAULT of the pods: ${what}`);
			this.#breakLater();
		});
	}

	#break(): string {
		const random = this.#random;
		const { later, shape } = this.#options;
		const { cable } = random.pick(this.pods);
		const host = random.chance(0.5) ? this.shared : random.pick(this.pods).host;
		switch (random.between(1, 7)) {
			case 1:
				host.kill();
				later(random.between(10, 6000), () => this.#ensureUp(host));
				return `SIGKILL of ${host.address}`;
			case 2:
				if (host.isUp) host.handOver();
				return `hand-over of ${host.address}`;
			case 3:
				host.terminate();
				later(random.between(10, 8000), () => this.#ensureUp(host));
				return `SIGTERM of ${host.address}`;
			case 4:
				host.stop();
				later(random.between(10, 15_000), () => host.resume());
				return `SIGSTOP of ${host.address}`;
			case 5: {
				const client = random.pick(this.clients);
				this.#apps.end(client, random.pick(['drain', 'close', 'kill']));
				this.#addClient(shape.client);
				return `the end of ${client.process.name}`;
			}
			default:
				cable.cut();
				later(random.pick([50, 1000, 5000, 15_000]) * (0.5 + random.unit()), () => cable.mend());
				return `the cable of ${cable.address} is cut`;
		}
	}

	#ensureUp(host: SidecarHost): void {
		if (!host.isUp) host.start();
	}
}
