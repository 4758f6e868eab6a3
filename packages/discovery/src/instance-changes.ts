import type { SnapshotDiff } from './snapshot-diff.ts';

/** When each instance of one question last changed, as this process saw it; never more entries than instances. */
export class InstanceChanges {
	/** When most of them were first seen: only later changes take memory. */
	#firstMs: number | undefined;
	readonly #laterMs = new Map<string, number>();

	/** Notes what changed, in milliseconds since 1970. */
	note({ added, removed, changed }: SnapshotDiff, atMs: number): void {
		for (const name of removed) this.#laterMs.delete(name);
		const isFirst = this.#firstMs === undefined;
		this.#firstMs ??= atMs;
		if (isFirst) return;
		for (const name of added) this.#laterMs.set(name, atMs);
		for (const name of changed) this.#laterMs.set(name, atMs);
	}

	/** In milliseconds since 1970; null before anything was seen. */
	changedAt(instance: string): number | null {
		return this.#laterMs.get(instance) ?? this.#firstMs ?? null;
	}
}
