import type { SidecarHost } from './sidecar-host.ts';
import type { WorldContext } from './world-context.ts';

/** A registry, or a link, that takes longer than this for one way is not well, in milliseconds. */
const WAY_MS_MAX = 50;
/** More intervals than a call can wait for. */
const INTERVALS_MAX = 64;

/** What the way of an app is made of besides its sidecar's. */
export interface PathEnds {
	/** Changes when the app's connection or process is another one; undefined while it has none, or stands still. */
	readonly app: () => string | undefined;
	readonly host: SidecarHost;
}

/**
 * Since when every part of the way from an app to the registry has been well: the app connected, each sidecar on the way running and
 * connected to the next, the registry answering. Looked at with each audit: what breaks and is back between two looks is seen by its name.
 */
export class PathWatch {
	readonly #world: WorldContext;
	readonly #ends: PathEnds;
	/** The last one goes on. */
	readonly #intervals: { way: string; readonly fromMs: number; toMs: number }[] = [];

	constructor(world: WorldContext, ends: PathEnds) {
		this.#world = world;
		this.#ends = ends;
	}

	look(): void {
		const { nowMs } = this.#world;
		const way = this.#way();
		const last = this.#intervals.at(-1);
		if (way === undefined) {
			if (last !== undefined && last.way !== '') last.way = '';
		} else if (last?.way === way) last.toMs = nowMs;
		else this.#intervals.push({ way, fromMs: nowMs, toMs: nowMs });
		if (this.#intervals.length > INTERVALS_MAX) this.#intervals.shift();
	}

	/** For how long at most the whole way was well without a break in this time, in milliseconds. */
	longestWellMs(fromMs: number, toMs: number): number {
		const each = this.#intervals.map((one) => Math.min(one.toMs, toMs) - Math.max(one.fromMs, fromMs));
		return Math.max(0, ...each);
	}

	#way(): string | undefined {
		const { registry, network } = this.#world;
		const { faults } = network;
		const { host, app } = this.#ends;
		if (registry.hasHungLately || registry.mode !== 'well' || registry.latencyMsMax > WAY_MS_MAX) return undefined;
		if (faults.eagainChance > 0 || faults.refuseChance > 0) return undefined;
		const ways = [app(), host.way];
		return ways.includes(undefined) ? undefined : `${ways.join(' ')} ${registry.modeTurns}`;
	}
}
