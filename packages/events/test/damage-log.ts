import { settle } from '@spock/testkit';
import { SimDisk } from '@spock/testkit/sim-files';

import { event, openSimLog } from './open-sim-log.ts';

export const RECORDS = 56;
/** The positions of a written disk, and its texts. */
export const all: readonly number[] = Array.from({ length: RECORDS }, (_, index) => index + 1);

/** A disk with three segments, killed and not closed; records are their positions. */
export async function written(): Promise<SimDisk> {
	const disk = new SimDisk();
	const { log } = await openSimLog({ disk });
	for (const position of all) {
		log.append(event(`${position}`.padEnd(300)));
		if (position % 4 === 0) await settle();
	}
	await settle();
	await settle();
	return disk.clone();
}

/** Paths of the segments, oldest first. */
export function logFiles(disk: SimDisk): string[] {
	return [...disk.names.keys()].filter((name) => name.endsWith('.log')).sort();
}

/** Changes a byte of the record of a position. */
export function damage(disk: SimDisk, name: string, position: number): void {
	const bytes = disk.names.get(name)?.cached ?? Buffer.alloc(0);
	const at = bytes.indexOf(`${position}`.padEnd(300));
	if (at < 0) throw new Error(`${name} does not hold ${position}`);
	bytes[at + 200] = 0x41;
}

/** Texts of a written disk as its positions. */
export function numbers(texts: readonly string[]): number[] {
	return texts.map(Number);
}
