import type { SeededRandom } from '../seeded-random.ts';
import { SidecarHost } from '../sidecar-host.ts';
import type { SimProcess } from '../sim-process.ts';
import { WireMonitor } from '../wire-monitor.ts';
import type { WorldContext } from '../world-context.ts';
import type { WorldShape } from '../world-shape.ts';
import { EventApp, type EventPlan } from './event-app.ts';
import { EventBook } from './event-book.ts';
import { type BreakableEvents, breakEvents } from './event-faults.ts';
import { EventMachine, type FoundEvents } from './event-machine.ts';

/** Numbers of this part of the world; remote sites have 1. */
const ASIDE = 2;
const HOST_NUMBER = 8;
/** How long a calm may last until nothing is left to do, in milliseconds: longer than every back-off, retry and wait together. */
const QUIET_MS = 60_000;
const LOOK_EVERY_MS = 1000;
/** In a log that is full events with an id hold the room for so long, and apps fill it with long ones, and keep what has no room. */
const ID_WINDOW_MS = 130_000;
/** So often may what they keep fill it again. */
const FILLS_MAX = 4;
const SMALL_PLAN = { bufferBytesMax: 4_194_304, longChance: 0.3, longBytesMax: 200_000 };
/** Share of the machines on which a write is durable when it has ended. */
const LINUX_CHANCE = 0.75;
/** A loss of power is tried so long after a fault at most, and at most this often, on a copy of the disk, in milliseconds. */
const AFTER_FAULT_MS = 1000;
const POWER_AUDIT_MS = 400;
/** The time of day jumps so often, and so far: also by more than events are kept. */
const JUMP_MS_MAX = 6000;
const DAY_MS = 86_400_000;
const JUMPS_MS = [-3 * DAY_MS, -60_000, 60_000, 3_600_000, 10 * DAY_MS, 10 * DAY_MS];

/** What a site needs of its world. */
export interface EventSiteOptions {
	readonly shape: WorldShape;
	/** Numbers of its own. */
	readonly random: SeededRandom;
	/** Further numbers, in a world where more may happen: the time of day jumps, apps send single requests, the group is sent back. */
	readonly wide?: SeededRandom;
	/** Ends a fault after a while, or at the next calm. */
	readonly later: (delayMs: number, mend: () => void) => void;
}

/** A machine with a sidecar that takes events, and apps that emit and handle them. */
export class EventSite implements BreakableEvents {
	readonly apps: EventApp[] = [];
	readonly host: SidecarHost;
	readonly machine: EventMachine;
	readonly world: WorldContext;
	readonly random: SeededRandom;
	readonly later: EventSiteOptions['later'];
	readonly #shape: WorldShape;
	readonly #wide: SeededRandom | undefined;
	readonly #plan: EventPlan;
	readonly #extras: Extras;
	readonly #book: EventBook;
	readonly #ending = new Set<EventApp>();
	#number = 0;
	#triedAtMs = Number.NEGATIVE_INFINITY;
	#isPaused = false;
	#isOver = false;

	constructor(world: WorldContext, { random, wide, shape, later }: EventSiteOptions) {
		this.random = random;
		this.later = later;
		this.#shape = shape;
		this.#wide = wide;
		const nothing = (): void => undefined;
		this.world = world.aside(
			random.fork(),
			() =>
				new WireMonitor({
					counts: world.counts,
					violated: (violation) => world.violated(violation),
					opened: nothing,
					took: nothing,
					goaway: nothing,
					closed: nothing,
				}),
			ASIDE,
		);
		this.#extras = drawExtras(wide);
		const { isSmall } = this.#extras;
		this.#plan = { ...drawPlan(random), ...(isSmall && SMALL_PLAN) };
		this.#book = new EventBook(this.world);
		const setup = { isSmall, writesThrough: this.#writesThrough(random) };
		this.machine = new EventMachine(this.world, random.fork(), setup, (below) => this.#book.trimmed(below));
		const exited = (): void => {
			if (!this.#isOver) later(random.between(10, 3000), () => this.ensureUp());
		};
		const events = (process: SimProcess, before: SimProcess | undefined) => this.machine.events(process, before);
		this.host = new SidecarHost(this.world, HOST_NUMBER, shape.host, exited, { events });
		this.host.start();
		const apps = random.between(1, 3);
		this.addApp(true);
		while (this.apps.length <= apps) this.addApp(random.chance(0.3));
	}

	storm(): void {
		this.world.isCalm = false;
		this.#breakLater();
		// Ids of repeated events are only checked where it does not: so in one half of the small logs.
		const { isSmall, hasNames } = this.#extras;
		if (this.#wide !== undefined && (!isSmall || hasNames)) this.#jumpLater(this.#wide);
	}

	calm(): void {
		this.world.isCalm = true;
		this.machine.mend();
		this.host.resume();
		this.ensureUp();
		for (const { process } of [...this.apps, ...this.#ending]) process.resume();
	}

	audit(): void {
		for (const app of [...this.apps, ...this.#ending]) app.audit();
		for (const app of this.apps.filter(({ isOusted }) => isOusted)) this.replace(app, 'close', false);
		this.host.audit();
	}

	ensureUp(): void {
		if (!this.host.isUp) this.host.start();
	}

	/** In a calm: everything is done, the log has what it must have, and keeps it when the machine loses power. */
	async prove(): Promise<void> {
		this.#isPaused = true;
		const { events, first } = await this.#quiet();
		this.#book.checkOrder(events);
		this.#book.checkKept(events, this.#book.told, 'after a calm');
		this.#book.checkHandled(events, first);
		const { told } = this.#book;
		this.#book.checkKept((await this.machine.read(true)).events, told, 'after a loss of power in a calm');
		this.losePower();
		this.ensureUp();
		this.#isPaused = false;
		await this.world.scheduler.runUntil(this.world.nowMs + this.random.between(500, 10_000));
		this.#isPaused = true;
		const later = await this.#quiet();
		this.#book.checkOrder(later.events);
		this.#book.checkKept(later.events, this.#book.told, 'after a loss of power and a calm');
		this.#book.checkHandled(later.events, later.first);
		this.#isPaused = false;
	}

	/** The power of the machine fails: all its processes are gone, and what was not synced may be. */
	losePower(): void {
		this.host.kill();
		for (const app of [...this.#ending]) {
			app.end('kill');
			this.#ending.delete(app);
		}
		for (const app of [...this.apps]) this.replace(app, 'kill');
		this.machine.losePower();
	}

	/** An app ends, and another takes its place. */
	replace(app: EventApp, how: 'kill' | 'drain' | 'close', keepsName = true): void {
		this.apps.splice(this.apps.indexOf(app), 1);
		app.end(how);
		if (how !== 'kill') this.#ending.add(app);
		this.addApp(app.isConsumer, keepsName ? app.producer : undefined);
	}

	/** `producer`: of the app whose place it takes. */
	addApp(isConsumer: boolean, producer?: string): void {
		const name = `events-${++this.#number}`;
		const { hasNames, readerChance } = this.#extras;
		const app = new EventApp(this.world, this.host.address, this.#plan, this.#book, {
			name,
			producer: producer ?? (hasNames ? `producer-${this.#number}` : undefined),
			isSuccessor: producer !== undefined,
			isConsumer,
			isReader: this.#wide?.chance(readerChance) === true,
			wide: this.#wide?.fork(),
		});
		this.apps.push(app);
		this.#stepLater(app);
	}

	/** Apps are asked to end. */
	endApps(): void {
		this.#isOver = true;
		for (const app of this.apps.splice(0)) {
			app.end(this.random.pick(['drain', 'close']));
			this.#ending.add(app);
		}
	}

	/** They have ended. */
	auditEndOfApps(): void {
		for (const app of this.#ending) app.auditEnd();
		this.#ending.clear();
	}

	/** At the very end. */
	auditEnd(): void {
		this.host.auditEnd();
		const { openSockets } = this.world.network;
		if (openSockets > 0) this.world.fail('nothing leaks', `at the end ${openSockets} sockets of the events are left`);
	}

	/** Waits until apps have nothing left to send and their group nothing to handle. Returns the log. */
	async #quiet(): Promise<FoundEvents> {
		const { scheduler } = this.world;
		const quietMs = this.#extras.isSmall ? FILLS_MAX * ID_WINDOW_MS + QUIET_MS : QUIET_MS;
		const untilMs = this.world.nowMs + quietMs;
		for (;;) {
			await scheduler.runUntil(this.world.nowMs + LOOK_EVERY_MS);
			const busy = this.apps.filter(({ isQuiet }) => !isQuiet);
			const isLate = this.world.nowMs >= untilMs;
			if (busy.length > 0 && !isLate) continue;
			const found = await this.machine.read(false);
			const unread = this.apps.filter(({ read }) => read?.missing(found.events, found.first) !== undefined);
			if (busy.length === 0 && unread.length === 0 && this.#book.isDone(found.events)) return found;
			if (!isLate) continue;
			for (const { process, read } of unread) {
				const missing = read?.missing(found.events, found.first);
				this.world.fail('every event is handled', `${process.name} has not read ${missing} without a group`);
			}
			if (busy.length > 0) {
				const text = busy.map((app) => app.describe()).join('; ');
				this.world.fail('settles once and in time', `after ${quietMs} ms in a calm: ${text}`);
			}
			return found;
		}
	}

	#writesThrough(random: SeededRandom): boolean {
		const { eventSyncs } = this.world.injection;
		const isLinux = random.chance(LINUX_CHANCE);
		return eventSyncs === undefined ? isLinux : !eventSyncs;
	}

	#stepLater(app: EventApp): void {
		const { stepMs } = this.#shape;
		const paceMs = this.world.isCalm ? stepMs * 100 : stepMs * 15;
		app.process.schedule(this.random.unit() * 2 * paceMs, 'event', () => {
			if (app.isEnding) return;
			if (!this.#isPaused) app.step();
			this.#stepLater(app);
		});
	}

	#breakLater(): void {
		const { scheduler, counts } = this.world;
		scheduler.schedule(this.random.unit() * 3 * this.#shape.faultMs, 'fault', undefined, () => {
			if (this.world.isCalm) return;
			counts.faults++;
			const what = breakEvents(this, this.random);
			this.world.say(() => `FAULT of the events: ${what}`);
			this.#tryPowerLossLater(this.random.unit() * AFTER_FAULT_MS);
			this.#breakLater();
		});
	}

	/** The time of day is set: first when there is a group, without which nothing holds its events. */
	#jumpLater(wide: SeededRandom): void {
		this.world.scheduler.schedule(wide.unit() * JUMP_MS_MAX, 'the time of day jumps', undefined, () => {
			if (this.world.isCalm) return;
			if (this.world.counts.handled > 0) {
				this.world.wallAheadMs += wide.pick(JUMPS_MS);
				this.#book.timeWasSet();
				this.world.say(() => `the time of day is ${this.world.wallAheadMs} ms ahead`);
			}
			this.#jumpLater(wide);
		});
	}

	/** On a copy of the disk: at any moment what was told is there. Most of all while something is broken. */
	#tryPowerLossLater(delayMs: number): void {
		this.world.scheduler.schedule(delayMs, 'power audit', undefined, () => {
			if (this.world.isCalm || this.world.nowMs < this.#triedAtMs + POWER_AUDIT_MS) return;
			this.#triedAtMs = this.world.nowMs;
			const { told } = this.#book;
			void this.machine
				.read(true)
				.then(({ events }) => this.#book.checkKept(events, told, 'after a loss of power'))
				.catch((error: unknown) =>
					this.world.fail('no fault escapes', `no log after a loss of power: ${String(error)}`),
				);
		});
	}
}

/** What a world has besides, where more may happen. */
interface Extras {
	/** The log has so little room that it gets full. */
	readonly isSmall: boolean;
	/** An app has the producer name of the one whose place it takes, of which frames may still be on the way. */
	readonly hasNames: boolean;
	/** Share of the apps that read the stream without a group. */
	readonly readerChance: number;
}

function drawExtras(wide: SeededRandom | undefined): Extras {
	if (wide === undefined) return { isSmall: false, hasNames: false, readerChance: 0 };
	return { isSmall: wide.chance(0.25), hasNames: wide.chance(0.5), readerChance: wide.pick([0, 0.3]) };
}

function drawPlan(random: SeededRandom): EventPlan {
	return {
		heartbeatMs: random.pick([500, 2000]),
		timeoutMs: random.pick([500, 2000]),
		bufferBytesMax: random.pick([200_000, 4_194_304]),
		stallMs: random.pick([500, 3000]),
		concurrency: random.pick([1, 8]),
		attempts: random.pick([0, 0, 3]),
		ackWaitMs: random.pick([1000, 5000]),
		failChance: random.pick([0, 0.1, 0.3]),
		inFlightMax: random.pick([4, 64]),
		longChance: 0.05,
		longBytesMax: 20_000,
	};
}
