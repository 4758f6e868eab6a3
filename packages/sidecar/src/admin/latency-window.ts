import type { LatencyView } from '../handlers/status-view.ts';
import type { Durations } from './metrics/request-metrics.ts';

/** How far back the recent requests go, in milliseconds. */
const WINDOW_MS = 60_000;
/** Samples kept: one for each second of the window. */
const SAMPLES_MAX = 61;

/** Durations of requests: since the start, and of the last minute. */
export class LatencyWindow {
	/** The oldest first. */
	#samples: { readonly atMs: number; readonly counts: readonly number[] }[] = [];

	/** Takes a sample at a moment of the monotonic clock. */
	sample({ boundsMs, counts }: Durations, atMs: number): LatencyView {
		const kept = this.#samples.filter((sample) => atMs - sample.atMs <= WINDOW_MS);
		this.#samples = [...kept.slice(1 - SAMPLES_MAX), { atMs, counts }];
		const oldest = this.#samples[0];
		const before = oldest?.counts ?? counts;
		return {
			boundsMs,
			total: counts,
			recent: counts.map((count, index) => count - (before[index] ?? 0)),
			recentMs: Math.round(atMs - (oldest?.atMs ?? atMs)),
		};
	}
}
