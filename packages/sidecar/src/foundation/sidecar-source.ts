import {
	type AskedBy,
	type BackendStatus,
	type CallOptions,
	type KeySource,
	type KeyWatchStatus,
	type ServiceSource,
	type SnapshotSource,
	SpockError,
	type WatchStatus,
} from '@spock/protocol';

/** Where a sidecar's services come from: a source that also reports its status. */
export interface SidecarSource extends ServiceSource {
	watches(): WatchStatus[];
	/** Left out by a source without keys. */
	keyWatches?(): KeyWatchStatus[];
	status(): BackendStatus;
	/** Another process stands for this one from now on: nothing that outlives the process is written any more. */
	release?(): Promise<void>;
	/** Resolves when there is something to serve, with where it comes from. Left out: `list` is asked. */
	probe?(): Promise<SnapshotSource>;
}

/** The keys behind a source. Throws UNKNOWN_FUNC where its registry has none. */
export function keysOf({ name, keys }: ServiceSource): KeySource {
	if (keys !== undefined) return keys;
	throw new SpockError('UNKNOWN_FUNC', `the backend ${name} cannot read keys`, { details: { backend: name } });
}

/**
 * A caller that waits as long as we do would never hear why there is no answer: this part of its time is for the way back. On a
 * node with more work than cores a process may stand still for some 100 ms.
 */
const WAY_BACK_SHARE = 0.1;
const WAY_BACK_MS_MAX = 500;

/** How long a caller waits for the answer to a request. */
export interface CallTime {
	readonly signal: AbortSignal;
	/** In milliseconds; undefined when the caller did not say. */
	readonly timeoutMs?: number | undefined;
}

/** How a source waits for the sake of a request. */
export function callOptions(call: CallTime, asker: AskedBy['asker']): CallOptions & AskedBy {
	const { signal, timeoutMs } = call;
	if (timeoutMs === undefined) return { signal, asker };
	return {
		signal,
		asker,
		timeoutMs: Math.max(1, Math.ceil(timeoutMs - Math.min(WAY_BACK_MS_MAX, timeoutMs * WAY_BACK_SHARE))),
	};
}
