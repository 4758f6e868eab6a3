import type { SeededRandom } from './seeded-random.ts';
import type { SidecarHost } from './sidecar-host.ts';
import type { SimClient } from './sim-client.ts';
import type { SimProcess } from './sim-process.ts';
import type { WorldContext } from './world-context.ts';

/** Time between two of them, on average, in milliseconds. */
const EACH_MS = 2500;
const STANDSTILL_MS_MAX = 12_000;

/** What stands still together: the processes of one machine. */
export interface SimMachine {
	readonly name: string;
	readonly processes: readonly SimProcess[];
}

/** The machine of a sidecar, with those of these apps that are on it. */
export function machineOf(host: SidecarHost, clients: readonly SimClient[]): SimMachine {
	const apps = clients.filter((client) => client.host === host && client.cable === undefined);
	return { name: host.address, processes: [...host.processes, ...apps.map(({ process }) => process)] };
}

/** Machines that are suspended, whose monotonic clocks stand still too; and single processes of them that are stopped. */
export class Standstills {
	readonly #world: WorldContext;
	readonly #random: SeededRandom;
	readonly #machines: () => readonly SimMachine[];
	readonly #later: (delayMs: number, mend: () => void) => void;

	/** `random` is of its own, so that a seed is the same to others with and without this. */
	constructor(
		world: WorldContext,
		random: SeededRandom,
		machines: () => readonly SimMachine[],
		later: (delayMs: number, mend: () => void) => void,
	) {
		this.#world = world;
		this.#random = random;
		this.#machines = machines;
		this.#later = later;
	}

	/** Until the world is calm. */
	storm(): void {
		this.#world.scheduler.schedule(this.#random.unit() * 2 * EACH_MS, 'standstill', undefined, () => {
			if (this.#world.isCalm) return;
			const what = this.#stop();
			this.#world.counts.faults++;
			this.#world.say(() => `FAULT standstill: ${what}`);
			this.storm();
		});
	}

	#stop(): string {
		const running = this.#machines().filter(({ processes }) => processes.some(({ isAlive }) => isAlive));
		if (running.length === 0) return 'nothing runs';
		const { name, processes } = this.#random.pick(running);
		const isSuspended = this.#random.chance(0.5);
		const stopped = isSuspended ? processes : [this.#random.pick(processes)];
		for (const process of stopped) {
			if (isSuspended) process.suspend();
			else process.stop();
		}
		this.#later(this.#random.between(50, STANDSTILL_MS_MAX), () => {
			for (const process of stopped) process.resume();
		});
		return isSuspended ? `${name} is suspended` : `SIGSTOP of ${stopped[0]?.name}`;
	}
}
