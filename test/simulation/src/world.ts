import { checkShared } from './convergence.ts';
import { EventSite } from './events/event-site.ts';
import { type Breakable, breakSomething } from './faults.ts';
import type { Injection } from './injection.ts';
import { RemoteSite } from './remote-site.ts';
import type { Scheduler, SimEvent } from './scheduler.ts';
import { SeededRandom } from './seeded-random.ts';
import { ServersSite } from './servers/servers-site.ts';
import { SharedSite } from './shared-site.ts';
import { SidecarHost } from './sidecar-host.ts';
import { SimApps } from './sim-apps.ts';
import { type ClientOptions, SimClient } from './sim-client.ts';
import { SimNetwork } from './sim-network.ts';
import { SimRegistry } from './sim-registry.ts';
import { machineOf, Standstills } from './standstills.ts';
import { WireMonitor } from './wire-monitor.ts';
import { WorldContext } from './world-context.ts';
import { drawShape, type WorldShape } from './world-shape.ts';

/** What must always hold is looked at this often, in virtual milliseconds. */
const AUDIT_MS = 250;

/** Share of the worlds that have other machines. */
const SITE_CHANCE = 0.3;
/** What these draw comes from the seed too, and from none of the other numbers: the storms of the rest are those of before. */
const SITE_SEED = 2 ** 40;
/** Share of the worlds that have events, and their numbers, as those of a site: with more of them 200 seeds took half as long again. */
const EVENTS_CHANCE = 0.33;
const EVENTS_SEED = 2 ** 41;
/** Share of the worlds that have pods which ask a shared sidecar, and their numbers. */
const PODS_CHANCE = 0.15;
const PODS_SEED = 2 ** 43;
/** Share of the worlds that have servers without node agents, and their numbers. */
const SERVERS_CHANCE = 0.15;
const SERVERS_SEED = 2 ** 48;
/** Share of the worlds in which machines stand still, and their numbers. */
const STANDSTILL_CHANCE = 0.3;
const STANDSTILL_SEED = 2 ** 44;
/** Share of those that have more than that, and their further numbers. */
const WIDE_CHANCE = 0.4;
const WIDE_SEED = 2 ** 42;

/** One world: a registry, sidecars, apps, and what befalls them. */
export class World implements Breakable {
	readonly context: WorldContext;
	readonly shape: WorldShape;
	readonly hosts: SidecarHost[] = [];
	/** Apps on other machines, and their sidecar. */
	readonly site: RemoteSite | undefined;
	/** Pods whose sidecars ask a shared one. */
	readonly shared: SharedSite | undefined;
	/** Pods that register at servers which come and go. */
	readonly servers: ServersSite | undefined;
	/** Machines that stand still. */
	readonly #standstills: Standstills | undefined;
	/** Apps with events, and their sidecar. */
	readonly events: EventSite | undefined;
	readonly #random: SeededRandom;
	readonly #apps: SimApps;
	/** What ends a fault: done at once when calm is wanted. */
	readonly #mends = new Map<SimEvent, () => void>();
	#clientNumber = 0;
	#isOver = false;

	/** `injection`: what goes wrong on purpose. */
	constructor(seed: number, scheduler: Scheduler, injection: Injection) {
		this.#random = new SeededRandom(seed);
		const context = new WorldContext(scheduler, this.#random.fork(), injection);
		this.context = context;
		const { hasEvents, hasPods, hasServers } = injection;
		const isAlone = hasEvents === 'only' || hasPods === 'only' || hasServers === 'only';
		const shape = drawShape(this.#random.fork());
		this.shape = isAlone ? { ...shape, hosts: 0, clients: 0 } : shape;
		this.#apps = new SimApps(this.shape.stepMs);
		context.isWordy = this.shape.isWordy;
		context.network = new SimNetwork(
			scheduler,
			this.#random.fork(),
			({ id }) => monitor(context, this.#apps.ofProcess(id)),
			injection,
		);
		context.registry = new SimRegistry(scheduler, this.#random.fork(), this.shape.registry);
		if (injection.hasStranger === true) context.registry.addStranger();
		for (let number = 0; number < this.shape.hosts; number++) {
			const host: SidecarHost = new SidecarHost(context, number, this.shape.host, () => this.#exited(host));
			this.hosts.push(host);
			// An app may be there first.
			this.later(this.#random.chance(0.5) ? 0 : this.#random.between(1, 3000), () => this.ensureUp(host));
		}
		for (let number = 0; number < this.shape.clients; number++) this.#addClient();
		const own = new SeededRandom(SITE_SEED + seed);
		if (own.chance(SITE_CHANCE) && !isAlone) {
			this.site = new RemoteSite(context, {
				shape: this.shape,
				random: own,
				later: (delayMs, mend) => this.later(delayMs, mend),
				monitor,
			});
		}
		const ofPods = new SeededRandom(PODS_SEED + seed);
		const isWithPods = ofPods.chance(PODS_CHANCE);
		if (hasPods ?? (isWithPods && !isAlone)) {
			this.shared = new SharedSite(context, {
				shape: this.shape,
				random: ofPods,
				later: (delayMs, mend) => this.later(delayMs, mend),
				monitor,
			});
		}
		const ofServers = new SeededRandom(SERVERS_SEED + seed);
		const isWithServers = ofServers.chance(SERVERS_CHANCE);
		if (hasServers ?? (isWithServers && !isAlone)) {
			this.servers = new ServersSite(context, {
				random: ofServers,
				faultMs: this.shape.faultMs,
				later: (delayMs, mend) => this.later(delayMs, mend),
			});
		}
		const ofEvents = new SeededRandom(EVENTS_SEED + seed);
		const isChosen = ofEvents.chance(EVENTS_CHANCE);
		if (hasEvents ?? (isChosen && !isAlone)) {
			const wide = new SeededRandom(WIDE_SEED + seed);
			this.events = new EventSite(context, {
				shape: this.shape,
				random: ofEvents,
				...(wide.chance(WIDE_CHANCE) && { wide }),
				later: (delayMs, mend) => this.later(delayMs, mend),
			});
		}
		const ofStandstills = new SeededRandom(STANDSTILL_SEED + seed);
		if (injection.hasStandstills ?? ofStandstills.chance(STANDSTILL_CHANCE)) {
			this.#standstills = new Standstills(
				context,
				ofStandstills,
				() => [...this.hosts.map((host) => machineOf(host, this.clients)), ...(this.shared?.machines ?? [])],
				(delayMs, mend) => this.later(delayMs, mend),
			);
		}
		this.#auditLater();
	}

	/** The apps of the main part that are meant to stay. */
	get clients(): readonly SimClient[] {
		return this.#apps.clients;
	}

	/** Every app that is meant to stay. */
	get everyClient(): readonly SimClient[] {
		return [...this.clients, ...(this.site?.clients ?? []), ...(this.shared?.clients ?? [])];
	}

	/** Ends a fault after a while. */
	later(delayMs: number, mend: () => void): void {
		const event = this.context.scheduler.schedule(delayMs, 'mend', undefined, () => {
			this.#mends.delete(event);
			mend();
		});
		this.#mends.set(event, mend);
	}

	ensureUp(host: SidecarHost): void {
		if (!host.isUp) host.start();
	}

	/** An app ends, and another takes its place. */
	replace(client: SimClient, how: 'kill' | 'drain' | 'close'): string {
		this.#apps.end(client, how);
		this.#addClient();
		return how;
	}

	/** A time in which things break. */
	async storm(durationMs: number): Promise<void> {
		this.context.isCalm = false;
		if (this.hosts.length > 0 || this.shared !== undefined) this.#breakLater();
		this.site?.storm();
		this.shared?.storm();
		this.servers?.storm();
		this.events?.storm();
		this.#standstills?.storm();
		await this.context.scheduler.runUntil(this.context.nowMs + durationMs);
	}

	/** Everything is mended, and stays so for long enough that everybody must know the truth. */
	async calm(durationMs: number): Promise<void> {
		this.context.isCalm = true;
		for (const [event, mend] of [...this.#mends]) {
			this.context.scheduler.cancel(event);
			this.#mends.delete(event);
			mend();
		}
		for (const host of this.hosts) {
			host.resume();
			this.ensureUp(host);
		}
		for (const { process } of this.#apps.all) process.resume();
		this.site?.calm();
		this.shared?.calm();
		this.servers?.calm();
		this.events?.calm();
		this.context.registry.setMode('well');
		await this.context.scheduler.runUntil(this.context.nowMs + durationMs);
	}

	/** Looks all services up, and gives the answers time to come. */
	async lookUpAll(): Promise<void> {
		this.#apps.lookUpAll();
		this.site?.lookUpAll();
		this.shared?.lookUpAll();
		await this.context.scheduler.runUntil(this.context.nowMs + 1000);
	}

	/** Ends the apps, then looks at what the sidecars still know of them, then ends those. */
	async end(): Promise<void> {
		const { scheduler } = this.context;
		this.#isOver = true;
		this.#apps.endAll(this.#random);
		this.site?.endApps();
		this.shared?.endApps();
		this.servers?.end();
		this.events?.endApps();
		await scheduler.runUntil(this.context.nowMs + this.shape.client.timeoutMs * 2 + 5000);
		this.site?.auditEndOfApps();
		this.shared?.auditEndOfApps();
		this.events?.auditEndOfApps();
		this.#apps.auditEnd();
		await scheduler.runUntil(this.context.nowMs + this.shape.host.idleTtlMs * 2 + 20_000);
		const hosts = [...this.hosts, ...[this.site?.host, this.events?.host].filter((host) => host !== undefined)];
		for (const host of hosts) host.auditIdle();
		for (const host of hosts) host.terminate();
		this.shared?.endPods();
		this.servers?.endSidecars();
		await scheduler.runUntil(this.context.nowMs + 30_000);
		if (this.shared !== undefined) {
			await scheduler.runUntil(this.context.nowMs + this.shape.host.idleTtlMs * 2 + 20_000);
			this.shared.endShared();
			await scheduler.runUntil(this.context.nowMs + 30_000);
			this.shared.auditEnd();
		}
		for (const host of this.hosts) host.auditEnd();
		this.site?.auditEnd();
		this.events?.auditEnd();
		const { network, registry } = this.context;
		const held = registry.heldQueries;
		if (network.openSockets + held > 0) {
			this.context.fail('nothing leaks', `at the end ${network.openSockets} sockets and ${held} held queries are left`);
		}
		// The audit itself is due for ever.
		if (scheduler.fault !== undefined) throw scheduler.fault;
		if (scheduler.pending > 2) {
			this.context.fail('nothing leaks', `at the end this is still due: ${scheduler.describePending().join(', ')}`);
			throw scheduler.fault;
		}
	}

	/** What is shared is as its holders say together. */
	checkShared(): void {
		for (const host of this.hosts) {
			checkShared(
				this.context,
				host.sharedId,
				this.clients.filter((client) => client.host === host),
			);
		}
		this.site?.checkShared();
	}

	/** Registered is what a living app wants, and nothing else. */
	checkRegistry(): void {
		const wanted = new Set(
			this.everyClient.flatMap(({ process, claimed, unsure, underWay: { registering, deregistering } }) => [
				`app-${process.id}-`,
				...[...claimed.keys(), ...unsure, ...registering, ...deregistering],
			]),
		);
		for (const id of this.context.registry.registered.keys()) {
			const prefix = id.slice(0, id.lastIndexOf('-') + 1);
			if (!wanted.has(id) && !wanted.has(prefix)) {
				this.context.fail('nothing leaks', `${id} is still registered, and its app is gone`);
			}
		}
	}

	/** As the kubelet does it. */
	#exited(host: SidecarHost): void {
		if (!this.#isOver) this.later(this.context.random.between(10, 3000), () => this.ensureUp(host));
	}

	#addClient(): void {
		const host = this.#random.pick(this.hosts);
		const options: ClientOptions = {
			...this.shape.client,
			lookups: this.#random.chance(0.25) ? 'remote' : 'local',
			...(this.#random.chance(0.15) && { whileDisconnected: 'fail' as const }),
		};
		this.#apps.add(new SimClient(this.context, host, `client ${++this.#clientNumber}`, options));
	}

	#breakLater(): void {
		const { scheduler, counts, random } = this.context;
		scheduler.schedule(random.unit() * 2 * this.shape.faultMs, 'fault', undefined, () => {
			if (this.context.isCalm) return;
			if (random.chance(0.5)) this.context.registry.changeOne();
			else {
				counts.faults++;
				const what = breakSomething(this, random);
				this.context.say(() => `FAULT ${what}`);
			}
			this.#breakLater();
		});
	}

	#auditLater(): void {
		this.context.scheduler.schedule(AUDIT_MS, 'audit', undefined, () => {
			this.#apps.audit();
			for (const host of this.hosts) host.audit();
			this.site?.audit();
			this.shared?.audit();
			this.events?.audit();
			this.#auditLater();
		});
	}
}

function monitor(context: WorldContext, client: SimClient | undefined): WireMonitor {
	return new WireMonitor({
		counts: context.counts,
		violated: (violation) => context.violated(violation),
		opened: () => client?.wire.opened(),
		took: () => client?.wire.took(),
		goaway: () => client?.wire.goaway(),
		closed: () => client?.wire.closed(),
	});
}
