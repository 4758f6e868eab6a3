import { EventLog, EventService, type Files, type LogEvent, type LogOwner } from '@spock/events';
import { SpockError } from '@spock/protocol';
import { EventGuest, type EventGuestOptions, type EventsOptions } from '@spock/sidecar';
import { failure, SimClaims, SimDisk, SimFiles } from '@spock/testkit/sim-files';

import type { SeededRandom } from '../seeded-random.ts';
import type { SimProcess } from '../sim-process.ts';
import type { WorldContext } from '../world-context.ts';

const DIRECTORY = '/log';
/** How long a sidecar that ends may wait for its disk. */
const DRAIN_MS = 1000;
const READ_BYTES = 1_048_576;
const READ_EVENTS = 4096;
/** The least that a log may be given, in bytes. */
const SMALL_BYTES = 8 * 1024 * 1024;

/** What the disk does to its processes; the world changes it. */
export interface DiskFaults {
	latencyMsMax: number;
	/** Share of the writes and syncs that fail. */
	errorChance: number;
	errorCode: 'EIO' | 'ENOSPC';
}

/** What a machine has. */
export interface MachineSetup {
	/** Writes of the log are on the disk when they have ended, as on Linux; otherwise a sync puts them there, as elsewhere. */
	readonly writesThrough: boolean;
	/** The log has the least room that it may be given. */
	readonly isSmall: boolean;
}

/** What is in a log, in order. */
export interface FoundEvents {
	/** The first position that is kept. */
	readonly first: number;
	readonly events: readonly LogEvent[];
}

/** A machine with a disk: the log of events is on it, and one process after the other owns that. */
export class EventMachine {
	readonly faults: DiskFaults = { latencyMsMax: 1, errorChance: 0, errorCode: 'EIO' };
	readonly setup: MachineSetup;
	readonly #world: WorldContext;
	readonly #random: SeededRandom;
	readonly #guests = new WeakMap<SimProcess, EventGuest>();
	#disk = new SimDisk();
	#owner: MachineOwner | undefined;
	readonly #trimmedBelow: (position: number) => void;
	#hangs = false;
	/** What was deleted because nobody needs it any more, by position. */
	readonly #trimmed = new Map<number, LogEvent>();
	/** Operations that wait for a disk that hangs. */
	#held: (() => void)[] = [];

	/** `trimmedBelow` is called when the log has deleted what is below a position. */
	constructor(
		world: WorldContext,
		random: SeededRandom,
		setup: MachineSetup,
		trimmedBelow: (position: number) => void,
	) {
		this.#world = world;
		this.#trimmedBelow = trimmedBelow;
		this.#random = random;
		this.setup = setup;
	}

	/** The events of a new process. One that hangs is replaced by force, another one gives the log up. */
	events(process: SimProcess, before: SimProcess | undefined): EventsOptions {
		const isForced = before?.isStopped === true;
		return {
			create: (context) => {
				const { eventBugs, eventFiles } = this.#world.injection;
				const serve: EventGuestOptions['serve'] = (lost) => {
					const files = this.#files(process);
					const owner = new MachineOwner(this, process);
					return new EventService({
						directory: DIRECTORY,
						files: eventFiles?.(files) ?? files,
						owner,
						...(this.setup.isSmall && { limits: { bytesMax: SMALL_BYTES } }),
						clock: context.clock,
						random: context.random,
						lost,
						observer: {
							trimmed: (below) => {
								this.#world.say(() => `${process.name} has deleted what is below ${below}`);
								this.#trimmedBelow(below);
							},
							blocked: (reason) => {
								this.#world.say(() => `${process.name} is blocked: ${reason}`);
								if (reason?.startsWith('the log is full') === true) this.#world.counts.full++;
							},
						},
						...(eventBugs && { plantedBugs: eventBugs }),
					});
				};
				const say = (what: string) => (error: unknown) =>
					this.#world.say(() => `${process.name} ${what}: ${String(error)}`);
				const guest = new EventGuest(context, {
					serve,
					directory: DIRECTORY,
					drainMs: DRAIN_MS,
					openFailed: say('does not open its log'),
					endFailed: say('does not end its log'),
				});
				this.#guests.set(process, guest);
				if (isForced) guest.open = () => EventGuest.prototype.open.call(guest, true);
				else if (before?.isAlive === true) void this.#guests.get(before)?.handOver();
				return guest;
			},
		};
	}

	/** Everything that was not synced may be gone. Its processes must be dead. */
	losePower(): void {
		this.#disk = this.#disk.losePower(this.#random.unit);
		this.#owner = undefined;
		this.#held = [];
	}

	/** Nothing more fits. */
	fill(): void {
		this.#disk.bytesMax = this.#disk.bytes + this.#random.between(0, 4096);
	}

	hang(): void {
		this.#hangs = true;
	}

	/** The disk is as it should be. */
	mend(): void {
		this.#disk.bytesMax = Number.POSITIVE_INFINITY;
		Object.assign(this.faults, { latencyMsMax: 1, errorChance: 0 });
		this.#hangs = false;
		for (const go of this.#held.splice(0)) go();
	}

	/**
	 * All events that a new process would find now, and those that were deleted in front of them; with `afterPowerLoss`, on one of the disks
	 * that a loss of power may leave now.
	 */
	async read(afterPowerLoss: boolean): Promise<FoundEvents> {
		const { first, events } = await this.#read(afterPowerLoss);
		const trimmed = [...this.#trimmed.values()].filter(({ position }) => position < first);
		return { first, events: [...trimmed.sort((one, other) => one.position - other.position), ...events] };
	}

	async #read(afterPowerLoss: boolean): Promise<FoundEvents> {
		const disk = afterPowerLoss ? this.#disk.losePower(this.#random.unit) : this.#disk.clone();
		const process = this.#world.process('reader');
		const nothing = (): void => undefined;
		const log = new EventLog({
			directory: DIRECTORY,
			files: new SimFiles(disk, this.#random.unit),
			owner: new SimClaims().owner(),
			clock: process.clock,
			random: this.#random.unit,
			memory: { checkpoint: () => '{}', restore: nothing, replay: nothing },
			listener: {
				committed: nothing,
				stateChanged: nothing,
				windows: nothing,
				left: nothing,
				damaged: nothing,
				failed: nothing,
			},
		});
		const found: LogEvent[] = [];
		await log.open(false);
		for (let from = log.first; from < log.persisted; ) {
			const { events, next } = await log.read(from, { bytesMax: READ_BYTES, eventsMax: READ_EVENTS });
			found.push(...events);
			from = next;
		}
		process.kill();
		return { first: log.first, events: found };
	}

	/** Takes a while, and never ends for a process that is dead. */
	pass(process: SimProcess, what: string): Promise<void> {
		return new Promise((resolve) => {
			process.schedule(this.#random.unit() * this.faults.latencyMsMax, what, resolve);
		});
	}

	get owner(): MachineOwner | undefined {
		return this.#owner;
	}

	set owner(owner: MachineOwner | undefined) {
		this.#owner = owner;
	}

	/** A file of the log is about to be removed: for its age if the time of day has jumped, for room if there is little, or else it holds nothing that counts. */
	async #keepTrimmed(path: string): Promise<void> {
		if (!path.endsWith('.log') || (this.#world.wallAheadMs === 0 && !this.setup.isSmall)) return;
		const { first, events } = await this.#read(false);
		// A loss of power may have given their positions to others.
		for (const position of this.#trimmed.keys()) if (position >= first) this.#trimmed.delete(position);
		for (const event of events) this.#trimmed.set(event.position, event);
	}

	#files(process: SimProcess): Files {
		const { writesThrough } = this.setup;
		const files = new SimFiles(this.#disk, this.#random.unit, { writesThrough });
		files.before = (operation, path) =>
			new Promise((resolve, reject) => {
				const end = (): void => {
					if (this.#hangs) {
						this.#held.push(() => void process.schedule(0, `disk goes on: ${operation}`, end));
						return;
					}
					const mayFail = operation === 'write' || operation === 'sync' || operation === 'create';
					if (mayFail && this.#random.chance(this.faults.errorChance)) reject(failure(this.faults.errorCode));
					else if (operation === 'remove') resolve(this.#keepTrimmed(path));
					else resolve();
				};
				process.schedule(this.#random.unit() * this.faults.latencyMsMax, `disk ${operation}`, end);
			});
		return files;
	}
}

/** The claim of one process on the log of its machine; it ends with the process. */
class MachineOwner implements LogOwner {
	readonly #machine: EventMachine;
	readonly #process: SimProcess;

	constructor(machine: EventMachine, process: SimProcess) {
		this.#machine = machine;
		this.#process = process;
	}

	async claim(from: 'nobody' | 'anyone'): Promise<void> {
		await this.#machine.pass(this.#process, 'claim');
		const { owner } = this.#machine;
		if (from === 'nobody' && owner !== undefined && owner !== this && owner.#process.isAlive) {
			throw new SpockError('UNAVAILABLE', `${owner.#process.name} has the log`);
		}
		this.#machine.owner = this;
	}

	async isOurs(): Promise<boolean> {
		await this.#machine.pass(this.#process, 'look at the owner');
		return this.#machine.owner === this;
	}

	async release(): Promise<void> {
		await this.#machine.pass(this.#process, 'release');
		if (this.#machine.owner === this) this.#machine.owner = undefined;
	}
}
