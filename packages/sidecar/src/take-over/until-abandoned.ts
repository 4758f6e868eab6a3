import type { Clock } from '@spock/protocol/internal';

import { isStale } from '../listen/unix-listener.ts';

/** How often the path is looked at, in milliseconds. */
const LOOK_MS = 1000;

/**
 * So many looks in a row must find no process: 5 s. A successor whose socket file was deleted restores it within SOCKET_PATH_CHECK_MS, and
 * one whose container has crashed is started again by the kubelet and listens within some 2 s; it must not be replaced by an older one.
 */
const STALE_LOOKS = 6;

/** The place of a sidecar that was replaced. */
export interface FormerPlace {
	readonly path: string;
	readonly clock: Clock;
	/** Ends the wait. */
	readonly signal: AbortSignal;
	/** A look has failed, for want of open files, say, and is repeated. Called for the first of several in a row. */
	readonly failed: (error: unknown) => void;
	/** True if no process listens at the path. Default: connects to it. */
	readonly isStale?: (path: string) => Promise<boolean>;
}

/**
 * Resolves once no process has listened at the path for 5 s: the successor was removed, or has died for good. Keeps the process running
 * until then.
 */
export async function untilAbandoned(place: FormerPlace): Promise<void> {
	const { path, clock, signal, failed } = place;
	const look = place.isStale ?? isStale;
	let staleLooks = 0;
	let hasFailed = false;
	while (!signal.aborted) {
		try {
			staleLooks = (await look(path)) ? staleLooks + 1 : 0;
			hasFailed = false;
		} catch (error) {
			// Nothing is known of the successor, so it is taken to be there.
			staleLooks = 0;
			if (!hasFailed) failed(error);
			hasFailed = true;
		}
		if (staleLooks === STALE_LOOKS) return;
		await pause(clock, signal);
	}
}

function pause(clock: Clock, signal: AbortSignal): Promise<void> {
	return new Promise<void>((resolve) => {
		const done = (): void => {
			clock.clearTimeout(timer);
			signal.removeEventListener('abort', done);
			resolve();
		};
		const timer = clock.setTimeout(done, LOOK_MS);
		signal.addEventListener('abort', done, { once: true });
		if (signal.aborted) done();
	});
}
