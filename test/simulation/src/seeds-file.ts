import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A seed that once failed, and what it found. */
export interface KeptSeed {
	readonly seed: number;
	/** True for a world of events alone. */
	readonly isOfEvents?: boolean;
	/** True for a world of pods alone. */
	readonly isOfPods?: boolean;
	/** True for a world of servers alone. */
	readonly isOfServers?: boolean;
	readonly found: string;
}

/** The seeds that ever failed: they run before all others. */
export function readSeeds(root: string): readonly KeptSeed[] {
	return JSON.parse(readFileSync(join(root, 'test/simulation/seeds.json'), 'utf8')) as KeptSeed[];
}
