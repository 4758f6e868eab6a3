import type { LogMemory } from '../foundation/event-log.ts';
import type { Files } from '../foundation/files.ts';
import { type SegmentName, segmentFileName } from '../segments/segment-header.ts';
import type { LogDamage } from '../segments/segment-recovery.ts';
import { recoverLog } from './recovery.ts';

/** What stands in a log's directory. */
export interface LogReport {
	/** Files of the log, oldest first. */
	readonly files: readonly string[];
	/** Position of the first record, and the one behind the last. */
	readonly first: number;
	readonly next: number;
	readonly streams: readonly { readonly stream: string; readonly events: number; readonly bytes: number }[];
	/** Records that cannot be read. */
	readonly damage: readonly LogDamage[];
	/** Files of which nothing can be read, or that belong to nothing. */
	readonly strayFiles: readonly string[];
	/** Files that a later sidecar has superseded, with nothing in them that was acknowledged. */
	readonly supersededFiles: readonly string[];
}

const REMEMBERS_NOTHING: LogMemory = { checkpoint: () => '{}', restore: () => undefined, replay: () => undefined };

/** Reads a log that no sidecar uses, and changes nothing. Rejects as `EventLog.open` does where it cannot be read. */
export async function inspectLog(directory: string, files: Files): Promise<LogReport> {
	const names = await files.list(directory);
	const options = { directory, files, memory: REMEMBERS_NOTHING, replayMs: 0, replayIdsMax: 0, readsAll: true };
	const { segments, next, damage, strayFiles, voidFiles } = await recoverLog(names, options);
	const streams = new Map<string, { events: number; bytes: number }>();
	for (const segment of segments) {
		for (const [stream, { events, bytes }] of segment.streams) {
			const sum = streams.get(stream) ?? { events: 0, bytes: 0 };
			sum.events += events;
			sum.bytes += bytes;
			streams.set(stream, sum);
		}
	}
	return {
		files: segments.map(({ first, epoch }) => segmentFileName({ first, epoch })),
		first: segments[0]?.first ?? next,
		next,
		streams: [...streams].map(([stream, sum]) => ({ stream, ...sum })),
		damage,
		strayFiles: strayFiles.map(nameOf),
		supersededFiles: voidFiles.map(nameOf),
	};
}

function nameOf(name: SegmentName): string {
	return segmentFileName(name);
}
